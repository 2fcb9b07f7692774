"""Translation of PTX functions to Python, basic block by basic block."""

"""The instructions of PTX: their operands, effects and execution."""

"""What runs instructions: basic blocks, batches of blocks, launches."""

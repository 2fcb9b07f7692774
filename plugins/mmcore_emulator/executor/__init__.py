"""The execution of kernels: basic blocks, batches of blocks, launches."""

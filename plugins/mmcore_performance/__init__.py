"""The time of kernels without a GPU: predicted times, and reasons why a kernel is slow."""

"""The kernels of five university lectures, one module and one .cu file per variant, and their experiments."""

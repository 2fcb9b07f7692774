"""Kernels that are not packages: .cu files, and functions of Triton and CuTe DSL."""

"""Kernels: what plugins declare of them."""

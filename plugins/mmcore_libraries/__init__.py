"""Baselines: matrix products of cuBLAS and PyTorch."""

"""Tensor cores: who holds which element of a matrix, and what its product is."""

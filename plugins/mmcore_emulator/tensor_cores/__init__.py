"""Tensor cores: the fragments of matrices that threads hold, and the arithmetic of their products."""

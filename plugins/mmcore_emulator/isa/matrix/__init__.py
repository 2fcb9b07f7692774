"""Matrices that a warp moves and multiplies."""

"""Asynchronous copies under way, and the tensor maps that describe them."""

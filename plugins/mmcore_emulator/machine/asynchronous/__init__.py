"""Asynchronous copies under way, and the tensor maps that they go by."""

"""Kernel times over many runs: the command ``mmcore bench-history``."""

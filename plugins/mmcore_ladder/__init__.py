"""The ladder: matrix products from the lectures' first kernel to past the library, one idea a rung.

A module declares the rungs of one type of element; each rung has a .cu file of its own.
"""

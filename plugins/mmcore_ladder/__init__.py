"""The ladder: matrix products from the lectures' first kernel to ones faster than cuBLAS, one idea per rung.

Each module declares the rungs of one element type; each rung has its own .cu file.
"""

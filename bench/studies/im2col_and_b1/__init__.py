"""Bulk copies in im2col mode and ``wmma`` of single bits: a GPU and the emulator, compared bit for bit.

Random cases run on both. Each difference is printed with its coordinates, and so are the readings of PTX's description
that the GPU follows. It needs a GPU of compute capability 9.0; ``--emulator-only`` compares the emulator with plain
Python. Exit status: 0 = no bit differs, 1 = some do, or the GPU could not run.
"""

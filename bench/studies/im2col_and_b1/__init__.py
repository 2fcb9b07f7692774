"""Bulk copies in im2col mode and ``wmma`` of single bits: a GPU and the emulator, compared bit for bit.

It draws random cases, and describes the first that differ. It needs a GPU of compute capability 9.0. Exit status:
0 = no bit differs, 1 = some do, or the GPU could not run.
"""

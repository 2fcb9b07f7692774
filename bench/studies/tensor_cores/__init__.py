"""Tensor cores of a GPU against the emulator's arithmetic of them, bit for bit.

It runs ``mma`` and ``wgmma`` on an H200 or H100 over many kinds of numbers. It writes how many results differ, and a
few dot products of each kind, which tests/emulator/tensor_cores/test_arithmetic.py checks on any machine.
"""

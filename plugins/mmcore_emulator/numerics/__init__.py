"""Floating-point and wide integer arithmetic on numpy arrays, bit by bit as the hardware has it."""

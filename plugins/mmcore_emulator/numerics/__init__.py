"""Floating-point and wide integer arithmetic on numpy arrays, bit for bit as on the hardware."""

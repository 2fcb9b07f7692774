"""Verification: fresh inputs, the reference, the tolerance and the comparison."""

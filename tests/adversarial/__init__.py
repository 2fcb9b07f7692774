"""Kernels that try to get the wrong verdict; ``python -m tests.adversarial FILE...`` prints what each gets."""

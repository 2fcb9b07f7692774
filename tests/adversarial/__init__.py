"""Kernels that provoke wrong verdicts; ``python -m tests.adversarial FILE...`` prints the verdicts of each."""

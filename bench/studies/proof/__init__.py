"""Proofs of kernels, of kernels with an instruction changed, and their bounds beside errors.

``proof kernels RESULTS.json`` proves each registered kernel, and each public one that has a checkout, at a small size
that its constraints allow. ``proof mutants RESULTS.json`` changes an instruction of right kernels' PTX, and proves each
of them; one that is proved must pass verification too. ``proof bounds RESULTS.json`` compares the errors of random
products of each proved kernel with its bound, on a GPU where there is one. Each part keeps what the others wrote.
"""

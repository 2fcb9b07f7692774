"""Proofs of kernels, and of kernels with an instruction changed.

``proof kernels RESULTS.json`` proves each registered kernel, and each public one that has a checkout, at a small size
that its constraints allow. ``proof mutants RESULTS.json`` changes an instruction of right kernels' PTX, and proves each
of them; one that is proved must pass verification too. Each keeps what the other wrote.
"""

"""Kernels of public repositories, declared for mmcore and measured from checkouts of them.

Nothing from these repositories is copied here. kernels.toml declares their kernels as their host code launches them,
and names each source file by its path in a checkout.
"""

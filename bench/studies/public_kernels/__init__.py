"""Kernels of public repositories, declared for mmcore and measured from checkouts of them.

Nothing of theirs is here: each module holds our declarations of one repository's kernels, read off its host code, and
names the files by their paths in a checkout. ``python -m bench.studies.public_kernels`` measures them.
"""

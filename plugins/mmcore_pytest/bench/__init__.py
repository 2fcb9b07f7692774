"""The one benchmark of all kernels, and the command that runs it from any folder.

``mmcore bench`` takes the folder above for pytest's root, so that test ids are those of ``pytest bench/`` in a
checkout.
"""

"""Devices: what they do for the core, and kernels loaded onto them."""

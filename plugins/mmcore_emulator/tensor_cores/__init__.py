"""Tensor cores: what their instructions compute."""

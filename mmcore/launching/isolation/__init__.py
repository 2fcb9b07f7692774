"""A device in a process of its own, so that a kernel which brings its process down takes nothing else with it."""

from mmcore.launching.isolation.device import IsolatedDevice

__all__ = ["IsolatedDevice"]

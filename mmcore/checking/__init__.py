"""Hazards: what a launch does that it must not, found by a device that watches every access."""

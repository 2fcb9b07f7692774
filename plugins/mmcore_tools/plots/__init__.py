"""Figures and pages drawn from saved results: the command ``mmcore plot``."""

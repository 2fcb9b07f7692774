"""Figures and pages made from saved results: what ``mmcore plot`` draws."""

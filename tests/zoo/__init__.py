"""Plugins that are each wrong in one way, and the report that each must get.

``table`` lists them, with the Python that makes each wrong and the report. ``plugins/`` has the right plugin's module,
and the CUDA sources. ``installation`` makes packages.
"""

"""A package for a new kernel, written from templates: the command ``mmcore new-plugin``."""

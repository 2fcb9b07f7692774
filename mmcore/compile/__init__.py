"""Compilation: from a plan to machine code and PTX, and the cache of both."""

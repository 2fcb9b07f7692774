"""Compilation: from a plan to machine code and PTX, by the compilers that plugins bring."""

"""Conformance tests: they check, case by case, that a kernel does what its declaration promises.

- ``cases`` finds products and configs on both sides of a kernel's constraints.
- ``worker`` tests them in the worker process of a device; ``conformance`` requests each test and collects the outcomes.
- ``outcome`` finds the properties that failing cases have in common; ``command`` prints them.
- ``pytest --pyargs mmcore_tools.conform`` makes a test of each kernel and property.
"""

"""Conformance: whether a kernel keeps what its declaration promises, tried case by case.

- :mod:`~mmcore_conform.cases` derives products and blocks from a kernel's constraints.
- :mod:`~mmcore_conform.running`, :mod:`~mmcore_conform.watching`, :mod:`~mmcore_conform.refusing`,
  :mod:`~mmcore_conform.fitting` and :mod:`~mmcore_conform.owning_up` try them.
- :mod:`~mmcore_conform.conform` puts what came of it together.
- ``pytest --pyargs mmcore_conform`` makes a test of each kernel and aspect.
"""

"""Conformance: whether a kernel keeps what its declaration promises, tried case by case.

- :mod:`~mmcore.conformance.cases` derives products and blocks from a kernel's constraints.
- :mod:`~mmcore.conformance.running`, :mod:`~mmcore.conformance.watching`, :mod:`~mmcore.conformance.refusing`,
  :mod:`~mmcore.conformance.fitting` and :mod:`~mmcore.conformance.owning_up` try them.
- :mod:`~mmcore.conformance.conform` puts what came of it together.
- ``pytest --pyargs mmcore.conformance`` makes a test of each kernel and aspect.
"""

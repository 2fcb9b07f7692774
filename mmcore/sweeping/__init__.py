"""Experiments: declared sweeps over kernels, sizes, blocks and ways of measuring, run by pytest-benchmark.

- :mod:`~mmcore.sweeping.sweep` is what a plugin declares.
- :mod:`~mmcore.sweeping.running` has pytest measure the cells that are missing.
- :mod:`~mmcore.sweeping.recording` keeps each as soon as it is measured, :mod:`~mmcore.sweeping.store` on disk, by the
  key that :mod:`~mmcore.sweeping.identity` gives it.
- :mod:`~mmcore.sweeping.document` puts the results together.
"""

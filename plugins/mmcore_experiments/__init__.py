"""Experiments: declared sweeps over kernels, sizes, blocks and ways of measuring, run by pytest-benchmark.

- :mod:`~mmcore_experiments.preset` is what a plugin declares.
- :mod:`~mmcore_experiments.running` has pytest measure the cells that are missing.
- :mod:`~mmcore_experiments.recording` keeps each as soon as it is measured, :mod:`~mmcore_experiments.store` on disk, by the
  key that :mod:`~mmcore_experiments.identity` gives it.
- :mod:`~mmcore_experiments.document` puts the results together.
"""

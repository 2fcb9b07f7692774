"""The kernels with their sources in the checkouts, as attributes by name: what a cell's "module:attribute" names."""

from __future__ import annotations

from mmcore import Kernel


def __getattr__(name: str) -> Kernel:
    from bench.studies.public_kernels.corpus import KERNELS

    if name not in KERNELS:
        raise AttributeError(name)
    return KERNELS[name].located()

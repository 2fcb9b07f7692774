"""Names of kernels for worker processes: a cell names a kernel by "module:attribute"."""

from __future__ import annotations

from bench.studies.public_kernels.corpus import KERNELS
from mmcore import Kernel


def __getattr__(name: str) -> Kernel:
    if name not in KERNELS:
        raise AttributeError(name)
    return KERNELS[name].located()

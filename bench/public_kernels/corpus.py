"""The corpus: the kernels of every repository."""

from __future__ import annotations

from bench.public_kernels import cuda_samples, fast_cu, sgemm_cuda
from bench.public_kernels.declared import PublicKernel

KERNELS: dict[str, PublicKernel] = {
    each.kernel.name: each for module in (fast_cu, sgemm_cuda, cuda_samples) for each in module.KERNELS
}
"""Every kernel by its name."""

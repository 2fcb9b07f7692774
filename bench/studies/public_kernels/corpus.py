"""The corpus: the kernels of every repository."""

from __future__ import annotations

from bench.studies.public_kernels import (
    cuda_hgemm,
    cuda_samples,
    fast_cu,
    gemm_optimization,
    leetcuda,
    sgemm_cuda,
    sgemm_practice,
    sgemm_turing,
    smaller,
)
from bench.studies.public_kernels.declared import PublicKernel

MODULES = (
    fast_cu,
    sgemm_cuda,
    cuda_samples,
    cuda_hgemm,
    gemm_optimization,
    sgemm_turing,
    sgemm_practice,
    leetcuda,
    smaller,
)
KERNELS: dict[str, PublicKernel] = {each.kernel.name: each for module in MODULES for each in module.KERNELS}
"""Every kernel by its name."""

"""Triton kernels: a ``@triton.jit`` function, compiled without a GPU and launched by mmcore."""

from __future__ import annotations

from mmcore_sources.triton.build import triton_kernel

__all__ = ["triton_kernel"]

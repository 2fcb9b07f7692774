"""CuTe DSL kernels: a ``@cute.kernel`` function, compiled without a GPU and launched by mmcore."""

from __future__ import annotations

from mmcore_sources.cutedsl.build import cutedsl_kernel

__all__ = ["cutedsl_kernel"]

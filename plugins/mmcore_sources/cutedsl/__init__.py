"""CuTe DSL's kernels as kernels of mmcore: a ``@cute.kernel`` function, compiled without a GPU, launched by mmcore."""

from __future__ import annotations

from mmcore_sources.cutedsl.declaration import cutedsl_kernel

__all__ = ["cutedsl_kernel"]

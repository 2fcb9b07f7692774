"""The textbook's tiled product, written in CuTe DSL."""

from __future__ import annotations

from mmcore import Int32Index, Kernel, hookimpl
from mmcore_sources.cutedsl.build import cutedsl_kernel


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return ``cutedsl.matmul``."""
    return cutedsl_kernel(
        name="cutedsl.matmul",
        title="tiles of A and B in shared memory, float32",
        function="mmcore_sources.cutedsl.matmul_kernel:matmul",
        arguments=("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc"),
        configs=[{"block": (b, b), "TILE": "{block.x}"} for b in (32, 16)],
        constraints=(Int32Index(),),
        min_compute_capability=(8, 0),
    )

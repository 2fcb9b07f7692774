"""The matrix product of Triton's tutorial, in float16 on tensor cores."""

from __future__ import annotations

from mmcore import Int32Index, Kernel, hookimpl
from mmcore_sources.triton.build import triton_kernel


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return ``triton.matmul_f16``."""
    return triton_kernel(
        name="triton.matmul_f16",
        title="triton.matmul on tensor cores: float16 inputs, float32 sums",
        reference="Triton, tutorial 03, Matrix Multiplication",
        function="mmcore_sources.triton.matmul_kernel:matmul",
        arguments=("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc"),
        configs=[
            {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 3},
            {"BM": 64, "BN": 64, "BK": 64, "num_warps": 4, "num_stages": 3},
        ],
        dtype="float16",
        constraints=(Int32Index(),),
        min_compute_capability=(8, 0),
    )

"""The matrix product of Triton's tutorial, in float32 on CUDA cores and in float16 on tensor cores."""

from __future__ import annotations

from functools import partial

from mmcore import Int32Index, Kernel, hookimpl
from mmcore_sources.triton.build import triton_kernel


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """Return ``triton.matmul`` and ``triton.matmul_f16``."""
    matmul = partial(
        triton_kernel,
        reference="Triton, tutorial 03, Matrix Multiplication",
        function="mmcore_sources.triton.matmul_kernel:matmul",
        arguments=("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc"),
        constraints=(Int32Index(),),
        min_compute_capability=(8, 0),
    )
    return [
        matmul(
            name="triton.matmul",
            title="tiles in registers and shared memory, placed by Triton",
            # The first is not pipelined, so that the emulator knows all of its instructions.
            configs=[
                {"BM": 32, "BN": 32, "BK": 32, "num_warps": 2, "num_stages": 1},
                {"BM": 64, "BN": 64, "BK": 32, "num_warps": 4, "num_stages": 3},
                {"BM": 128, "BN": 64, "BK": 16, "num_warps": 8, "num_stages": 3},
            ],
        ),
        matmul(
            name="triton.matmul_f16",
            title="triton.matmul on tensor cores: float16 inputs, float32 sums",
            configs=[
                {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 3},
                {"BM": 64, "BN": 64, "BK": 64, "num_warps": 4, "num_stages": 3},
            ],
            dtype="float16",
        ),
    ]

"""The matrix product of Triton's tutorial, on CUDA cores in float32 and on tensor cores in float16."""

from __future__ import annotations

from mmcore import Int32Index, Kernel, hookimpl
from mmcore_triton.declaration import triton_kernel

_REFERENCE = "Triton, tutorial 03, Matrix Multiplication"
_FUNCTION = "mmcore_triton.matmul_kernel:matmul"
_ARGUMENTS = ("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc")


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """``triton.matmul`` and ``triton.matmul_f16``."""
    return [
        triton_kernel(
            name="triton.matmul",
            title="tiles in registers and shared memory as Triton places them, float32",
            reference=_REFERENCE,
            function=_FUNCTION,
            arguments=_ARGUMENTS,
            # The first is not pipelined, and the emulator knows what it is made of.
            configs=[
                {"BM": 32, "BN": 32, "BK": 32, "num_warps": 2, "num_stages": 1},
                {"BM": 64, "BN": 64, "BK": 32, "num_warps": 4, "num_stages": 3},
                {"BM": 128, "BN": 64, "BK": 16, "num_warps": 8, "num_stages": 3},
            ],
            constraints=(Int32Index(),),
            min_compute_capability=(8, 0),
        ),
        triton_kernel(
            name="triton.matmul_f16",
            title="the same on tensor cores: float16 inputs, float32 sums",
            reference=_REFERENCE,
            function=_FUNCTION,
            arguments=_ARGUMENTS,
            dtype="float16",
            configs=[
                {"BM": 128, "BN": 128, "BK": 64, "num_warps": 8, "num_stages": 3},
                {"BM": 64, "BN": 64, "BK": 64, "num_warps": 4, "num_stages": 3},
            ],
            constraints=(Int32Index(),),
            min_compute_capability=(8, 0),
        ),
    ]

"""siboehm/SGEMM_CUDA: "How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance", kernels 1 to 12.

Launches and template parameters are those of src/runner.cu, α and β those of sgemm.cu.
"""

from __future__ import annotations

from typing import Any

from bench.studies.public_kernels.declared import PublicKernel, Repository
from mmcore import Config, Multiple, Problem, ceil_div

REPOSITORY = Repository(
    "SGEMM_CUDA", "siboehm", {"arguments": ("m", "n", "k", "alpha", "A", "B", "beta", "C"), "alpha": 0.5, "beta": 3}
)


def _rows_along_x(problem: Problem, config: Config) -> tuple[int, int]:
    return ceil_div(problem.m, 32), ceil_div(problem.n, 32)


def _tiles(bm: int, bn: int, bk: int) -> dict[str, Any]:
    """What kernels 4 to 12 share: a block for each whole tile, columns along x."""
    return {
        "grid": lambda problem, config: (ceil_div(problem.n, bn), ceil_div(problem.m, bm)),
        "constraints": (Multiple("m", bm), Multiple("n", bn), Multiple("k", bk)),
    }


def _declared(number: int, file: str, entry: str, threads: int, **further: Any) -> PublicKernel:
    return REPOSITORY.kernel(f"kernel{number}", file, "simt", entry, block=(threads,), **further)


_K = "src/kernels/"
KERNELS = (
    REPOSITORY.kernel(
        "kernel1", f"{_K}1_naive.cuh", "simt", "sgemm_naive", title="naive", block=(32, 32), grid=_rows_along_x
    ),
    _declared(
        2,
        f"{_K}2_kernel_global_mem_coalesce.cuh",
        "sgemm_global_mem_coalesce<32>",
        1024,
        title="coalesced",
        grid=_rows_along_x,
    ),
    _declared(
        3,
        f"{_K}3_kernel_shared_mem_blocking.cuh",
        "sgemm_shared_mem_block<32>",
        1024,
        title="shared memory",
        grid=_rows_along_x,
        constraints=(Multiple(("m", "n", "k"), 32),),
    ),
    _declared(
        4,
        f"{_K}4_kernel_1D_blocktiling.cuh",
        "sgemm1DBlocktiling<64, 64, 8, 8>",
        512,
        title="1D block tiles",
        **_tiles(64, 64, 8),
    ),
    *(
        _declared(number, f"{_K}{file}", f"{entry}<128, 128, 8, 8, 8>", 256, title=title, **_tiles(128, 128, 8))
        for number, file, entry, title in (
            (5, "5_kernel_2D_blocktiling.cuh", "sgemm2DBlocktiling", "2D block tiles"),
            (6, "6_kernel_vectorize.cuh", "sgemmVectorize", "loads of 16 bytes"),
            (7, "7_kernel_resolve_bank_conflicts.cuh", "sgemmResolveBankConflicts", "B linear in shared memory"),
            (8, "8_kernel_bank_extra_col.cuh", "sgemmResolveBankExtraCol", "B padded in shared memory"),
        )
    ),
    _declared(
        9,
        f"{_K}9_kernel_autotuned.cuh",
        "sgemmAutotuned<128, 128, 16, 8, 8>",
        256,
        title="tuned",
        **_tiles(128, 128, 16),
    ),
    _declared(
        10,
        f"{_K}10_kernel_warptiling.cuh",
        "sgemmWarptiling<128, 128, 16, 64, 64, 4, 8, 4, 128>",
        128,
        title="warp tiles",
        **_tiles(128, 128, 16),
    ),
    _declared(
        11,
        "src/runner.cu",
        "sgemmDoubleBuffering<128, 256, 16, 128, 32, 1, 8, 8, 256>",
        256,
        title="double buffering by half of the threads each",
        **_tiles(128, 256, 16),
    ),
    _declared(
        12,
        "src/runner.cu",
        "runSgemmDoubleBuffering2<128, 128, 16, 64, 64, 4, 8, 4, 128>",
        128,
        title="double buffering by asynchronous copies",
        **_tiles(128, 128, 16),
    ),
)

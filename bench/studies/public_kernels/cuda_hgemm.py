"""Bruce-Lee-LY/cuda_hgemm: half-precision products summed in half precision, by wmma and by mma.sync.

A is stored by rows, B by columns. But for the naive ones, a block computes 256×128 elements; launches and shared memory
are those of the function that follows each kernel.
"""

from __future__ import annotations

from bench.studies.public_kernels.declared import PublicKernel, Repository
from mmcore import Config, Launch, Multiple, Problem, Scalar, ceil_div
from mmcore.kernel.properties import DeviceProperties

REPOSITORY = Repository(
    "cuda_hgemm",
    "cuda_hgemm",
    {
        "dtype": "float16",
        "accumulator": "float16",
        "output": "float16",
        "column_major": "B",
        "arguments": ("A", "B", "C", *(Scalar(name, "uint64") for name in ("m", "n", "k"))),
        "min_compute_capability": (8, 0),
    },
)
_STRIDE = 16  # BLOCK_STRIDE: tiles along x before the next z


def _tiled(name: str, family: str, entry: str, stages: int, *, padded: bool) -> PublicKernel:
    """A kernel of 256×128 tiles and so many stages of 32 columns, 8 elements between rows where it is padded."""
    inputs = (256 + 128) * (32 + 8 * padded) * 2 * stages
    shared = max(inputs, 256 * (128 + 8 * padded) * 2)

    def rule(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        grid = (_STRIDE, ceil_div(problem.m, 256), ceil_div(problem.n, 128 * _STRIDE))
        return Launch(grid, (256,), shared)

    folder = family.partition(".")[0]
    return REPOSITORY.kernel(
        name,
        f"src/{folder}/{name}.cu",
        family,
        entry,
        block=(256,),
        launch=rule,
        include=("../common",),
        constraints=(Multiple("m", 256), Multiple("n", 128), Multiple("k", 32)),
    )


KERNELS = (
    REPOSITORY.kernel(
        "simt_naive",
        "src/simt_naive.cu",
        "simt",
        "simtNaiveKernel",
        block=(16, 16),
        include=("common",),
        constraints=(Multiple(("m", "n"), 16),),  # its guard lets threads outside of one side pass
    ),
    REPOSITORY.kernel(
        "wmma_naive",
        "src/wmma/wmma_naive.cu",
        "wmma",
        "wmmaNaiveKernel",
        block=(32,),
        grid=lambda problem, config: (ceil_div(problem.n, 16), ceil_div(problem.m, 16)),
        include=("../common",),
        constraints=(Multiple(("m", "n", "k"), 16),),
    ),
    _tiled("wmma_base", "wmma", "wmmaBaseKernel", 1, padded=False),
    _tiled("wmma_padding", "wmma", "wmmaPaddingKernel", 1, padded=True),
    _tiled("wmma_async", "wmma", "wmmaAsyncKernel", 1, padded=True),
    _tiled("wmma_async_pg2s", "wmma", "wmmaAsyncPg2sKernel", 2, padded=True),
    _tiled("wmma_async_pg2s_ps2r", "wmma", "wmmaAsyncPg2sPs2rKernel", 2, padded=True),
    _tiled("wmma_async_stage2", "wmma", "wmmaAsyncStage2Kernel", 2, padded=True),
    _tiled("wmma_async_stage3", "wmma", "wmmaAsyncStage3Kernel", 3, padded=True),
    REPOSITORY.kernel(
        "mma_naive",
        "src/mma/mma_naive.cu",
        "mma.sync",
        "mmaNaiveKernel",
        block=(32,),
        grid=lambda problem, config: (ceil_div(problem.n, 8), ceil_div(problem.m, 16)),
        include=("../common",),
        constraints=(Multiple(("m", "k"), 16), Multiple("n", 8)),
    ),
    _tiled("mma_base", "mma.sync", "mmaBaseKernel", 1, padded=False),
    _tiled("mma_permuted", "mma.sync", "mmaPermutedKernel", 1, padded=False),
    _tiled("mma_async", "mma.sync", "mmaAsyncKernel", 1, padded=False),
    _tiled("mma_async_pg2s", "mma.sync", "mmaAsyncPg2sKernel", 2, padded=False),
    _tiled("mma_async_pg2s_ps2r", "mma.sync", "mmaAsyncPg2sPs2rKernel", 2, padded=False),
    _tiled("mma_async_stage2", "mma.sync", "mmaAsyncStage2Kernel", 2, padded=False),
    _tiled("mma_async_stage3", "mma.sync", "mmaAsyncStage3Kernel", 3, padded=False),
    _tiled("mma_async_stage4", "mma.sync", "mmaAsyncStage4Kernel", 4, padded=False),
)

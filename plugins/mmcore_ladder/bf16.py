"""ladder.bf16: bfloat16 products with sums in float32, up to what tensor cores do since compute capability 8.0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mmcore import Config, DeviceProperties, Int32Index, Kernel, Launch, Multiple, Problem, ceil_div, hookimpl

_HERE = Path(__file__).parent
_PTX = "NVIDIA, Parallel Thread Execution ISA, 2025"
_WHOLE_TILES = (Multiple("m", "BM"), Multiple("n", "BN"), Multiple("k", "BK"), Int32Index())


def _threads(config: Config) -> tuple[int]:
    """A warp for each WM×WN of the block's BM×BN."""
    return (32 * (config.BM // config.WM) * (config.BN // config.WN),)


def _tiles(*rows: tuple[int, int, int, int, int]) -> list[dict[str, Any]]:
    """Configs of (BM, BN, BK, WM, WN)."""
    names = ("BM", "BN", "BK", "WM", "WN")
    return [{**dict(zip(names, row, strict=True)), "block": _threads} for row in rows]


def _stages_bytes(config: Config) -> int:
    """Shared memory of a block: its stages, whose place a tile of C takes in the end."""
    return 2 * max(config.STAGES * (config.BM + config.BN) * config.BK, config.BM * config.BN)


def _multistage(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """A block for each tile of C."""
    grid = ceil_div(problem.n, config.BN), ceil_div(problem.m, config.BM)
    return Launch(grid, config.block, shared_bytes=_stages_bytes(config))


def _rung(word: str, title: str, reference: str, **declared: Any) -> Kernel:
    usual: dict[str, Any] = {
        "dtype": "bfloat16",
        "accumulator": "float32",
        "output": "bfloat16",
        "defines": {"ELEMENT": "__nv_bfloat16"},
        "min_compute_capability": (8, 0),
    }
    name, source = f"ladder.bf16.{word}", _HERE / f"bf16_{word}.cu"
    return Kernel(name=name, source=source, title=title, reference=reference, **{**usual, **declared})


TILES = _rung(
    "1_tiles",
    "the lectures' tiled kernel with elements of 16 bits and sums of float32; any size",
    "NVIDIA, CUDA C++ Programming Guide, Shared Memory, 2025",
    configs=[{"TILE": tile, "block": lambda config: (config.TILE, config.TILE)} for tile in (32, 16)],
    constraints=(Int32Index(),),
    min_compute_capability=(7, 5),
)
WMMA = _rung(
    "2_wmma",
    "tensor cores by wmma, with several 16×16 of C for each warp",
    "NVIDIA, CUDA C++ Programming Guide, Warp Matrix Functions, 2025",
    configs=_tiles((128, 128, 32, 64, 32), (128, 128, 32, 64, 64)),
    constraints=_WHOLE_TILES,
)
MMA_SYNC = _rung(
    "3_mma_sync",
    "mma.sync and ldmatrix: fragments loaded by one instruction, sums rounded in registers",
    f"{_PTX}, Warp Level Matrix Multiply-Accumulate Instructions",
    configs=_tiles((128, 128, 32, 64, 32), (128, 128, 32, 64, 64)),
    constraints=_WHOLE_TILES,
)
SWIZZLE = _rung(
    "4_swizzle",
    "the chunks of a tile's rows change places, so that ldmatrix meets no bank twice",
    "A. Kerr, D. Merrill, J. Demouth, J. Tran, CUTLASS: Fast Linear Algebra in CUDA C++, 2017",
    configs=_tiles((128, 128, 32, 64, 32), (128, 128, 32, 64, 64)),
    constraints=_WHOLE_TILES,
)
ASYNC = _rung(
    "5_async",
    "cp.async fetches the next tiles while these are multiplied",
    f"{_PTX}, Asynchronous Data Copies",
    configs=_tiles((128, 128, 32, 64, 32), (128, 128, 32, 64, 64)),
    constraints=_WHOLE_TILES,
)
MULTISTAGE = _rung(
    "6_multistage",
    "several stages under way, fragments loaded ahead, larger tiles in an order for L2, C stored by 16 bytes",
    "A. Kerr, D. Merrill, J. Demouth, J. Tran, CUTLASS: Fast Linear Algebra in CUDA C++, 2017",
    configs=[
        {**tiles, "STAGES": stages, "GROUP": 8}
        for tiles, stages in zip(
            _tiles((128, 256, 64, 64, 64), (128, 256, 32, 64, 64), (128, 128, 32, 64, 64)), (3, 4, 4), strict=True
        )
    ],
    launch=_multistage,
    constraints=_WHOLE_TILES,
)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The rungs, from the first to the last."""
    return [TILES, WMMA, MMA_SYNC, SWIZZLE, ASYNC, MULTISTAGE]

"""ladder.bf16: bfloat16 products with float32 sums, for tensor cores of compute capability 8.0 and later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mmcore import (
    Config,
    DeviceProperties,
    Int32Index,
    Kernel,
    Launch,
    Multiple,
    Problem,
    Scalar,
    Space,
    Workspace,
    ceil_div,
    hookimpl,
)
from mmcore_ladder.layouts import LAYOUTS
from mmcore_ladder.shares import (
    SHARED_BYTES,
    STATIC_BYTES,
    equal_shares,
    tiles_bytes,
    tiles_in_rows,
    warps_exist,
    whole_rows,
)

_HERE = Path(__file__).parent
_PTX = "NVIDIA, Parallel Thread Execution ISA, 2025"
_WHOLE_TILES = (Multiple("m", "BM"), Multiple("n", "BN"), Multiple("k", "BK"), Int32Index())


def _threads(config: Config) -> tuple[int]:
    """Return the threads of a block that has one warp for each WM×WN part of its BM×BN tile."""
    return (32 * (config.BM // config.WM) * (config.BN // config.WN),)


def _tiles(where: Callable[[Config], bool]) -> Space:
    """Return the configs of rungs 02 to 05 that satisfy `where`; two blocks' sums fill at most half the registers."""
    extents = (64, 128, 256)
    return Space(
        {"BM": extents, "BN": extents, "BK": (16, 32, 64), "WM": (32, 64), "WN": (32, 64), "block": _threads},
        where=lambda config: warps_exist(config) and config.BM * config.BN <= 128 * 128 and where(config),
        default=[{"BM": 128, "BN": 128, "BK": 32, "WM": 64, "WN": 32}],
    )


def _wmma_exists(config: Config) -> bool:
    """Return whether 02_wmma supports the config: each warp rounds 16×16 sums in the tiles' shared memory."""
    patches = config.block.x // 32 * 16 * 16 * 4
    return equal_shares(config, 8) and patches <= tiles_bytes(config, 2) <= STATIC_BYTES


def _mma_sync_exists(config: Config) -> bool:
    """Return whether 03_mma_sync supports the config."""
    return tiles_in_rows(config, 8) and tiles_bytes(config, 2) <= STATIC_BYTES


def _swizzle_exists(config: Config) -> bool:
    """Return whether 04_swizzle supports the config: the swizzle repeats every eight rows."""
    return tiles_in_rows(config, 8, multiple=8) and tiles_bytes(config, 2) <= STATIC_BYTES


def _async_exists(config: Config) -> bool:
    """Return whether 05_async supports the config: it has two stages."""
    return tiles_in_rows(config, 8) and 2 * tiles_bytes(config, 2) <= STATIC_BYTES


def _multistage_exists(config: Config) -> bool:
    """Return whether 06_multistage supports the config: C's tile fits into the stages and is copied in whole rows."""
    return (
        warps_exist(config)
        and config.BM * config.BN <= 128 * 256
        and tiles_in_rows(config, 8, multiple=8)
        and whole_rows(config.block.x, config.BM, config.BN, 8)
        and config.BM * config.BN * 2 <= tiles_bytes(config, 2) <= SHARED_BYTES
    )


def _stages_bytes(config: Config) -> int:
    """Return the shared memory of a block, in bytes: its stages, which a tile of C overwrites at the end."""
    return 2 * int(max(config.STAGES * (config.BM + config.BN) * config.BK, config.BM * config.BN))


def _bytes(problem: Problem, matrix: str) -> int:
    """Return the widest load or store, in bytes, that keeps every stored row (or column) aligned."""
    leading = problem.leading(matrix)
    return 16 if leading % 8 == 0 else 4 if leading % 2 == 0 else 2


def _parts(problem: Problem, config: Config, device: DeviceProperties) -> int:
    """Return the number of parts of k: SPLIT if it is not 0, else enough to give each multiprocessor a block.

    A part that is chosen here has at least eight steps, because its sums are written to memory and read again.
    """
    steps = ceil_div(problem.k, config.BK)
    tiles = ceil_div(problem.m, config.BM) * ceil_div(problem.n, config.BN)
    wanted = config.SPLIT or min(device.multiprocessors // tiles, steps // 8)
    return int(max(1, min(wanted, steps)))


def _any(problem: Problem, config: Config, device: DeviceProperties) -> Launch | tuple[Launch, Launch]:
    """Return a launch with a block for each tile of C and part of k, and one that adds several parts."""
    parts = _parts(problem, config, device)
    quads = problem.m * ceil_div(problem.n, 4)
    memory = Workspace("parts", 16 * quads * parts if parts > 1 else 16)
    bytes_of = {matrix: _bytes(problem, matrix) for matrix in "ABC"}
    product = Launch(
        (ceil_div(problem.m, config.BM) * ceil_div(problem.n, config.BN), parts),
        config.block,
        shared_bytes=_stages_bytes(config),
        entry=f"any_size<{bytes_of['A']}, {bytes_of['B']}, {bytes_of['C']}>",
        arguments=("A", "B", "C", memory, "m", "n", "k", "lda", "ldb", "ldc"),
    )
    if parts == 1:
        return product
    addition = Launch(
        (ceil_div(quads, 256),),
        (256,),
        entry=f"add_parts<{bytes_of['C']}>",
        arguments=(memory, "C", "m", "n", "ldc", Scalar(parts)),
    )
    return product, addition


def _possible(config: Config) -> bool:
    """Return whether the tiles fit into shared memory, the sums into registers, and the threads copy equal shares."""
    threads = config.block.x
    # (rows, row length) of a tile of A or B, stored by rows and stored by columns.
    tiles = [pair for each in (config.BM, config.BN) for pair in ((each, config.BK), (config.BK, each))]
    return (
        config.BM % config.WM == config.BN % config.WN == 0
        and 64 <= threads <= 512
        and config.WM * config.WN <= 4096
        and _stages_bytes(config) <= 227 << 10
        and config.STAGES * (config.BM + config.BN) * config.BK >= config.BM * config.BN
        and all(threads % (length // 2) == 0 and rows % (8 * threads // length) == 0 for rows, length in tiles)
    )


def _rung(word: str, title: str, reference: str, **declared: Any) -> Kernel:
    usual: dict[str, Any] = {
        "dtype": "bfloat16",
        "accumulator": "float32",
        "output": "bfloat16",
        "defines": {"ELEMENT": "__nv_bfloat16"},
        "min_compute_capability": (8, 0),
    }
    return Kernel(
        source=_HERE / f"bf16_{word}.cu",
        title=title,
        reference=reference,
        **{"name": f"ladder.bf16.{word}", **usual, **declared},
    )


TILES = _rung(
    "01_tiles",
    "the lectures' tiled kernel with elements of 16 bits and sums of float32; any size",
    "NVIDIA, CUDA C++ Programming Guide, Shared Memory, 2025",
    configs=[{"TILE": 32, "block": lambda config: (config.TILE, config.TILE)}],
    constraints=(Int32Index(),),
    min_compute_capability=(7, 5),
)
WMMA = _rung(
    "02_wmma",
    "tensor cores by wmma, with several 16×16 of C for each warp",
    "NVIDIA, CUDA C++ Programming Guide, Warp Matrix Functions, 2025",
    configs=_tiles(_wmma_exists),
    constraints=_WHOLE_TILES,
)
MMA_SYNC = _rung(
    "03_mma_sync",
    "mma.sync and ldmatrix: fragments loaded by one instruction, sums rounded in registers",
    f"{_PTX}, Warp Level Matrix Multiply-Accumulate Instructions",
    configs=_tiles(_mma_sync_exists),
    constraints=_WHOLE_TILES,
)
SWIZZLE = _rung(
    "04_swizzle",
    "the chunks of a tile's rows change places, so that ldmatrix meets no bank twice",
    "A. Kerr, D. Merrill, J. Demouth, J. Tran, CUTLASS: Fast Linear Algebra in CUDA C++, 2017",
    configs=_tiles(_swizzle_exists),
    constraints=_WHOLE_TILES,
)
ASYNC = _rung(
    "05_async",
    "cp.async fetches the next tiles while these are multiplied",
    f"{_PTX}, Asynchronous Data Copies",
    configs=_tiles(_async_exists),
    constraints=_WHOLE_TILES,
)
MULTISTAGE = _rung(
    "06_multistage",
    "several stages under way, fragments loaded ahead, larger tiles in an order for L2, C stored by 16 bytes",
    "A. Kerr, D. Merrill, J. Demouth, J. Tran, CUTLASS: Fast Linear Algebra in CUDA C++, 2017",
    configs=Space(
        {
            "BM": (64, 128, 256),
            "BN": (64, 128, 256),
            "BK": (32, 64),
            "WM": (32, 64),
            "WN": (32, 64),
            "STAGES": (3, 4, 5),
            "GROUP": (4, 8),
            "block": _threads,
        },
        where=_multistage_exists,
        default=[{"BM": 128, "BN": 256, "BK": 64, "WM": 64, "WN": 64, "STAGES": 3, "GROUP": 8}],
    ),
    shared_bytes=lambda problem, config: _stages_bytes(config),
    constraints=_WHOLE_TILES,
)


def _any_of(dtype: str, element: str, suffix: str, layout: str) -> Kernel:
    """Return rung 07 for one element type; ``layout`` names the matrices that are stored by columns."""
    stored = f", with {' and '.join(layout)} by columns" if layout else ""
    return _rung(
        "07_any",
        f"any size and leading dimension{stored}; k is split where C has few tiles",
        "A. Kerr, D. Merrill, J. Demouth, J. Tran, CUTLASS: Fast Linear Algebra in CUDA C++, 2017",
        name=f"ladder.{'bf16.07' if dtype == 'bfloat16' else 'f16.01'}_any{suffix}",
        variant_of="" if (dtype, suffix) == ("bfloat16", "") else "ladder.bf16.07_any",
        configs=_SPACE,
        launch=_any,
        entry="any_size<16, 16, 16>",
        arguments=("A", "B", "C", Workspace("parts", 16), "m", "n", "k", "lda", "ldb", "ldc"),
        dtype=dtype,
        output=dtype,
        column_major=layout,
        defines={"ELEMENT": element, "A_BY_COLUMNS": str(int("A" in layout)), "B_BY_COLUMNS": str(int("B" in layout))},
    )


_SPACE = Space(
    {
        "BM": (128, 64, 256),
        "BN": (256, 128, 64),
        "BK": (64, 32),
        "WM": (64, 32),
        "WN": (64, 32),
        "STAGES": (3, 4, 5, 6),
        "GROUP": (8, 4, 16),
        "SPLIT": (0, 1, 2, 4, 8),
        "block": _threads,
    },
    where=_possible,
    default=[{"BM": 128, "BN": 256, "BK": 64, "WM": 64, "WN": 64, "STAGES": 3, "GROUP": 8, "SPLIT": 0}],
)
ANY = [
    _any_of(dtype, element, suffix, layout)
    for dtype, element in (("bfloat16", "__nv_bfloat16"), ("float16", "half"))
    for suffix, layout in LAYOUTS.items()
]


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """Return rungs 01 to 07, in order."""
    return [TILES, WMMA, MMA_SYNC, SWIZZLE, ASYNC, MULTISTAGE, *ANY]

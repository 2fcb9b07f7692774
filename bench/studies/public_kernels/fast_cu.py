"""pranjalssh/fast.cu: bfloat16 products for Hopper, from a warp-tiled one to wgmma with clusters and TMA stores.

All of its kernels are compiled from its matmul.cu, with the options of its Makefile. But for the first, A is stored by
rows, B and C by columns.
"""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

from bench.studies.public_kernels.declared import PublicKernel, Repository, Sizes
from mmcore import Config, Launch, Multiple, Problem, Scalar, TensorMap, Workspace, ceil_div
from mmcore.kernel.properties import DeviceProperties

FILE = "matmul.cu"
REPOSITORY = Repository(
    "fast.cu",
    "fast_cu",
    {
        "dtype": "bfloat16",
        "accumulator": "float32",
        "output": "bfloat16",
        "defines": {"NDEBUG": ""},
        "options": ("--use_fast_math",),
    },
)
_HOPPER: dict[str, Any] = {"column_major": "BC", "architecture": "90a", "min_compute_capability": (9, 0)}
_MULTIPROCESSORS = 128  # NUM_SM: the persistent kernels launch so many blocks
_SPACE = 128  # SPACE_LEN: tiles that one cluster computes at most
_TILED = (Sizes(2048, 2048, 2048), Sizes(4096, 4096, 4096), Sizes(8192, 8192, 8192))
_WHOLE = (Sizes(1024, 1024, 1024), Sizes(4096, 4096, 4096), Sizes(8192, 8192, 8192))

LaunchRule = Callable[[Problem, Config, DeviceProperties], Launch]


def _plain_map(matrix: str, problem: Problem, rows: int, columns: int, *, pointer: bool) -> TensorMap:
    """Boxes of rows×columns; what the host code encodes with two axes."""
    return TensorMap(matrix, box=(rows, columns), swizzle=128, pointer=pointer)


def _split_map(
    matrix: str, height: int, width: int, rows: int, columns: int, *, swizzle: int = 128, wide: int = 64
) -> TensorMap:
    """A height×width matrix as columns of 64, the slowest axis: what ``create_tensor_map`` encodes with three axes."""
    return TensorMap(
        matrix,
        box=(columns // 64, rows, wide),
        swizzle=swizzle,
        extents=(width // 64, height, 64),
        strides=(64, width, 1),
    )


def hilbert(rows: int, columns: int, clusters: int) -> bytes:
    """The tiles of each cluster along a Hilbert curve, as ``createHilbert`` hands them out; -1 behind the last."""
    edge = 1 << (max(rows, columns) - 1).bit_length()
    tiles = [(x, y) for x, y in (_point(edge, at) for at in range(edge * edge)) if x < rows and y < columns]
    space = array.array("i", [-1]) * (_MULTIPROCESSORS * _SPACE)
    for index, (x, y) in enumerate(tiles):
        space[index % clusters * _SPACE + index // clusters] = x << 16 | y
    return space.tobytes()


def _point(edge: int, distance: int) -> tuple[int, int]:
    """The point of a Hilbert curve through a square that is so far from its beginning."""
    x = y = 0
    step = 1
    while step < edge:
        right = 1 & (distance // 2)
        up = 1 & (distance ^ right)
        if not up:
            if right:
                x, y = step - 1 - x, step - 1 - y
            x, y = y, x
        x, y = x + step * right, y + step * up
        distance //= 4
        step *= 2
    return x, y


def _one_tile_each(bm: int, bn: int, threads: int, shared: int, *further: Scalar, pointer: bool = True) -> LaunchRule:
    """Kernels 2 to 5: a block for each tile, tensor maps in device memory."""

    def rule(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        maps = [_plain_map(matrix, problem, rows, 64, pointer=pointer) for matrix, rows in (("A", bm), ("B", bn))]
        return Launch(
            grid=(problem.m // bm * (problem.n // bn),),
            block=(threads,),
            shared_bytes=shared,
            arguments=("m", "n", "k", "C", *maps, *further),
        )

    return rule


def _persistent(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """Kernel 6: as many blocks as multiprocessors, maps by value."""
    maps = [_plain_map(matrix, problem, rows, 64, pointer=False) for matrix, rows in (("A", 128), ("B", 256))]
    return Launch((_MULTIPROCESSORS,), (384,), 147456, arguments=("m", "n", "k", "C", *maps))


def _split(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """Kernels 7 to 9: maps of 64 columns each."""
    maps = _inputs(problem)
    return Launch((_MULTIPROCESSORS,), (384,), 147456, arguments=("m", "n", "k", "C", *maps))


def _five_axes(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """Kernel 7: the same maps with two more axes of length 1."""
    maps = [
        TensorMap(
            each.matrix,
            box=(1, 1, *each.box),
            swizzle=128,
            extents=(1, 1, *each.extents),
            strides=(each.strides[1] * each.extents[1], each.strides[1] * each.extents[1], *each.strides),
        )
        for each in _inputs(problem)
    ]
    return Launch((_MULTIPROCESSORS,), (384,), 147456, arguments=("m", "n", "k", "C", *maps))


def _inputs(problem: Problem) -> tuple[TensorMap, TensorMap]:
    return (_split_map("A", problem.m, problem.k, 128, 64), _split_map("B", problem.n, problem.k, 256, 64))


def _stored(shared: int, rows: int, *, padded: bool = False, curve: bool = False) -> LaunchRule:
    """Kernels 10 to 12, whose C is stored by TMA, the last two in the order of a Hilbert curve."""

    def rule(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        c = _split_map("C", problem.n, problem.m, 256, rows, swizzle=0, wide=72 if padded else 64)
        order: tuple[Workspace, ...] = ()
        if curve:
            tiles = hilbert(ceil_div(problem.m, 256), ceil_div(problem.n, 256), _MULTIPROCESSORS // 2)
            order = (Workspace("order", content=tiles),)
        return Launch((_MULTIPROCESSORS,), (384,), shared, arguments=("m", "n", "k", c, *_inputs(problem), *order))

    return rule


def _hopper(number: int, template: str, launch: LaunchRule, m: int, n: int, **further: Any) -> PublicKernel:
    return REPOSITORY.kernel(
        f"matmul_{number}",
        FILE,
        "wgmma",
        f"M{number}::matmulKernel{number}<{template}>",
        block=(128,) if number <= 3 else (256,) if number == 4 else (384,),
        launch=launch,
        constraints=(Multiple("m", m), Multiple("n", n), Multiple("k", 64)),
        **{**_HOPPER, **further},
    )


KERNELS = (
    REPOSITORY.kernel(
        "matmul_1",
        FILE,
        "simt",
        "sgemmWarptiling<128, 128, 16, 64, 64, 4, 8, 4, 128>",
        title="warp tiles, without tensor cores",
        block=(128,),
        arguments=("m", "n", "k", "A", "B", "C"),
        grid=lambda problem, config: (ceil_div(problem.n, 128), ceil_div(problem.m, 128)),
        constraints=(Multiple(("m", "n"), 128), Multiple("k", 16)),
    ),
    _hopper(2, "64, 64, 64, 64, 64, 16, 128", _one_tile_each(64, 64, 128, 0), 64, 64, title="wgmma of 64×64"),
    _hopper(
        3,
        "128, 128, 64, 128, false",
        _one_tile_each(128, 128, 128, 32768, Scalar(0, "uint64")),
        128,
        128,
        title="larger tiles",
    ),
    _hopper(
        4,
        "128, 128, 64, 256, 5",
        _one_tile_each(128, 128, 256, 163840),
        128,
        128,
        title="a producer and a consumer warpgroup",
    ),
    _hopper(
        5, "128, 256, 64, 384, 3", _one_tile_each(128, 256, 384, 147456), 128, 256, title="two consumer warpgroups"
    ),
    _hopper(6, "128, 256, 64, 384, 3, 128", _persistent, 2048, 2048, title="persistent blocks", sizes=_TILED),
    _hopper(7, "128, 256, 64, 384, 3, 128", _five_axes, 2048, 2048, title="barriers in PTX", sizes=_TILED),
    _hopper(8, "128, 256, 64, 384, 3, 128, 2, 1", _split, 2048, 2048, title="clusters of two", sizes=_TILED),
    _hopper(9, "128, 256, 64, 384, 3, 128, 2, 1", _split, 2048, 2048, title="stores past L1", sizes=_TILED),
    _hopper(
        10, "128, 256, 64, 384, 3, 128, 2, 1", _stored(213120, 128), 2048, 2048, title="C stored by TMA", sizes=_TILED
    ),
    _hopper(
        11,
        "128, 256, 64, 384, 3, 128, 2, 1",
        _stored(213632, 128, curve=True),
        256,
        256,
        title="tiles along a Hilbert curve",
        sizes=_WHOLE,
    ),
    _hopper(
        12,
        "128, 256, 64, 384, 3, 128, 2, 1",
        _stored(221824, 64, padded=True, curve=True),
        256,
        256,
        title="stmatrix, padded shared memory",
        sizes=_WHOLE,
    ),
)

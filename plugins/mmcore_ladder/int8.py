"""ladder.f64.04_int8: float64 by residues modulo small numbers, on tensor cores that multiply bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mmcore import (
    Config,
    DeviceProperties,
    Kernel,
    Launch,
    Problem,
    Scalar,
    Space,
    TensorMap,
    Workspace,
    ceil_div,
    hookimpl,
)
from mmcore.kernel.arguments import Argument
from mmcore_ladder.layouts import LAYOUTS
from mmcore_ladder.shares import SHARED_BYTES, following
from mmcore_ladder.wgmma_any import by_columns, wide

_DEPTH = 128
"""Bytes of a tile along k."""
_BOX_BYTES = 64 * 128
_SUMMED, _SLICES = 32, 8
"""Lines whose squares a block sums up, in so many slices of k."""
_LINES, _ALONG = 64, 64
"""Lines, and elements along k, whose residues a block makes."""
_LEAST_K = {14: 1024, 15: 8}
"""By the number of moduli, the least k whose tolerance covers the rounding to integers; docs/ladder.md derives it."""
_MOST_K = (1 << 17) - 1
"""The largest k whose products of bytes have a sum of 31 bits."""


@dataclass(frozen=True)
class Precision:
    """A constraint: the number of moduli exists, and is enough for k."""

    description: str = "14 or 15 moduli, and 14 from k = 1024 on"

    def violation(self, problem: Problem, config: Config) -> str | None:
        """Return a sentence that names the number of moduli, or None."""
        if config.MODULI not in _LEAST_K:
            return f"there are 14 or 15 moduli, not {config.MODULI}"
        if max(_LEAST_K) == config.MODULI or problem.k >= _LEAST_K[config.MODULI]:
            return None
        return f"k = {problem.k} needs {max(_LEAST_K)} moduli, not {config.MODULI}"


def _padded(length: int) -> int:
    return 16 * ceil_div(length, 16)


def _launches(problem: Problem, config: Config, device: DeviceProperties) -> Iterator[Launch]:
    m, n, k = problem.m, problem.n, problem.k
    lines, moduli = m + n, config.MODULI
    packed, packed_c = _padded(k), _padded(n)
    sums = Workspace("sums of squares", 8 * _SLICES * lines)
    scales, near = Workspace("scales", 4 * lines), Workspace("near", 4 * lines)
    of_a, of_b = Workspace("residues of A", moduli * m * packed), Workspace("residues of B", moduli * n * packed)
    of_c = Workspace("residues of C", moduli * m * packed_c)
    stored = [Scalar(int(by_columns(problem, matrix))) for matrix in "AB"]
    matrices: tuple[Argument, ...] = (*map(Scalar, (m, n, k)), *stored, *wide(problem.lda, problem.ldb))
    blocks = ceil_div(m, _SUMMED) + ceil_div(n, _SUMMED)
    yield Launch((blocks, _SLICES), (256,), entry="squares", arguments=("A", "B", sums, near, *matrices))
    grid = ceil_div(m, _LINES) + ceil_div(n, _LINES), ceil_div(packed, _ALONG)
    made = ("A", "B", sums, Scalar(_SLICES), scales, near, of_a, of_b)
    yield Launch(grid, (256,), entry="residues", arguments=(*made, *matrices, *wide(packed)))

    def map_of(workspace: Workspace, rows: int, length: int, leading: int, box: int) -> TensorMap:
        extents, strides = (moduli, rows, length), (rows * leading, leading, 1)
        return TensorMap(workspace.name, (1, box, _DEPTH), 128, extents, strides, "int8")

    size = config.CLUSTER
    tiles = ceil_div(m, config.BM * size) * ceil_div(n, config.BN) * moduli
    certain = Scalar(lines if _LEAST_K[moduli] <= k <= _MOST_K else 0)
    maps = (
        map_of(of_a, m, k, packed, config.BM),
        map_of(of_b, n, k, packed, config.BN // size),
        map_of(of_c, m, n, packed_c, 64),
    )
    yield Launch(
        (min(tiles, device.multiprocessors // size) * size,),
        config.block,
        shared_bytes=_shared_bytes(config),
        cluster=(size,) if size > 1 else None,
        entry="products",
        arguments=(*maps, near, certain, *map(Scalar, (m, n, k))),
    )
    combined = (of_c, scales, near, certain, "A", "B", "C", *matrices, *wide(*problem.strides("C"), packed_c))
    grid_c = (min(ceil_div(m * packed_c, 1024), 8 * device.multiprocessors),)
    yield Launch(grid_c, (256,), entry="combine", arguments=combined)


def _launch(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    return following(_launches(problem, config, device), device)


def _stage_bytes(config: Config) -> int:
    """Return the bytes of a stage and its barriers."""
    return int((config.BM + config.BN) * _DEPTH + 16)


def _box_bytes(config: Config) -> int:
    """Return the bytes of two boxes of residues of C for each consumer."""
    return int(config.CONSUMERS * 2 * _BOX_BYTES)


def _shared_bytes(config: Config) -> int:
    return int(config.STAGES * _stage_bytes(config)) + _box_bytes(config)


def _fits(config: Config) -> bool:
    whole = config.BM % (64 * config.CONSUMERS) == 0
    sums = config.BN // 2 * (config.BM // (64 * config.CONSUMERS))
    return bool(whole and config.STAGES >= 2 and sums <= 128)


_SPACE = Space(
    {
        "MODULI": (14, 15),
        "BM": (64, 128, 256),
        "BN": (64, 128, 256),
        "CONSUMERS": (1, 2),
        "CLUSTER": (1, 2),
        "GROUP": (8, 16),
        "STAGES": lambda config: min(8, (SHARED_BYTES - _box_bytes(config)) // _stage_bytes(config)),
        "block": lambda config: (128 * (1 + config.CONSUMERS),),
    },
    where=_fits,
    default=[{"MODULI": 15, "BM": 128, "BN": 256, "CONSUMERS": 2, "CLUSTER": 2, "GROUP": 8}],
)


def _int8(layout: str, column_major: str) -> Kernel:
    """Return the rung for one layout; "_tn", for example, stores A by columns."""
    return Kernel(
        name=f"ladder.f64.04_int8{layout}",
        title="float64 from products of bytes modulo small numbers; any size",
        reference="Katsuhisa Ozaki, Yuki Uchino and Toshiyuki Imamura, Ozaki Scheme II, 2025",
        source="f64_04_int8.cu",  # type: ignore[arg-type]
        dtype="float64",
        unit="int8",
        configs=_SPACE,
        arguments=("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc"),
        launch=_launch,
        column_major=column_major,
        variant_of="ladder.f64.04_int8" if layout else "",
        constraints=(Precision(),),
        options=("--device-int128",),
        architecture="90a",
        min_compute_capability=(9, 0),
    )


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """Return the rung in all layouts."""
    return [_int8(layout, column_major) for layout, column_major in LAYOUTS.items()]

"""Small products of the same kind as a kernel's launch, which cost little on the emulator."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmcore.cell import Cell
from mmcore.errors import MmcoreError
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.launch import known_tile
from mmcore.kernel.problem import dtype_named
from mmcore.planning.plan import plan
from mmcore.result import LaunchRecord
from mmcore_emulator.adapter.conversions import capability_properties
from mmcore_emulator.isa.architectures import CAPABILITIES

_BASES = (32, 64, 128, 256, 512)
_USUAL_BASES = (128, 256, 512)  # of products that are verified in place of large ones
# k has several tiles where that is allowed: a race around the loop over tiles needs two, a ring more than its stages.
_DEPTHS = (4, 2, 1)
_LEAST_K, _TURNS = 64, 3  # of a k that is deep enough: itself, and how often shared memory is filled
_MOST_ELEMENTS = 1 << 16  # of a block's tile of C, which is kept in the registers of a multiprocessor
_WORK, _MOST_WORK = 1 << 24, 1 << 26  # m·n·k of a product that is checked: usually at most, and at most


def small_product(
    cell: Cell,
    kernel: Kernel,
    parameters: Mapping[str, Any],
    launched: Sequence[LaunchRecord],
    is_alike: Callable[[Cell], bool] = lambda smaller: True,
) -> Cell | None:
    """Return a cell on the emulator with a small product, ``is_alike`` if possible; None if the constraints allow none.

    It has several blocks along the axes along which the launches of the cell, with the config's ``parameters``, have
    several, if a small product can have them. A kernel in a file does not declare that it needs whole tiles; its small
    product has some where the cell's has.
    """
    config = kernel.config(**parameters)
    first = None
    edges = set[tuple[str, int]]() if isinstance(cell.kernel, str) else _edges(cell, kernel, config)
    for smaller in _smaller(cell, kernel, _deep(cell, kernel, launched)):
        blocks = _blocks(smaller, kernel, config)
        if blocks is None:
            continue
        if not smaller.config and config != smaller.config_of(kernel):
            smaller = replace(smaller, config=config.to_json())
        pairs = zip(itertools.chain(*blocks), itertools.chain(*(launch.grid for launch in launched)), strict=False)
        several = all(min(few, 2) >= min(many, 2) for few, many in pairs)
        if several and edges <= _edges(smaller, kernel, config) and is_alike(smaller):
            return smaller
        first = first or smaller
    return first


def smaller_sizes(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield small sizes in place of large ones, with their order and remainders; none in place of small ones."""
    ranks = [sum(size > other for other in set(sizes)) for size in sizes]
    for base in _USUAL_BASES:
        smaller = tuple(base * (1 + rank) + size % base for rank, size in zip(ranks, sizes, strict=True))
        if math.prod(smaller) < math.prod(sizes):
            yield smaller


def _blocks(cell: Cell, kernel: Kernel, config: Config) -> list[Dim3] | None:
    """Return the blocks of a cell's launches on the emulator; None if they are not allowed."""
    with contextlib.suppress(MmcoreError):
        device = capability_properties(CAPABILITIES["emulator"])
        planned = plan(kernel, cell.problem(kernel), config, device, force=cell.force)
        return [launch.grid_dim for launch in planned.launches]
    return None


def _edges(cell: Cell, kernel: Kernel, config: Config) -> set[tuple[str, int]]:
    """Return the sizes, of m and n or of all, at the edge of a tile: one more (1) or less (-1) needs another grid."""
    blocks, packed = _blocks(cell, kernel, config), replace(cell, lda=0, ldb=0, ldc=0)
    found = set[tuple[str, int]]()
    for names, step in itertools.product(("m", "n", "mnk"), (1, -1)):
        sizes = {name: getattr(cell, name) + step for name in names}
        if min(sizes.values()) and _blocks(replace(packed, **sizes), kernel, config) not in (None, blocks):
            found.add((names, step))
    tile = known_tile(kernel.launch)
    return found | {(name, 1) for name, edge in zip("mn", tile or (), strict=False) if getattr(cell, name) % edge == 0}


def _deep(cell: Cell, kernel: Kernel, launched: Sequence[LaunchRecord]) -> float:
    """Return a k that makes a block fill its whole shared memory with A and B several times, as an estimate."""
    tile = known_tile(kernel.launch)
    estimates = (2 * math.sqrt(min(cell.m * cell.n / launch.grid.size, _MOST_ELEMENTS)) for launch in launched)
    edges = [sum(tile) if tile is not None else estimate for estimate in estimates]
    row_bytes = [dtype_named(kernel.dtype).itemsize * edge for edge in edges]  # of the block's parts of A and B
    held = (launch.shared_bytes / row for launch, row in zip(launched, row_bytes, strict=True))
    return max(_LEAST_K, _TURNS * max(held))


def _smaller(cell: Cell, kernel: Kernel, deep: float) -> Iterator[Cell]:
    """Yield the cell itself if its product is small, then smaller products, the smallest of each kind first.

    Sizes keep their order and their remainders, or are divided by a power of two; gaps between rows stay as long. k is
    the least one that is at least ``deep``, if the constraints and the work allow one, and else as deep as they allow.
    """
    sizes = (cell.m, cell.n, cell.k)
    if max(sizes) <= _BASES[1]:
        yield cell
    ranks = [sum(size > other for other in set(sizes)) for size in sizes]
    # Shallow products of the cell's sizes divided by a number come last.
    candidates: list[tuple[bool, list[int]]] = []
    for base in _BASES:
        m, n, k = (base * (1 + rank) for rank in ranks)
        deepest = max(_DEPTHS[0] * k, k << max(0, math.ceil(math.log2(deep / k))))
        halves = (deepest >> shift for shift in range(deepest.bit_length()))
        enough = sorted(depth for depth in halves if depth >= deep)
        for depth in dict.fromkeys([*enough, *(depth * k for depth in _DEPTHS)]):
            tiles = zip((m, n, depth), sizes, strict=True)
            candidates.append((False, [tile + size % base for tile, size in tiles]))
    divisor = math.gcd(*sizes) & -math.gcd(*sizes)  # the largest power of two
    while divisor:
        small = [size // divisor for size in sizes]
        candidates.append((small[2] < deep, small))
        divisor //= 2

    def rank_of(candidate: tuple[bool, list[int]]) -> tuple[bool, bool, bool, int]:
        is_last, (m, n, k) = candidate
        return k < deep > _LEAST_K, m * n * k > _WORK, is_last, m * n

    problem = cell.problem(kernel)
    gaps = [problem.leading(matrix) - problem.packed.leading(matrix) for matrix in "ABC"]
    for _, (m, n, k) in sorted(candidates, key=rank_of):
        if m * n * k <= _MOST_WORK:
            packed = replace(problem, m=m, n=n, k=k, lda=0, ldb=0, ldc=0)
            lda, ldb, ldc = (packed.leading(label) + gap if gap else 0 for label, gap in zip("ABC", gaps, strict=True))
            yield replace(cell, m=m, n=n, k=k, lda=lda, ldb=ldb, ldc=ldc)

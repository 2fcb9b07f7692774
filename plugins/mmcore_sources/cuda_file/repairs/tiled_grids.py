"""Grids of tiles for a registered kernel: that of the source's own host code, and those of the config's parameters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from mmcore.cell import Cell
from mmcore.errors import MmcoreError
from mmcore.kernel.configs import BLOCK, Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.problem import Problem
from mmcore.planning.plan import Plan
from mmcore_cuda.cuda_source.tokens import words
from mmcore_sources.cuda_file.files import headers_of
from mmcore_sources.cuda_file.hints.tried_cells import at_sizes
from mmcore_sources.cuda_file.inference.expressions import LaunchText, parse_expressions, python_text
from mmcore_sources.cuda_file.inference.infer import infer

_FACTORS = (1, 8, 16, 32)  # elements along an edge of what a parameter of a config may count: fragments, warps
_LONGEST = 256  # elements along an edge of a tile
_TILES = 9  # of a product that shows which axis of the grid goes along its longer side
_LONGEST_TRIED = 128  # elements along the edge of such a product's tiles
_DEPTH = 64  # its k, if the kernel allows that


class _Edge(NamedTuple):
    """An edge of a tile: a parameter of the config, by which factor it counts elements, and the elements."""

    name: str
    factor: int
    length: int

    def blocks(self, size: int, config: Config) -> int:
        return ceil_div(size, self.factor * config[self.name])

    def __str__(self) -> str:
        return f"{self.factor} * c.{self.name}" if self.factor > 1 else f"c.{self.name}"


@dataclass(frozen=True)
class _Tiles:
    """A grid of tiles: the edges along m and n, and the size along x."""

    rows: _Edge
    columns: _Edge
    along_x: str

    def __call__(self, problem: Problem, config: Config) -> tuple[int, int]:
        blocks = self.columns.blocks(problem.n, config), self.rows.blocks(problem.m, config)
        return blocks if self.along_x == "n" else blocks[::-1]

    def __str__(self) -> str:
        blocks = f"ceil_div(p.n, {self.columns})", f"ceil_div(p.m, {self.rows})"
        return ", ".join(blocks if self.along_x == "n" else blocks[::-1])


def tiled_grids(planned: Plan, cells: Sequence[Cell]) -> Iterator[tuple[Kernel, str]]:
    """Yield kernels with a grid of tiles in place of the default grid, each with the change in words.

    The grid of the source comes first. Of the grids by parameters of the config, those with fewer blocks in all cells
    come first, as a kernel may also be right with more blocks than it needs. Of equal grids, those come first whose
    tiles are parameters, then those of small tiles, and then those with columns along x.
    """
    rows, columns, _ = planned.config.tile
    default = f"the default grid, in which a block covers {rows}×{columns} of C"
    yield from source_grid(planned, default)
    problems = [cell.problem(planned.kernel) for cell in cells]

    def order(tiles: _Tiles) -> tuple[int, int, int]:
        rows, columns, _ = edges = (tiles.rows, tiles.columns, tiles.along_x)
        blocks = sum(ceil_div(each.m, rows.length) * ceil_div(each.n, columns.length) for each in problems)
        return blocks, sum(edge.factor > 1 for edge in edges[:2]), rows.length * columns.length

    named = [pair for pair in itertools.permutations(_edges(planned.config), 2) if pair[0].name != pair[1].name]
    grids = dict[tuple[int, int, str], _Tiles]()
    for tiles in sorted((_Tiles(*pair, along_x) for pair in named for along_x in "nm"), key=order):
        grids.setdefault((tiles.rows.length, tiles.columns.length, tiles.along_x), tiles)
    for grid in grids.values():
        what = f"grid=lambda p, c: ({grid}) in place of {default}"
        yield replace(planned.kernel, grid=grid), what


def source_grid(planned: Plan, replaced: str) -> Iterator[tuple[Kernel, str]]:
    """Yield a kernel with the grid of its source's host code, or else of its index into C, unless that is a guess."""
    kernel, text = planned.kernel, planned.kernel.source_text()
    numbers = {name: value for name, value in planned.config.items() if type(value) is int}
    parameters = {name: value for name, value in numbers.items() if name in words(text.encode())}
    given = {
        "entry": planned.entry(planned.launches[0]),
        BLOCK: planned.config.block,
        "parameters": parameters,
        "column_major": kernel.column_major,
    }
    options = [*kernel.options, *(f"-I{kernel.source.parent / folder}" for folder in kernel.include)]
    try:
        headers = headers_of(kernel.source, text, options)
        inferred = infer(kernel.source, text, given, [(path.name, header) for path, header in headers.items()])
    except MmcoreError:
        return
    rule = inferred.attributes["launch"]
    guessed = any(note.guessed for note in inferred.notes if note.what == "grid")
    if not guessed and isinstance(rule, LaunchText):
        parts = [python_text(each, "p", "c") for each in parse_expressions(rule.grid, "the grid")]
        grid = f"({', '.join(parts)}{',' * (len(parts) == 1)})"
        yield replace(kernel, grid=partial(_blocks_of, rule)), f"grid=lambda p, c: {grid} in place of {replaced}"


def long_cells(cell: Cell, kernel: Kernel) -> list[Cell]:
    """Return cells of a tall and of a wide product, if a kernel allows them, which exchanged axes of a grid do not fit.

    Each has a single tile along its shorter side, at least if parameters of the config are the edges of tiles.
    """
    config = kernel.config(**cell.config)
    tile = max((edge.length for edge in _edges(config) if edge.length <= _LONGEST_TRIED), default=_LONGEST_TRIED)
    for edge, k in itertools.product((tile, _LONGEST_TRIED), (_DEPTH, cell.k)):
        long = [at_sizes(cell, kernel, _TILES * edge, edge, k), at_sizes(cell, kernel, edge, _TILES * edge, k)]
        if not any(kernel.violations(each.problem(kernel), config) for each in long):
            return long
    return []


def _edges(config: Config) -> list[_Edge]:
    """Return the edges of tiles that parameters of a config may be."""
    return [
        _Edge(name, factor, factor * value)
        for name, value in config.items()
        if type(value) is int
        for factor in _FACTORS
        if 1 < factor * value <= _LONGEST
    ]


def _blocks_of(rule: LaunchText, problem: Problem, config: Config) -> tuple[int, ...]:
    return tuple(rule.blocks(problem, config))

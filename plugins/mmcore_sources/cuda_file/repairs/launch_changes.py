"""Changes of the launches of a registered kernel: another grid, exchanged sizes, more threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeAlias

from mmcore.kernel.arguments import Argument, Scalar
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.launch import Launch
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import Plan

_Change: TypeAlias = Callable[[Launch], Launch]
_FACTORS = (1, 8, 16, 32)  # elements along an edge of what a parameter of a config may count: fragments, warps
_LONGEST = 256  # elements along an edge of a tile


class _Edge(NamedTuple):
    """An edge of a tile: a parameter of the config, by which factor it counts elements, and the elements."""

    name: str
    factor: int
    length: int

    def __str__(self) -> str:
        return f"{self.factor} * c.{self.name}" if self.factor > 1 else f"c.{self.name}"


def launch_changes(planned: Plan) -> Iterator[tuple[Kernel, str]]:
    """Yield kernels of which one launch differs from a plan's, each with the change in words."""
    kernel = planned.kernel
    if kernel.launch is None and kernel.grid is None:
        yield from _tiled_grids(planned)
    grid, rule = ("grid=", "") if kernel.launch is None else ("launch=", "launch=")
    for number, launch in enumerate(planned.launches):
        of = f" of {planned.entry(launch)}" if len(planned.launches) > 1 else ""
        if launch.grid_dim.x != launch.grid_dim.y:
            yield _with(kernel, number, _exchanged_axes), f"x and y of the grid{of} exchanged in {grid}"
        for one, other in itertools.combinations("mnk", 2):
            exchanged = _exchanged_sizes({one: other, other: one})
            if exchanged(launch) != launch:
                yield (
                    _with(kernel, number, exchanged),
                    f'"{one}" and "{other}" exchanged in the arguments{of} in {rule}',
                )
        for axis in "yx":
            where = rule or '"block" of configs='
            yield _with(kernel, number, _doubled(axis)), f"twice as many threads{of} along {axis} in {where}"


def renamed(argument: Argument, names: Mapping[str, str]) -> Argument:
    """Return an argument, a size among them by its new name."""
    if isinstance(argument, Scalar):
        return replace(argument, value=names.get(str(argument.value), argument.value))
    return names.get(argument, argument) if isinstance(argument, str) else argument


def _with(kernel: Kernel, number: int, change: _Change) -> Kernel:
    """Return a kernel whose launch of a number is changed."""

    def rule(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
        launches = kernel.launches(problem, config, device)
        return [change(each) if at == number else each for at, each in enumerate(launches)]

    return replace(kernel, launch=rule, grid=None, shared_bytes=0, over_read=None)


def _tiled_grids(planned: Plan) -> Iterator[tuple[Kernel, str]]:
    """Yield kernels with a grid of tiles, as parameters of the config count them, in place of the default grid.

    Grids of fewer blocks come first, as a kernel may also be right with more blocks than it needs. Of equal grids,
    those come first whose tiles are parameters, and then those of small tiles.
    """

    def order(pair: tuple[_Edge, _Edge]) -> tuple[int, int, int]:
        rows, columns = pair
        blocks = ceil_div(planned.problem.m, rows.length) * ceil_div(planned.problem.n, columns.length)
        return blocks, (rows.factor > 1) + (columns.factor > 1), rows.length * columns.length

    edges = [
        _Edge(name, factor, factor * value)
        for name, value in planned.config.items()
        if type(value) is int
        for factor in _FACTORS
        if 1 < factor * value <= _LONGEST
    ]
    tiles = dict[tuple[int, int], tuple[_Edge, _Edge]]()
    for rows, columns in sorted(itertools.permutations(edges, 2), key=order):
        if rows.name != columns.name:
            tiles.setdefault((rows.length, columns.length), (rows, columns))
    for rows, columns in tiles.values():
        words = f"grid=lambda p, c: (ceil_div(p.n, {columns}), ceil_div(p.m, {rows})) in place of the default grid"
        yield replace(planned.kernel, grid=partial(_grid_of, rows, columns)), words


def _grid_of(rows: _Edge, columns: _Edge, problem: Problem, config: Config) -> tuple[int, int]:
    """Return the blocks of a product in tiles with these edges."""
    x, y = (edge.factor * config[edge.name] for edge in (columns, rows))
    return ceil_div(problem.n, x), ceil_div(problem.m, y)


def _exchanged_axes(launch: Launch) -> Launch:
    x, y, z = launch.grid_dim
    return replace(launch, grid=(y, x, z))


def _exchanged_sizes(names: Mapping[str, str]) -> _Change:
    def change(launch: Launch) -> Launch:
        arguments = launch.arguments and tuple(renamed(each, names) for each in launch.arguments)
        return replace(launch, arguments=arguments)

    return change


def _doubled(axis: str) -> _Change:
    def change(launch: Launch) -> Launch:
        return replace(launch, block=launch.block_dim._replace(**{axis: 2 * getattr(launch.block_dim, axis)}))

    return change

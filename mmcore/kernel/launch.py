"""Launches, which launch rules return, the default rules, and calls of a plugin's rules."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import MATRICES, Argument, check_argument
from mmcore.kernel.configs import Config
from mmcore.kernel.geometry import Dim3, Shape, ceil_div, dim3, native
from mmcore.kernel.problem import Problem


@dataclass(frozen=True)
class Launch:
    """One launch: its geometry, what it may read past the matrices, and its arguments.

    Attributes:
        grid, block: blocks, and threads of a block, along x, y, z (one to three numbers).
        shared_bytes: dynamic shared memory of a block, in bytes.
        cluster: blocks of a thread block cluster along x, y, z; None for none.
        cooperative: whether all blocks must be resident at once, so that they can wait for each other.
        dependent: whether it may begin before the launch before it ends (programmatic dependent launch).
        over_read: elements past the end of a matrix that the kernel may load but never use, by matrix.
        entry, arguments: the function and its arguments, where they are not the kernel's own.
    """

    grid: Shape
    block: Shape
    shared_bytes: int = 0
    cluster: Shape | None = None
    cooperative: bool = False
    dependent: bool = False
    over_read: dict[str, int] = field(default_factory=dict)
    entry: str | None = None
    arguments: tuple[Argument, ...] | None = None

    def __post_init__(self) -> None:
        shapes = {"grid": self.grid, "block": self.block} | ({} if self.cluster is None else {"cluster": self.cluster})
        for what, shape in shapes.items():
            extents = tuple(map(native, shape)) if isinstance(shape, tuple | list) else ()
            if not 1 <= len(extents) <= 3 or not all(type(extent) is int for extent in extents):
                raise InvalidKernel(f"the {what} {shape!r} is not one to three whole numbers, such as (16, 16)")
            # A grid can come out empty when a rule is forced against its constraints; the planner refuses it in words.
            object.__setattr__(self, what, Dim3(*extents) if what == "grid" else dim3(extents))
        object.__setattr__(self, "shared_bytes", native(self.shared_bytes))
        if type(self.shared_bytes) is not int or self.shared_bytes < 0:
            raise InvalidKernel(f"shared_bytes is a whole number of bytes, not {self.shared_bytes!r}")
        object.__setattr__(self, "over_read", {matrix: native(each) for matrix, each in self.over_read.items()})
        for matrix, elements in self.over_read.items():
            if matrix not in MATRICES or type(elements) is not int or elements < 0:
                raise InvalidKernel(f"an over-read of {elements} elements behind {matrix!r} makes no sense")
        if self.arguments is not None:
            if not isinstance(self.arguments, tuple | list):
                raise InvalidKernel(f'a launch\'s arguments are several: ("A", "B"), not {self.arguments!r}')
            object.__setattr__(self, "arguments", tuple(self.arguments))
            for argument in self.arguments:
                check_argument(argument)

    @property
    def grid_dim(self) -> Dim3:
        return Dim3(*self.grid)

    @property
    def block_dim(self) -> Dim3:
        return Dim3(*self.block)


@runtime_checkable
class CountsTiles(Protocol):
    """A launch rule that may have a constant grid, whose blocks count the tiles of C themselves."""

    @property
    def tile(self) -> tuple[int, int] | None:
        """The rows and columns of such a tile; None if the grid shows them, or they are unknown."""


def known_tile(rule: object) -> tuple[int, int] | None:
    """Return the rows and columns of the tiles that a launch rule's kernel counts itself; None for other rules."""
    return rule.tile if isinstance(rule, CountsTiles) else None


def covering_grid(problem: Problem, config: Config) -> tuple[int, int]:
    """Return the default grid: blocks that cover C with one tile each, columns along x, rows along y."""
    rows, columns, _ = config.tile
    return ceil_div(problem.n, columns), ceil_div(problem.m, rows)


def tiles_over_read(problem: Problem, config: Config, launch: Launch) -> dict[str, int]:
    """Return the elements that whole tiles read past the end of A and B if their loads are not guarded.

    The furthest load from A is of row ``rows`` - 1 and column ``depth`` - 1.
    """
    height, width, step = config.tile
    rows, columns = launch.grid_dim.y * height, launch.grid_dim.x * width
    depth = ceil_div(problem.k, step) * step
    last = {"A": (rows - 1, depth - 1), "B": (depth - 1, columns - 1)}
    reach = {matrix: sum(map(operator.mul, at, problem.strides(matrix))) + 1 for matrix, at in last.items()}
    return {matrix: max(0, count - problem.span(matrix)) for matrix, count in reach.items()}

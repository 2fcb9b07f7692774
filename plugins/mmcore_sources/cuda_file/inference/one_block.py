"""Rows and columns of C that the threads of one block cover, because the index into C uses no ``blockIdx`` for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import Constraint
from mmcore.kernel.geometry import dim3
from mmcore.kernel.problem import Problem
from mmcore_sources.cuda_file.inference.body import Body, Term
from mmcore_sources.cuda_file.inference.expressions import EXTENTS, LaunchText
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes
from mmcore_sources.cuda_file.inference.program_sizes import guards
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.sized_blocks import SQUARES, SizedBlock

_PARTS = {"m": "rows", "n": "columns", "mn": "elements"}
_INDEXES = tuple(f"threadIdx.{axis}" for axis in "xyz")
_EDGE, _ROW = 16, 64  # threads of the usual block along each of two axes, and along a single one


@dataclass(frozen=True)
class ThreadSides:
    """The sides of C that the threads of one block cover.

    Attributes:
        axes: the axis of the block by the side: "m" for the rows of C, "n" for its columns, "mn" for all elements.
        exact: True if each thread computes an element, also of a row or column that C does not have.
    """

    axes: Mapping[str, str]
    exact: bool

    @property
    def parts(self) -> str:
        """The names of the sides, "rows and columns"."""
        return " and ".join(_PARTS[side] for side in self.axes)

    def larger_block(self, block: Sequence[int], equal: str) -> tuple[int, ...]:
        """Return the usual block in place of a smaller one, or of one that does not fit ``equal`` sizes; else ()."""
        extents = dim3(tuple(block))
        lengths = {getattr(extents, axis) for axis in self.axes.values()}
        if extents.size >= _EDGE and (len(lengths) == 1 or not {*self.axes} <= {*equal}):
            return ()
        edge = _EDGE**2 if "mn" in self.axes else _ROW if len(self.axes) == 1 else _EDGE
        return tuple(edge if axis in self.axes.values() else 1 for axis in "xyz")

    def uncovered(self, sizes: Mapping[str, int], block: Sequence[int]) -> Iterator[str]:
        """Yield the rows, columns or elements of C that no thread of a block computes, in words."""
        extents = dim3(tuple(block))
        for side, axis in self.axes.items():
            covered = getattr(extents, axis)
            if covered < _count(side, sizes):
                yield f"{_PARTS[side]} from {covered} on"


@dataclass(frozen=True)
class OneBlock:
    """A constraint: the block has a thread for each row, column or element of C that the index of no block selects."""

    sides: ThreadSides
    rule: LaunchText

    @property
    def description(self) -> str:
        return f"a thread for each part of C: {self.text}"

    @property
    def text(self) -> str:
        """The condition, ``m = block.y and n = block.x``."""
        sign = "=" if self.sides.exact else "≤"
        return " and ".join(f"{'·'.join(side)} {sign} block.{axis}" for side, axis in self.sides.axes.items())

    @property
    def condition(self) -> str:
        """The condition as an expression of a launch's values."""
        sign, names = "==" if self.sides.exact else "<=", {axis: name for name, axis in EXTENTS.items()}
        return " and ".join(f"{' * '.join(side)} {sign} {names[axis]}" for side, axis in self.sides.axes.items())

    def violation(self, problem: Problem, config: Config) -> str | None:
        block, sizes = self.rule.block_of(problem, config), {"m": problem.m, "n": problem.n}
        for side, axis in self.sides.axes.items():
            threads, wanted = getattr(block, axis), _count(side, sizes)
            if threads < wanted or (self.sides.exact and threads != wanted):
                return f"one block computes these parts of C: {self.text}, but the block is {block}"
        return None


def block_constraints(
    sides: ThreadSides | None, rule: LaunchText, others: Iterable[Constraint], config: Config
) -> list[Constraint]:
    """Return the constraints on sizes by a block, beside ``others`` of the kernel.

    Where no size meets those of the ``sides``, the program leaves a part of C out, which its product shows.
    """
    found: list[Constraint] = [SizedBlock(rule)] if rule.block else []
    if sides is None:
        return found
    fixed = [Problem(each.m, each.n, each.k) for each in others if isinstance(each, FixedSizes)]
    tried = fixed or ([Problem(side, side, side) for side in SQUARES] if rule.block else [])
    several = [*found, OneBlock(sides, rule)]
    possible = not tried or any(all(not each.violation(problem, config) for each in several) for problem in tried)
    return several if possible else found


def thread_sides(body: Body, roles: Roles, by_columns: str) -> ThreadSides | None:
    """Return the sides of C that the threads of one block cover; None if there are none, or that is unclear.

    ``by_columns`` contains the matrices that are stored by columns.
    """
    along, across = ("m", "n") if "C" not in by_columns else ("n", "m")
    lengths = (across, "ldc") if not roles.square else ("n", "ldc")
    strides = {name for name, role in roles.sizes.items() if role in lengths}
    indexes = [[*index] for index in body.indexes(roles.pointers["C"])]
    if roles.batch:
        indexes = [[term for term in index if "blockIdx.z" not in term] for index in indexes]
    found = {tuple(sorted(_sides(terms, strides, along, across).items())) for terms in indexes}
    axes = dict(found.pop()) if len(found) == 1 else {}
    return ThreadSides(axes, exact=not guards(body, {*roles.sizes})) if axes else None


def _sides(terms: Sequence[Term], strides: set[str], along: str, across: str) -> dict[str, str]:
    """Return the axis of the threads that are the only term of a side in an index, by the side."""
    with_stride = [term for term in terms if strides & {*term}]
    without = [term for term in terms if not strides & {*term}]
    parts = {along: with_stride, across: without} if with_stride else {"mn": without}
    factors = {side: [each for term in part for each in (*term, "") if each not in strides]
               for side, part in parts.items()}  # fmt: skip
    return {side: each[0][-1] for side, each in factors.items() if len(each) == 2 and each[0] in _INDEXES}


def _count(side: str, sizes: Mapping[str, int]) -> int:
    """Return the rows, columns or elements of a side."""
    return sizes["m"] * sizes["n"] if side == "mn" else sizes[side]

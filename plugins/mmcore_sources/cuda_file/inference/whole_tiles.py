"""Sizes that are whole tiles of a grid, such as 128 and 64 for ``n // 128, ceil(m / 64)``, and whole slices of k."""

from __future__ import annotations

import ast
import copy
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore.kernel.configs import Config
from mmcore.kernel.geometry import Dim3, ceil_div, uncut
from mmcore.kernel.problem import Problem
from mmcore_sources.cuda_file.inference.expressions import LaunchText, evaluate, names_in, parse_expressions

_LARGEST = 256  # of a tile; a grid may count several along one axis
_POWERS = tuple(1 << power for power in range(9))  # up to the largest tile
_LONG = 1 << 20  # a size of k that no lower limit in a grid exceeds
_MORE = 1.5  # of a grid that grows with the square of a size, as compared with one that grows with the size
_STEP = 128  # along k, which a grid does not divide; few kernels go along it in longer steps


def tiles(rule: LaunchText, problem: Problem, config: Config) -> dict[str, int]:
    """Return the rows and columns of the tiles that a grid divides C into, by the sizes "m" and "n"."""
    return tiles_of(rule, rule.values(problem, config))


def tiles_of(rule: LaunchText, values: Mapping[str, Any]) -> dict[str, int]:
    """Return the rows and columns of the tiles, from the values of the names in a grid, or as a kernel counts them."""
    found: dict[str, int] = {}
    parts = parse_expressions(rule.grid, "the grid")
    for part, inside in itertools.zip_longest(parts, rule.blocks_per_cluster):
        for name in names_in(part) & {"m", "n"} if part is not None else ():
            counts = _counts(part, values, name)
            if not any(counts):  # the product of two quotients is 0 if another size is small
                counts = _counts(part, {**values, "m": 2 * _LARGEST, "n": 2 * _LARGEST}, name)
            least = min(filter(None, counts), default=1)
            tile = _edge_of_elements(part, values, name) or counts.count(least)
            found[name] = max(found.get(name, 1), min(tile, _LARGEST) * (inside or 1))
    return found or dict(zip("mn", rule.tile or (), strict=False))


def _edge_of_elements(part: ast.expr, values: Mapping[str, Any], name: str) -> int:
    """Return the least size whose multiples fill the blocks that ``n * n // 256`` counts by elements; 0 for others.

    It is a power of two, as the threads of such a block usually are.
    """
    if not any(isinstance(each, ast.FloorDiv) for each in ast.walk(part)):
        return 0
    try:
        exact = _Exact().visit(copy.deepcopy(part))
        few, many = (evaluate(exact, {**values, name: size}) for size in (_LARGEST, 2 * _LARGEST))
        if not few or many / few < 2 * _MORE:
            return 0
        whole = (size for size in _POWERS
                 if not any(evaluate(exact, {**values, name: size * turn}) % 1 for turn in (1, 2, 3)))  # fmt: skip
        return next(whole, 0)
    except InvalidKernel:
        return 0


def divisor_of_k(rule: LaunchText, values: Mapping[str, Any]) -> int:
    """Return the number whose multiples as k a grid divides without a remainder where it rounds down; 1 for any."""
    return math.lcm(*(_divisor(each, values) for each in rule.rounded_down))


def covering_divisor_of_k(rule: LaunchText, values: Mapping[str, Any]) -> int:
    """Return the number whose multiples as k a grid divides without a remainder, also where it rounds up."""
    nodes = (each for part in parse_expressions(rule.grid, "the grid") for each in ast.walk(part))
    return math.lcm(*(_divisor(each, values) for each in nodes if isinstance(each, ast.BinOp)))


def _divisor(quotient: ast.BinOp, values: Mapping[str, Any]) -> int:
    """Return the number whose multiples as k make a quotient whole; 1 if it is none of k alone."""
    if "k" not in names_in(quotient.left) or names_in(quotient) & {"m", "n"}:
        return 1
    exact = _Exact().visit(copy.deepcopy(quotient))
    try:
        parts, more = (Fraction(evaluate(exact, {**values, "k": size})) for size in (_LONG, _LONG + 1))
    except InvalidKernel:
        return 1
    return (more - parts).denominator


class _Exact(ast.NodeTransformer):
    """A change of quotients that are rounded down to exact ones."""

    def visit_FloorDiv(self, node: ast.FloorDiv) -> ast.Div:
        return ast.Div()


def _counts(part: ast.expr, values: Mapping[str, Any], name: str) -> list[int]:
    """Return the blocks along an axis for a size of 1 and more; none if they are unknown."""
    try:
        return [int(evaluate(part, {**values, name: size})) for size in range(1, 2 * _LARGEST)]
    except InvalidKernel:
        return []


def whole(rule: LaunchText, problem: Problem, config: Config, *, equal: str) -> Problem:
    """Return the least problem from this size on of whole tiles, with ``equal`` sizes, without gaps between rows."""
    sizes = {name: getattr(problem, name) for name in "mnk"}
    found = tiles(rule, problem, config)
    sizes |= {name: ceil_div(sizes[name], tile) * tile for name, tile in found.items()}
    divisor = divisor_of_k(rule, rule.values(problem, config))
    step = divisor if divisor > 1 else min(max(found.values(), default=1), _STEP)
    sizes["k"] = ceil_div(sizes["k"], step) * step
    sizes |= dict.fromkeys(equal, max((sizes[name] for name in equal), default=0))
    return replace(problem, **sizes, lda=0, ldb=0, ldc=0)


@dataclass(frozen=True)
class GridConstraint:
    """A constraint on the grid of a launch rule, which sizes of whole tiles meet."""

    rule: LaunchText
    equal: str

    def _enough(self, problem: Problem, config: Config) -> str:
        """Return the option with the least size from this one on that is allowed, as a clause."""
        asked = whole(self.rule, problem, config, equal=self.equal)
        return f"--size {asked.m}x{asked.n}x{asked.k} is enough"


class WholeClusters(GridConstraint):
    """A constraint: the grid is a whole number of clusters."""

    @property
    def description(self) -> str:
        inside = "×".join(map(str, self.rule.blocks_per_cluster))
        return f"the grid {self.rule.grid} is a whole number of clusters of {inside}"

    @property
    def advice(self) -> str:
        """The change of a program that makes the clusters whole at every size."""
        pairs = zip("xyz", self.rule.blocks_per_cluster, strict=False)
        several = " and ".join(f"{inside} along {axis}" for axis, inside in pairs if inside > 1)
        return f"round its blocks up to a multiple of {several}"

    def violation(self, problem: Problem, config: Config) -> str | None:
        reason = self.cut(problem, config)
        return f"{reason}; {self._enough(problem, config)}" if reason else None

    def cut(self, problem: Problem, config: Config) -> str:
        """Return why the grid of a problem cannot be cut into clusters, as a clause; "" if it can be."""
        return uncut(Dim3(*self.rule.blocks(problem, config)), Dim3(*self.rule.blocks_per_cluster))


class SomeBlock(GridConstraint):
    """A constraint: the grid has a block along each axis, which a launch that rounds down lacks for small sizes."""

    @property
    def description(self) -> str:
        return f"the grid {self.rule.grid} is not empty"

    def violation(self, problem: Problem, config: Config) -> str | None:
        grid = self.rule.blocks(problem, config)
        if min(grid) > 0:
            return None
        size, empty = f"{problem.m}×{problem.n}×{problem.k}", "×".join(map(str, grid))
        text = f"the launch rounds the grid {self.rule.grid} down to {empty} for {size}"
        return f"{text}; {self._enough(problem, config)}"

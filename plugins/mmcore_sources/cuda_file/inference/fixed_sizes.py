"""Sizes that a source fixes by macros and constants, and the smaller ones that it is compiled for, too."""

from __future__ import annotations

import ast
import functools
import itertools
import math
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.kernel.sizes import Sizes
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.body import Body, built_in
from mmcore_sources.cuda_file.inference.expressions import (
    LaunchText,
    config_values,
    evaluate,
    names_in,
    parse_expressions,
)
from mmcore_sources.cuda_file.inference.free_sizes import edges_of_tiles
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel
from mmcore_sources.cuda_file.inference.storage import strides_of

_LEAST = 64  # of the sizes of a smaller product
_SMALL = 256  # a size that is kept where others are shortened
_STEP = 128  # that most tiles divide, which leaves their remainders as they are


@dataclass(frozen=True)
class FixedSizes:
    """A constraint: the source is written for one m, n and k.

    With a ``rule``, it can also be compiled for smaller sizes: these shortened by whole tiles, which keeps their
    remainders, or divided by a power of two. The blocks of the grid are fewer in proportion. It is compiled for other
    sizes that are ``asked`` for if the grid grows with them. Those ``of_one`` constant, such as "mn", are to be equal.
    """

    m: int
    n: int
    k: int
    rule: LaunchText | None = None
    asked: Sizes | None = None
    of_one: str = ""

    @property
    def description(self) -> str:
        return f"m×n×k = {self.m}×{self.n}×{self.k}, which the source fixes"

    @property
    def option(self) -> str:
        """The option that asks for the source's own sizes."""
        return f"--size {self.m}" if self.m == self.n == self.k else f"--size {self.m}x{self.n}x{self.k}"

    def why_smaller(self, *sizes: int) -> str:
        """Return that the source fixes larger sizes than some, with the option for its own; empty for its own."""
        own = self.m, self.n, self.k
        return "" if sizes == own else f"the source fixes {'×'.join(map(str, own))}, which {self.option} tries"

    def note(self, names: Iterable[str]) -> Note:
        """Return the note on sizes that constants of these names fix."""
        shown, why = f"{self.m}×{self.n}×{self.k}", f"the source fixes {', '.join(names)}"
        if self.rule is None:
            return Note("sizes", shown, why, "")
        return Note("sizes", f"{shown} or smaller", f"{why}; redefined for a smaller product", self.option)

    def violation(self, problem: Problem, config: Config) -> str | None:
        sizes = problem.m, problem.n, problem.k
        if sizes == (self.m, self.n, self.k) or sizes in _smaller(self, config):
            return None
        fits = sizes == self.asked and len({getattr(problem, size) for size in self.of_one}) <= 1
        if fits and self.rule and _grows_with_sizes(self.rule, config, {"m": self.m, "n": self.n, "k": self.k}):
            return None
        smaller = _smaller(self, config)
        m, n, k = smaller[-1] if smaller else (self.m, self.n, self.k)
        fixed = f"m×n×k = {self.m}×{self.n}×{self.k}; --size {m}x{n}x{k} "
        return f"{problem} is not what the source fixes, {fixed}{'is compiled instead' if smaller else 'asks for that'}"

    def nearest(self, problem: Problem, config: Config) -> tuple[int, int, int]:
        """Return the m, n and k that it allows whose work is nearest to that of a problem."""
        work = problem.m * problem.n * problem.k
        several = ((self.m, self.n, self.k), *_smaller(self, config))
        return min(several, key=lambda sizes: abs(math.prod(sizes) - work))


def compiled_for(kernel: Kernel, sizes: Sizes) -> Kernel:
    """Return a kernel that is compiled for sizes that the user names, if its source can be; else the same one."""
    several = (replace(each, asked=sizes) if isinstance(each, FixedSizes) else each for each in kernel.constraints)
    return replace(kernel, constraints=tuple(several))


@functools.lru_cache(maxsize=256)
def _smaller(fixed: FixedSizes, config: Config) -> tuple[tuple[int, int, int], ...]:
    """Return the smaller sizes that a source can be compiled for, in descending order."""
    own = fixed.m, fixed.n, fixed.k
    found: dict[tuple[int, int, int], None] = {}
    factor, step = 2, math.lcm(_STEP, *config.block)
    while fixed.rule and max(own) // factor >= _LEAST:
        several = [_shortened(own, factor, step), _divided(own, factor)]
        several = [each for each in several if each not in (own, *found) and _are_large(each, own)]
        fitting = (each for each in several if _has_as_many_blocks(fixed.rule, config, own, each, step))
        found |= dict.fromkeys(itertools.islice(fitting, 1))
        factor *= 2
    return tuple(found)


def _grows_with_sizes(rule: LaunchText, config: Config, own: Mapping[str, int]) -> bool:
    """Return whether the grid depends on the rows and columns of C, and each axis on one of them or has one block."""
    parts = parse_expressions(rule.grid, "the grid")
    fixed = [each for each in parts if names_in(each).isdisjoint(own)]
    grown = {size for name, size in own.items() for each in parts if name in names_in(each)}
    return {own["m"], own["n"]} <= grown and all(evaluate(each, config_values(config)) == 1 for each in fixed)


def _has_as_many_blocks(
    rule: LaunchText, config: Config, own: tuple[int, int, int], small: tuple[int, int, int], step: int
) -> bool:
    """Return whether the blocks of each axis of the grid are fewer in proportion to the sizes."""
    values = config_values(config)

    def blocks(part: ast.expr, sizes: Iterable[int]) -> Any:
        return evaluate(part, {**values, **dict(zip("mnk", sizes, strict=True))})

    try:
        for part in parse_expressions(rule.grid, "the grid"):
            roles = [position for position, role in enumerate("mnk") if role in names_in(part)]
            whole, fewer = blocks(part, own), blocks(part, small)
            of_own, of_small = (math.prod(each[role] for role in roles) for each in (own, small))
            if fewer == whole or fewer * of_own == whole * of_small:
                continue
            steps = {(own[role] - small[role]) / step for role in roles}
            of_step = whole - blocks(part, (size - step for size in own))
            if len(roles) != 1 or steps != {(whole - fewer) / of_step if of_step else 0}:
                return False
    except InvalidKernel:
        return False
    return True


def _divided(sizes: tuple[int, int, int], factor: int) -> tuple[int, int, int]:
    """Return sizes divided by a factor; the same if one of them is no multiple of it."""
    m, n, k = sizes
    return sizes if any(size % factor for size in sizes) else (m // factor, n // factor, k // factor)


def _shortened(sizes: tuple[int, int, int], factor: int, step: int) -> tuple[int, int, int]:
    """Return sizes with a fraction of their whole steps and with the same remainders; small ones as they are."""

    def shortened(size: int) -> int:
        steps = max(size // (step * factor), size % step < _LEAST)
        return min(size, size % step + steps * step) if size > _SMALL else size

    m, n, k = map(shortened, sizes)
    return m, n, k


def _are_large(sizes: tuple[int, ...], own: tuple[int, ...]) -> bool:
    """Return whether sizes are large enough, and in the same order as the source's own."""
    large = all(size >= _LEAST or size == whole for size, whole in zip(sizes, own, strict=True))
    return large and _ranks(sizes) == _ranks(own)


def _ranks(sizes: tuple[int, ...]) -> list[int]:
    return [sum(size > other for other in sizes) for size in sizes]


def fixed_sizes(kernel: SourceKernel, matrices: Mapping[str, str]) -> tuple[dict[str, str], FixedSizes] | None:
    """Return the role of each constant that the indexes use, and the sizes that they fix; None if there are none.

    Other names of a constant have its role. A constant that is several sizes has the last role of m, k and n.
    """
    body, known, edges = kernel.body, kernel.constants, edges_of_tiles(kernel)

    def stride(matrix: str) -> str | None:
        # The edge of a tile is a factor of the index, too, but rows are longer in most programs.
        factors = strides_of(body, matrices[matrix], set(known))
        longer = factors - edges or strides_of(body, matrices[matrix], known.keys() - edges)
        name = max(longer or factors, key=known.__getitem__, default=None)
        return None if name is None else kernel.original(name)

    of_a, of_b = stride("A"), stride("B")
    if of_a is None or of_b is None:
        return None
    # Both steps are k if B is stored by columns.
    of_n = (stride("C") or of_b) if of_a == of_b else of_b
    # The name first: a guard with another size is a common mistake.
    of_m = next((name for name in ("M", "m") if name in known.keys() - {of_n, of_a}), "")
    for of_c in (of_n, stride("C")):  # an index with another length of C's rows is a common mistake, too
        of_m = of_m or (limit_of_rows(body, matrices["C"], of_c, known) if of_c else "")
    of_m = kernel.original(of_m) or _rows_of_grid(kernel, matrices["C"], of_n) or of_n
    names, roles = (of_m, of_n, of_a), {of_m: "m", of_a: "k", of_n: "n"}
    roles |= {name: roles[kernel.original(name)] for name in known if kernel.original(name) in roles}
    of_one = "".join(size for size, name in zip("mnk", names, strict=True) if names.count(name) > 1)
    return roles, FixedSizes(known[of_m], known[of_n], known[of_a], of_one=of_one)


def _rows_of_grid(kernel: SourceKernel, c: str, stride: str) -> str:
    """Return the constant that the blocks along the rows of C are made of; empty unless the columns' are, too."""
    known, launch = kernel.constants, kernel.launch
    rows = row_axes(kernel, c, stride)
    if launch is None or not launch.geometry or len(rows) != 1:
        return ""
    originals = {name: ast.Name(name) for name in map(kernel.original, known)}
    reader = Reader.of(kernel.source, launch, originals)
    try:
        x, y = (
            {name for name in known if _grows(each, known, name)} for each in reader.extents(launch.geometry[0])[:2]
        )
    except (InvalidKernel, ValueError):
        return ""
    of_rows, of_columns = (x, y) if rows == {"x"} else (y, x)
    return max(of_rows, key=known.__getitem__, default="") if stride in of_columns else ""


def row_axes(kernel: SourceKernel, c: str, stride: str) -> set[str]:
    """Return the axes of the grid, x or y, along which the blocks go over the rows of C, by the length of these."""
    indexes = kernel.body.indexes(c)
    terms = (term for index in indexes for term in index if stride in map(kernel.original, term))
    return {axis for term in terms for kind, axis in built_in(term) if kind == "blockIdx"} & {*"xy"}


def _grows(extent: ast.expr, known: Mapping[str, int], name: str) -> bool:
    """Return whether an extent of a grid grows with a constant, as with n and not with the edge of a tile."""
    larger = {**known, name: 2 * known[name]}
    return name in names_in(extent) and evaluate(extent, larger) > evaluate(extent, known)


def limit_of_rows(body: Body, c: str, stride: str, known: Container[str]) -> str:
    """Return the constant that the rows of C are compared with, as in ``if (row < M)``; empty without one."""
    return next((limit for limit, of_rows in limits(body, c, stride) if of_rows and limit in known), "")


def limits(body: Body, c: str, stride: str) -> Iterator[tuple[str, bool]]:
    """Yield the upper limit of each comparison, and whether it limits the rows of C, whose length is ``stride``."""
    stored = {frozenset(term) for index in body.indexes(c) for term in index}
    for left, right in body.guards:
        yield text_of(right), {frozenset((*term, stride)) for term in body.terms(left)} <= stored

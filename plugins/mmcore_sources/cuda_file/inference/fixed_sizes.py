"""Sizes that a source fixes by macros and constants; a source can also be compiled for smaller ones."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from mmcore.errors import InvalidKernel
from mmcore.kernel.configs import Config
from mmcore.kernel.problem import Problem
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.body import Body, built_in
from mmcore_sources.cuda_file.inference.expressions import (
    LaunchText,
    evaluate,
    launch_values,
    names_in,
    parse_expressions,
)
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel
from mmcore_sources.cuda_file.inference.storage import strides_of

_LEAST = 64  # of the sizes of a smaller product
_CONSTANT = r"(?:(?:static|inline|const|constexpr) )+(?:int|unsigned|size_t|auto) +{0} *= *"
_DEFINED = rf"^([ \t]*(?:#[ \t]*define[ \t]+{{0}}[ \t]+\(?|{_CONSTANT}))(\d+)(?= *\)? *(?:[;,]|/[/*]|$))"


@dataclass(frozen=True)
class FixedSizes:
    """A constraint: the source is written for one m, n and k.

    With a ``rule``, it can also be compiled for sizes divided by a power of two, whose blocks are fewer in proportion.
    """

    m: int
    n: int
    k: int
    rule: LaunchText | None = None

    @property
    def description(self) -> str:
        return f"m×n×k = {self.m}×{self.n}×{self.k}, which the source fixes"

    def note(self, names: Iterable[str]) -> Note:
        """Return the note on sizes that constants of these names fix."""
        shown, why = f"{self.m}×{self.n}×{self.k}", f"the source fixes {', '.join(names)}"
        if self.rule is None:
            return Note("sizes", shown, why, "")
        return Note("sizes", f"{shown}, or 1/2, 1/4, … of these", f"{why}; it is compiled for the product's", "--size")

    def violation(self, problem: Problem, config: Config) -> str | None:
        sizes = problem.m, problem.n, problem.k
        if sizes == (self.m, self.n, self.k) or sizes in self._smaller(problem, config):
            return None
        smaller = self._smaller(problem, config)
        m, n, k = smaller[-1] if smaller else (self.m, self.n, self.k)
        fixed = f"m×n×k = {self.m}×{self.n}×{self.k}; --size {m}x{n}x{k} "
        return f"{problem} is not what the source fixes, {fixed}{'is compiled instead' if smaller else 'asks for that'}"

    def nearest(self, problem: Problem, config: Config) -> tuple[int, int, int]:
        """Return the m, n and k that it allows whose work is nearest to that of a problem."""
        work = problem.m * problem.n * problem.k
        several = ((self.m, self.n, self.k), *self._smaller(problem, config))
        return min(several, key=lambda sizes: abs(math.prod(sizes) - work))

    def _smaller(self, problem: Problem, config: Config) -> list[tuple[int, int, int]]:
        """Return the smaller sizes, in descending order."""
        found: list[tuple[int, int, int]] = []
        factor, several = 2, (self.m, self.n, self.k)
        while self.rule and not any(size % factor for size in several) and min(several) // factor >= _LEAST:
            sizes = tuple(size // factor for size in several)
            if not self._divides(problem, config, sizes, factor):
                break
            found.append((sizes[0], sizes[1], sizes[2]))
            factor *= 2
        return found

    def _divides(self, problem: Problem, config: Config, sizes: tuple[int, ...], factor: int) -> bool:
        """Return whether each part of the grid that depends on a size is divided by the factor, too."""
        assert self.rule is not None
        values = launch_values(problem, config)
        whole = {**values, "m": self.m, "n": self.n, "k": self.k}
        small = {**values, **dict(zip("mnk", sizes, strict=True))}
        try:
            for part in parse_expressions(self.rule.grid, "the grid"):
                blocks, fewer = evaluate(part, whole), evaluate(part, small)
                if fewer != blocks and fewer * factor != blocks:
                    return False
        except InvalidKernel:
            return False
        return True


@dataclass(frozen=True)
class FixedDepth:
    """A constraint: the source is written for one k, the length of the rows of A."""

    k: int

    @property
    def description(self) -> str:
        return f"k = {self.k}, which the source fixes"

    def violation(self, problem: Problem, config: Config) -> str | None:
        return None if problem.k == self.k else f"k is {problem.k}, but the source fixes it as {self.k}"

    def nearest(self, problem: Problem, config: Config) -> tuple[int, int, int]:
        """Return the sizes of a problem with the k that is allowed."""
        return problem.m, problem.n, self.k


def fixed_depth(kernel: SourceKernel, roles: Roles) -> tuple[str, FixedDepth] | None:
    """Return the constant that is the length of A's rows beside sizes that are passed, and the k that it fixes.

    None if a size that is passed is that length, or if there is no such constant.
    """
    body, sizes, a = kernel.body, set(roles.sizes), roles.pointers["A"]
    if (
        {"k", "lda"} & {*roles.sizes.values()}
        or strides_of(body, a, sizes)
        or not strides_of(body, roles.pointers["B"], sizes)
    ):
        return None
    known = kernel.constants
    name = max(strides_of(body, a, set(known)), key=known.__getitem__, default="")
    return (name, FixedDepth(known[name])) if name else None


def fixed_sizes(kernel: SourceKernel, matrices: Mapping[str, str]) -> tuple[dict[str, str], FixedSizes] | None:
    """Return the role of each constant that the indexes use, and the sizes that they fix; None if there are none.

    A constant that is several sizes has the last role of m, k and n.
    """
    body, known = kernel.body, kernel.constants

    def stride(matrix: str) -> str | None:
        # The edge of a tile is a factor of the index, too, but rows are longer.
        return max(strides_of(body, matrices[matrix], set(known)), key=known.__getitem__, default=None)

    of_a, of_b = stride("A"), stride("B")
    if of_a is None or of_b is None:
        return None
    # Both steps are k if B is stored by columns.
    of_n = (stride("C") or of_b) if of_a == of_b else of_b
    of_m = _limit_of_rows(body, matrices["C"], of_n, known) or _rows_of_grid(kernel, matrices["C"], of_n)
    of_m = of_m or next((name for name in ("M", "m") if name in known), of_n)
    roles = {of_m: "m", of_a: "k", of_n: "n"}
    return roles, FixedSizes(known[of_m], known[of_n], known[of_a])


def _rows_of_grid(kernel: SourceKernel, c: str, stride: str) -> str:
    """Return the constant that the blocks along the rows of C are made of; empty unless the columns' are, too."""
    known, launch = kernel.constants, kernel.launch
    rows = {axis for index in kernel.body.indexes(c) for term in index if stride in term
            for kind, axis in built_in(term) if kind == "blockIdx"}  # fmt: skip
    if launch is None or not launch.geometry or len(rows & {*"xy"}) != 1:
        return ""
    reader = Reader.of(kernel.source, launch, {name: ast.Name(name) for name in known})
    try:
        x, y = (
            {name for name in known if _grows(each, known, name)} for each in reader.extents(launch.geometry[0])[:2]
        )
    except (InvalidKernel, ValueError):
        return ""
    of_rows, of_columns = (x, y) if rows == {"x"} else (y, x)
    return max(of_rows, key=known.__getitem__, default="") if stride in of_columns else ""


def _grows(extent: ast.expr, known: Mapping[str, int], name: str) -> bool:
    """Return whether an extent of a grid grows with a constant, as with n and not with the edge of a tile."""
    larger = {**known, name: 2 * known[name]}
    return name in names_in(extent) and evaluate(extent, larger) > evaluate(extent, known)


def _limit_of_rows(body: Body, c: str, stride: str, known: Container[str]) -> str:
    """Return the constant that the rows of C are compared with, as in ``if (row < M)``; empty without one."""
    stored = {frozenset(term) for index in body.indexes(c) for term in index}
    for left, right in body.guards:
        rows = {frozenset((*term, stride)) for term in body.terms(left)}
        if rows <= stored and text_of(right) in known:
            return text_of(right)
    return ""


def with_free_sizes(text: str, roles: Mapping[str, str]) -> tuple[str, dict[str, str]] | None:
    """Return a source whose sizes are macros, and their definitions; None unless its lines define each as a number."""
    defines = {}
    for name, role in roles.items():
        definitions = list(re.finditer(_DEFINED.format(re.escape(name)), text, re.MULTILINE))
        if len(definitions) != 1:
            return None
        (begin, end), macro = definitions[0].span(2), f"MMCORE_{name.upper()}"
        text = f"{text[:begin]}{macro}{text[end:]}"
        defines[macro] = f"{{{role}}}"
    return text, defines

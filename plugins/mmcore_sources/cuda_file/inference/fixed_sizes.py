"""Kernels without size parameters, whose sizes are macros or constants of the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mmcore.kernel.configs import Config
from mmcore.kernel.problem import Problem
from mmcore_cuda.cuda_source.program import Program
from mmcore_sources.cuda_file.inference.body import Body, strides_of
from mmcore_sources.cuda_file.inference.host_code import Reader, Unreadable, constant, parse_expression


@dataclass(frozen=True)
class FixedSizes:
    """A constraint: the source is written for one m, n and k."""

    m: int
    n: int
    k: int

    @property
    def description(self) -> str:
        return f"m×n×k = {self.m}×{self.n}×{self.k}, which the source fixes"

    def violation(self, problem: Problem, config: Config) -> str | None:
        if (problem.m, problem.n, problem.k) == (self.m, self.n, self.k):
            return None
        fixed = f"m×n×k = {self.m}×{self.n}×{self.k}; --size {self.m}x{self.n}x{self.k} asks for that"
        return f"{problem} is not what the source fixes, {fixed}"


def fixed_sizes(source: Program, body: Body, matrices: Mapping[str, str]) -> tuple[dict[str, str], FixedSizes] | None:
    """Return the role of each constant that the indexes use, and the sizes that they fix; None if there are none."""
    known: dict[str, int] = {}
    for name in (*source.macros, *source.constants):
        try:
            number = constant(Reader(source).number(parse_expression(name)))
        except Unreadable:
            continue
        if number:
            known[name] = number

    def stride(matrix: str) -> str | None:
        # The edge of a tile is a factor of the index, too, but rows are longer.
        return max(strides_of(body, matrices[matrix], set(known)), key=known.__getitem__, default=None)

    of_a, of_b = stride("A"), stride("B")
    if of_a is None or of_b is None:
        return None
    of_m = next((name for name in ("M", "m") if name in known), of_b)
    roles = {of_m: "m", of_a: "k", of_b: "n"}
    return roles, FixedSizes(known[of_m], known[of_b], known[of_a])

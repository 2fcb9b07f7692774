"""The products of a kernel whose source fixes their sizes, which need not be near a block's."""

from __future__ import annotations

from collections.abc import Iterable

from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import FixingConstraint
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.kernel.sizes import size_text
from mmcore_tools.conform.outcome import Case

_EDGES = [1 << shift for shift in range(14)]
_MOST_NAMED = 4  # sizes


def fixed_products(kernel: Kernel, config: Config) -> list[Problem]:
    """Return the products of the sizes that a source fixes, or can be compiled for; none if m and n are free."""
    cubes = (kernel.problem(edge, edge, edge) for edge in _EDGES)
    pairs = [(cube, kernel.with_fixed_sizes(cube, config)) for cube in cubes]
    fixes_rows = any((cube.m, cube.n) != (fixed.m, fixed.n) for cube, fixed in pairs)
    return list(dict.fromkeys(fixed for _, fixed in pairs)) if fixes_rows else []


def tested_sizes(kernel: Kernel, cases: Iterable[Case]) -> str:
    """Return the sizes that a source fixes and those of the tested cases, in words; empty if it fixes none."""
    fixed = next((each.description for each in kernel.constraints if isinstance(each, FixingConstraint)), "")
    sizes = dict.fromkeys(size_text(vars(each.cell)) for each in cases)
    return f"{fixed}; tested at {' and '.join(sizes)}" if fixed and len(sizes) <= _MOST_NAMED else fixed

"""Problems and configs on either side of a kernel's constraints, found from the constraints alone."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from mmcore import BlockAmong, Config, Constraint, FlatBlock, Int32Index, Kernel, Multiple, Problem, Square, SquareBlock

LARGEST = 48
THREADS = 1024


@st.composite
def configs(draw: st.DrawFn, kernel: Kernel) -> Config:
    """Draw a config that the kernel's constraints allow, with a block of at most 1024 threads."""
    kinds = {type(constraint): constraint for constraint in kernel.constraints}
    among = kinds.get(BlockAmong)
    if isinstance(among, BlockAmong):
        return kernel.config(draw(st.sampled_from(among.shapes)))
    x = draw(st.integers(1, 32))
    if SquareBlock in kinds:
        return kernel.config((x, x))
    assert FlatBlock in kinds, f"{kernel.name} says nothing of its blocks"
    return kernel.config((x, draw(st.integers(1, min(THREADS // x, LARGEST)))))


@st.composite
def problems(draw: st.DrawFn, kernel: Kernel, config: Config) -> Problem:
    """Draw a problem of at most about 48 rows and columns that the kernel's constraints allow with this config."""
    steps = {"m": 1, "n": 1, "k": 1}
    for constraint in kernel.constraints:
        if isinstance(constraint, Multiple):
            for name in steps.keys() & set(constraint.sizes):
                steps[name] = math.lcm(steps[name], constraint.step(config))
    if any(isinstance(constraint, Square) for constraint in kernel.constraints):
        size = _multiple(draw, math.lcm(*steps.values()))
        sizes = (size, size, size)
    else:
        sizes = (_multiple(draw, steps["m"]), _multiple(draw, steps["n"]), _multiple(draw, steps["k"]))
    problem = kernel.problem(*sizes)
    assume(not kernel.violations(problem, config))
    return problem


def _multiple(draw: st.DrawFn, step: int) -> int:
    assume(step <= 2 * LARGEST)
    return step * draw(st.integers(1, max(1, LARGEST // step)))


@st.composite
def violating(draw: st.DrawFn, kernel: Kernel, constraint: Constraint) -> tuple[Problem, Config]:
    """Draw a problem and a config that violate one of the kernel's constraints."""
    block = draw(st.integers(1, 32)), draw(st.integers(1, 32)), draw(st.sampled_from((1, 1, 2)))
    assume(math.prod(block) <= THREADS)
    most = 200_000 if isinstance(constraint, Int32Index) else LARGEST
    sizes = [draw(st.integers(most // 2, most)) for _ in range(3)]
    if any(isinstance(each, Square) for each in kernel.constraints) and not isinstance(constraint, Square):
        sizes = [sizes[0]] * 3
    problem, config = kernel.problem(*sizes), kernel.config(block)
    assume(constraint.violation(problem, config) is not None)
    return problem, config


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
"""Any small JSON value."""


def put_anywhere(data: st.DataObject, content: Any, value: Any) -> None:
    """Replace a value somewhere in a JSON document."""
    place = content
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = value

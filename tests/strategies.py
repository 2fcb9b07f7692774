"""Problems and blocks on either side of a kernel's constraints, found from the constraints alone."""

from __future__ import annotations

import math

from hypothesis import assume
from hypothesis import strategies as st

from mmcore import BlockAmong, Constraint, Dim3, FlatBlock, Int32Index, Kernel, Multiple, Problem, Square, SquareBlock
from mmcore.kernel.geometry import dim3

LARGEST = 96
THREADS = 1024


@st.composite
def blocks(draw: st.DrawFn, kernel: Kernel) -> Dim3:
    """Blocks that the kernel's constraints allow, of at most 1024 threads."""
    kinds = {type(constraint): constraint for constraint in kernel.constraints}
    among = kinds.get(BlockAmong)
    if isinstance(among, BlockAmong):
        return dim3(draw(st.sampled_from(among.shapes)))
    x = draw(st.integers(1, 32))
    if SquareBlock in kinds:
        return Dim3(x, x)
    assert FlatBlock in kinds, f"{kernel.name} says nothing of its blocks"
    return Dim3(x, draw(st.integers(1, THREADS // x).filter(lambda y: y <= LARGEST)))


@st.composite
def problems(draw: st.DrawFn, kernel: Kernel, block: Dim3) -> Problem:
    """Problems of at most about 96 rows and columns that the kernel's constraints allow in these blocks."""
    steps = {"m": 1, "n": 1, "k": 1}
    for constraint in kernel.constraints:
        if isinstance(constraint, Multiple):
            for name in constraint.names:
                steps[name] = math.lcm(steps[name], constraint.step(block))
    if any(isinstance(constraint, Square) for constraint in kernel.constraints):
        steps = dict.fromkeys(steps, math.lcm(*steps.values()))
        size = _multiple(draw, steps["n"])
        sizes = (size, size, size)
    else:
        sizes = (_multiple(draw, steps["m"]), _multiple(draw, steps["n"]), _multiple(draw, steps["k"]))
    problem = kernel.problem(*sizes)
    assume(not kernel.refusals(problem, block))
    return problem


def _multiple(draw: st.DrawFn, step: int) -> int:
    assume(step <= 4 * LARGEST)
    return step * draw(st.integers(1, max(1, LARGEST // step)))


@st.composite
def refused(draw: st.DrawFn, kernel: Kernel, constraint: Constraint) -> tuple[Problem, Dim3]:
    """A problem and a block that break one of the kernel's constraints."""
    block = Dim3(draw(st.integers(1, 32)), draw(st.integers(1, 32)), draw(st.sampled_from((1, 1, 2))))
    assume(block.size <= THREADS)
    most = 200_000 if isinstance(constraint, Int32Index) else LARGEST
    sizes = [draw(st.integers(most // 2, most)) for _ in range(3)]
    if any(isinstance(each, Square) for each in kernel.constraints) and not isinstance(constraint, Square):
        sizes = [sizes[0]] * 3
    problem = kernel.problem(*sizes)
    assume(constraint.refusal(problem, block) is not None)
    return problem, block

"""Problems on both sides of a kernel's constraints, for the tests of a new package."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mmcore.errors import MmcoreError
from mmcore.kernel.geometry import Dim3, dim3
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.launch import Launch
from mmcore.kernel.properties import COMPUTE_9_0, DeviceProperties
from mmcore.planning.plan import plan

MOST_PER_BLOCK = 3
_UNEQUAL = ((5, 100, 33), (1, 1, 1), (67, 3, 18))
_BEYOND_INT32 = 48_000  # 48000² > 2³¹, and a multiple of most blocks' extents


@dataclass(frozen=True)
class Case:
    """A product in blocks of one shape, and why it is refused if it is.

    Attributes:
        block: threads per block.
        m, n, k: the sizes.
        reason: a part of the refusal; empty for a product that is allowed.
    """

    block: Dim3
    m: int
    n: int
    k: int
    reason: str = ""


def allowed(kernel: Kernel) -> list[Case]:
    """Some products that the kernel takes in each of its declared blocks, of unequal sizes where it can."""
    return [
        Case(block, *sizes)
        for block in dict.fromkeys(map(dim3, kernel.blocks))
        for sizes in itertools.islice(_allowed_sizes(kernel, block), MOST_PER_BLOCK)
    ]


def refused(kernel: Kernel) -> list[Case]:
    """For each constraint a product that it forbids, and if possible no other does.

    A kernel without any is refused blocks of more threads than there can be.
    """
    cases = [case for number in range(len(kernel.constraints)) if (case := _refused(kernel, number))]
    return cases or [Case(Dim3(2048), 64, 64, 64, "a 2048×1 block has 2048 threads")]


def same_launches(first: Kernel, second: Kernel, cases: Iterable[Case]) -> bool:
    """Whether two kernels' rules make the same launches of these products."""

    def launches(kernel: Kernel, case: Case) -> tuple[Launch, ...]:
        return plan(kernel, kernel.problem(case.m, case.n, case.k), case.block, _limits(kernel)).launches

    return all(launches(first, case) == launches(second, case) for case in cases)


def _allowed_sizes(kernel: Kernel, block: Dim3) -> Iterator[tuple[int, int, int]]:
    limits, seen = _limits(kernel), set()
    steps = (*block[:2], math.lcm(*block[:2]), 2 * max(block), 2, 4, 8, 16, 32, 64, 128)
    squares = (kernel.square_problem(least, block).n for least in (1, 40, 70))
    found = itertools.chain(
        _UNEQUAL,
        *(((step, 2 * step, 3 * step), (3 * step, step, 2 * step)) for step in steps),
        ((n, n, n) for n in squares),
    )
    for sizes in found:
        if sizes not in seen and _is_allowed(kernel, block, sizes, limits):
            seen.add(sizes)
            yield sizes


def _is_allowed(kernel: Kernel, block: Dim3, sizes: tuple[int, int, int], limits: DeviceProperties) -> bool:
    try:
        plan(kernel, kernel.problem(*sizes), block, limits)
    except MmcoreError:
        return False
    return True


def _refused(kernel: Kernel, number: int) -> Case | None:
    found = []
    for block, sizes in _candidates(kernel):
        problem = kernel.problem(*sizes)
        if reason := kernel.constraints[number].refusal(problem, block):
            found.append((len(kernel.refusals(problem, block)), Case(block, *sizes, reason)))
    return min(found, key=lambda each: each[0])[1] if found else None


def _candidates(kernel: Kernel) -> Iterator[tuple[Dim3, tuple[int, int, int]]]:
    """Products just beside one that is allowed, in its block and in blocks of other shapes."""
    first = dim3(kernel.blocks[0])
    m, n, k = next(_allowed_sizes(kernel, first), (64, 64, 64))
    beside = [(m, n, k), (m + 1, n, k), (m, n + 1, k), (m, n, k + 1), (2 * m, n, k), (n + 1, n + 1, n + 1)]
    for sizes in (*beside, (_BEYOND_INT32,) * 3):
        for block in (first, _two_layers(first), Dim3(first.x, max(1, first.y // 2)), Dim3(first.x // 2 or 2, first.y)):
            yield block, sizes


def _two_layers(block: Dim3) -> Dim3:
    """A block of two layers with as many threads, or hardly more."""
    return Dim3(max(1, block.x // 2), block.y, 2)


def _limits(kernel: Kernel) -> DeviceProperties:
    return replace(COMPUTE_9_0, compute_capability=max(COMPUTE_9_0.compute_capability, kernel.min_compute_capability))

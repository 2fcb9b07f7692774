"""The code of a kernel that values of A and B decide about, at all sizes that reach other code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import MmcoreError
from mmcore.kernel.problem import Problem
from mmcore.verdict import BY_VALUE
from mmcore_emulator.adapter.device import EmulatedModule
from mmcore_emulator.adapter.proof import prove_loaded
from mmcore_emulator.executor.coverage import Coverage, Place

OF_VALUES = ("branch", "address")
"""The kinds of reasons against a proof that a value of A or B decides what is computed."""

MOST_PROVED = 1 << 18
"""The largest m·n·k of a product that is proved in about a second."""

_OPAQUE = "opaque"  # the kind of a reason that the proof does not follow a value


class ReachedCode:
    """The code that the run of each size has reached."""

    def __init__(self) -> None:
        self._of: dict[Problem, Coverage] = {}

    @contextmanager
    def recorded(self, problem: Problem, module: EmulatedModule) -> Iterator[None]:
        """Record what a module executes in a ``with`` statement, the run of a size."""
        before, module.coverage = module.coverage, Coverage()
        try:
            yield
        finally:
            self._of.setdefault(problem, Coverage()).update(module.coverage)
            before.update(module.coverage)
            before.work += module.coverage.work
            module.coverage = before

    def first_at(self, line: int) -> Problem | None:
        """Return the first size whose run came to a branch in a line; None if none did."""
        return next((problem for problem, reached in self._of.items() if line in _lines_of_branches(reached)), None)

    def cover(self, problems: Sequence[Problem]) -> Iterator[Problem]:
        """Yield small sizes among some that reach together what all small ones reach, those without a 1 first."""
        covered: set[object] = set()
        small = [each for each in problems if each.m * each.n * each.k <= MOST_PROVED]
        for problem in sorted(small, key=lambda each: (min(each.m, each.n, each.k) == 1, each.m * each.n * each.k)):
            reached = _parts(self._of.get(problem, Coverage()))
            if not reached <= covered:
                covered |= reached
                yield problem


def _lines_of_branches(reached: Coverage) -> set[int]:
    return {line for ((_, line), _), ways in reached.branches.items() if any(each.taken for each in ways)}


def _parts(reached: Coverage) -> set[object]:
    """Return the executed lines, and the directions taken at branches."""
    lines: set[Place] = {place for place, executed in reached.lines.items() if executed}
    ways = {(key, way) for key, both in reached.branches.items() for way, each in enumerate(both) if each.taken}
    return {*lines, *ways}


def dependences(kernels: Iterable[LoadedKernel], seed: int) -> tuple[Violation, ...]:
    """Prove a kernel that is loaded for several sizes, and return what values of A and B decide about.

    Each line is named once, with its first size. A value that is not followed counts where it is not at all sizes: a
    function of each element, which the kernel applies everywhere, decides about nothing.
    """
    found: dict[object, list[Violation]] = {}
    count = 0
    for loaded in kernels:
        with suppress(MmcoreError), loaded:
            proof = prove_loaded(loaded, seed)
            count += 1
            for each in (each for each in proof.reasons if each.kind in (*OF_VALUES, _OPAQUE)):
                message = f"at {loaded.plan.problem}, {each.message}, {BY_VALUE}"
                place = (each.kind, each.source, each.line)
                found.setdefault(place, []).append(replace(each, message=message, array=None, count=None))
    return tuple(same[0] for same in found.values() if same[0].kind in OF_VALUES or len(same) < count)

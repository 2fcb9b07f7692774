"""The multiples that the sizes of a file's kernel have to be, found by small products on the emulator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmcore.cell import Cell
from mmcore.kernel.constraints import EqualSizes, FixingConstraint, Multiple, equal_sizes
from mmcore.kernel.declaration import Kernel
from mmcore.registry import referenced_kernel
from mmcore_sources.cuda_file.hints.tried_cells import TRIED_SECONDS, at_sizes, is_checked
from mmcore_sources.cuda_file.hints.whole_cells import whole_cell

_SIZES = (32, 64, 96)


def right_multiples(reference: Mapping[str, Any], known: Sequence[Multiple]) -> dict[str, int]:
    """Return the steps of the sizes at which a kernel is right that is right for whole tiles, less the known ones.

    Empty if the source has a condition on its sizes, or if no such steps are found.
    """
    kernel = referenced_kernel(reference)
    fixing = (each for each in kernel.constraints if isinstance(each, FixingConstraint))
    if kernel.program_sizes or any(not isinstance(each, EqualSizes) for each in fixing):
        return {}
    equal = equal_sizes(kernel.constraints)
    usual = Cell(kernel=reference, m=64, n=64, k=64, device="emulator", config=dict(kernel.usual_configs[0]),
                 timings=(), timeout=TRIED_SECONDS)  # fmt: skip
    cell = usual if equal == "mnk" else at_sizes(usual, kernel, *_SIZES)
    trial = _Trial(kernel, tuple(known), whole_cell(cell, kernel) or cell)
    groups = [*filter(None, [equal]), *(name for name in "mnk" if name not in equal)]
    allowed = {group: trial.least_step(group, trial.is_allowed) for group in groups}
    if trial.is_right(allowed) or not trial.is_right({}):
        return {}
    steps = {group: trial.least_step(group, trial.is_right, allowed[group]) for group in groups}
    if not trial.is_right(steps):
        return {}
    return {name: step for group, step in steps.items() if step != allowed[group] for name in group}


@dataclass(frozen=True)
class _Trial:
    """A trial of sizes that exceed those of whole tiles by some steps."""

    kernel: Kernel
    known: tuple[Multiple, ...]
    tiles: Cell

    def _cell(self, steps: Mapping[str, int]) -> Cell:
        more = {name: step for group, step in steps.items() for name in group}
        return at_sizes(self.tiles, self.kernel, *(getattr(self.tiles, name) + more.get(name, 0) for name in "mnk"))

    def is_allowed(self, steps: Mapping[str, int]) -> bool:
        """Return whether the constraints allow the sizes."""
        cell = self._cell(steps)
        problem, config = cell.problem(self.kernel), cell.config_of(self.kernel)
        return not any(each.violation(problem, config) for each in (*self.kernel.constraints, *self.known))

    def is_right(self, steps: Mapping[str, int]) -> bool:
        """Return whether the product is right, without hazards at these sizes."""
        return is_checked(self._cell(steps))

    def least_step(self, group: str, holds: Callable[[Mapping[str, int]], bool], usual: int = 1) -> int:
        """Return the usual step of some sizes if it holds, else a divisor of the tiles' of which no divisor does."""
        if holds({group: usual}):
            return usual
        step = math.gcd(*(getattr(self.tiles, name) for name in group))
        for prime in _prime_factors(step):
            while step % prime == 0 and holds({group: step // prime}):
                step //= prime
        return step


def _prime_factors(number: int) -> Iterator[int]:
    """Yield the prime factors of a number, each once."""
    for factor in range(2, number + 1):
        if number % factor == 0:
            yield factor
            while number % factor == 0:
                number //= factor

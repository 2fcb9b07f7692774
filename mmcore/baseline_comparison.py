"""What a kernel is compared with in the same run: a library's product, or another version of its source."""

from __future__ import annotations

import fnmatch
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmcore.cell import LIBRARY, Cell
from mmcore.kernel.declaration import Kernel
from mmcore.plugins import instance_of
from mmcore.registry import registry
from mmcore.timing import Time

_CONFIDENCE = 0.95
# A kernel differs by as much from a copy of itself: docs/measuring.md has the measurements.
_RESOLUTION = 1e-3


@dataclass(frozen=True)
class BaselineComparison:
    """A kernel that took turns with the one that was measured, round by round.

    Attributes:
        kernel, title: its name, and one line on it.
        time: its kernel time; None where it could not be measured.
        reason: why it could not; empty where it was.
        faster: how many times as fast the measured kernel is; None without a time.
        interval: of ``faster``, at a confidence of 95 %: the interval between two of the ratios that the rounds give,
            by rank, that holds the median so often, and 0.1 % more on either side, which no repetition averages out.
    """

    kernel: str
    title: str = ""
    time: Time | None = None
    reason: str = ""
    faster: float | None = None
    interval: tuple[float, float] | None = None

    @classmethod
    def of(cls, kernel: Kernel, own: Time, time: Time) -> BaselineComparison:
        """The comparison of a kernel's own rounds with those of another, which took turns with them."""
        ratios = sorted(theirs / ours for ours, theirs in zip(own.rounds, time.rounds, strict=False))
        below = _rank(len(ratios))
        interval = ratios[below] * (1 - _RESOLUTION), ratios[-1 - below] * (1 + _RESOLUTION)
        return cls(kernel.name, kernel.title, time, "", statistics.median(ratios), interval)

    def __str__(self) -> str:
        """ "78.3 % of cublas (78.1–78.6 %)", or why there is no time."""
        if self.faster is None or self.interval is None:
            return f"not compared with {self.label}: {self.reason}"
        low, high = (100 * each for each in self.interval)
        return f"{100 * self.faster:.1f} % of {self.label} ({low:.1f}–{high:.1f} %)"

    @property
    def label(self) -> str:
        """What tables call it: its title where that is a word, else its name."""
        return self.title if self.title.isalpha() else self.kernel

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> BaselineComparison:
        time, interval = values["time"], values["interval"]
        return cls(**{**values, "time": time and Time.from_json(time), "interval": interval and tuple(interval)})


def _rank(count: int) -> int:
    """How many of so many values, on either side, are left out of the interval of their median."""
    skipped, tail = 0, 1 / 2**count
    while skipped < (count - 1) // 2:
        # How often the median is not between the values of the next ranks.
        tail += math.comb(count, skipped + 1) / 2**count
        if 2 * tail > 1 - _CONFIDENCE:
            break
        skipped += 1
    return skipped


def compared_kernels(cell: Cell, kernel: Kernel) -> Sequence[Kernel]:
    """Return the kernels to compare a cell with: those that its ``baseline`` names, and that of ``against``."""
    kernels: list[Kernel] = []
    if cell.baseline:
        answers = registry().hook.mmcore_baselines(kernel=kernel)
        for offered in registry().answers(answers, "mmcore_baselines", instance_of(Kernel)):
            if cell.baseline == LIBRARY or fnmatch.fnmatch(offered.name, cell.baseline):
                kernels.append(offered)
        problem = kernel.problem(1, 1, 1)
        for registered in (each.item for each in registry().kernels.values() if each.item.name != kernel.name):
            if fnmatch.fnmatch(registered.name, cell.baseline) and registered.computes(problem):
                kernels.append(registered)
    if cell.against:
        kernels.append(replace(kernel, title="before", source=Path(cell.against)))
    return kernels

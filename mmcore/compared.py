"""What a kernel is compared with in the same run: a library's product, or another version of its source."""

from __future__ import annotations

import fnmatch
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmcore.cell import Cell
from mmcore.kernel.declaration import Kernel
from mmcore.registry import instance_of, registry
from mmcore.timing import Time

_CONFIDENCE = 0.95
# A kernel differs by as much from a copy of itself: docs/measuring.md has the measurements.
_RESOLUTION = 1e-3
_SAME = ("dtype", "output", "alpha", "beta", "column_major")  # what a kernel and its baseline have in common


@dataclass(frozen=True)
class Compared:
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
    def of(cls, kernel: Kernel, own: Time, time: Time) -> Compared:
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
    def from_json(cls, values: Mapping[str, Any]) -> Compared:
        time, interval = values["time"], values["interval"]
        return cls(**{**values, "time": time and Time.from_json(time), "interval": interval and tuple(interval)})


def _rank(count: int) -> int:
    """How many of so many values, on either side, are left out of the interval of their median."""
    left_out, tail = 0, 1 / 2**count
    while left_out < (count - 1) // 2:
        # How often the median is not between the values of the next ranks.
        tail += math.comb(count, left_out + 1) / 2**count
        if 2 * tail > 1 - _CONFIDENCE:
            break
        left_out += 1
    return left_out


def compared_kernels(cell: Cell, kernel: Kernel) -> Sequence[Kernel]:
    """The kernels that a cell is to be compared with: those that its ``baseline`` matches, and that of ``against``."""
    found: list[Kernel] = []
    if cell.baseline:
        offered = registry().asked("mmcore_baselines", instance_of(Kernel), kernel=kernel)
        registered = [each.item for each in registry().kernels.values() if each.item.name != kernel.name]
        found += [each for each in offered if fnmatch.fnmatch(each.name, cell.baseline)]
        alike = [each for each in registered if all(getattr(each, name) == getattr(kernel, name) for name in _SAME)]
        found += [each for each in alike if fnmatch.fnmatch(each.name, cell.baseline)]
    if cell.against:
        found.append(replace(kernel, title="before", source=Path(cell.against)))
    return found

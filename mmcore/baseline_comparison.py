"""Comparisons of a kernel with others in the same run: a library's, or another version of its source."""

from __future__ import annotations

import fnmatch
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from mmcore.cell import LIBRARY, Cell
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.median import LEAST, interval_of_median
from mmcore.plugins import instance_of
from mmcore.registry import referenced_kernel, registry
from mmcore.time_ratio import Answer, Ratio
from mmcore.timing import Time

BEFORE = "before"
"""The title of another version of the measured kernel."""

# A kernel differs by as much from a copy of itself: docs/measuring.md has the measurements.
_RESOLUTION = 1e-3


@dataclass(frozen=True)
class BaselineComparison:
    """The comparison of the measured kernel with another one, whose rounds took turns with its own.

    Attributes:
        kernel, title: its name, and one line on it.
        time: its kernel time; None where it could not be measured.
        reason: why it could not; empty where it was.
        faster: how many times as fast the measured kernel is; None without a time.
        figures: its further figures by name, as far as the cell asks for any.
        interval: the 95 % confidence interval of ``faster``. Its ends are two of the rounds' ratios, chosen by rank,
            and 0.1 % further out, as repetition does not average out more.
    """

    kernel: str
    title: str = ""
    time: Time | None = None
    reason: str = ""
    faster: float | None = None
    interval: tuple[float, float] | None = None
    figures: Mapping[str, float | None] = field(default_factory=dict)

    @classmethod
    def of(cls, kernel: Kernel, measured: Time, time: Time) -> BaselineComparison:
        """Return the comparison of a kernel's rounds with those of another, which were measured in turns."""
        ratios = [other / this for this, other in zip(measured.rounds, time.rounds, strict=False)]
        low, high = interval_of_median(ratios)
        interval = low * (1 - _RESOLUTION), high * (1 + _RESOLUTION)
        return cls(kernel.name, kernel.title, time, "", statistics.median(ratios), interval)

    def __str__(self) -> str:
        """Return "78.3 % of acme (78.1–78.6 %)", or why there is no time."""
        if self.faster is None or self.interval is None:
            return f"not compared with {self.label}: {self.reason}"
        low, high = (100 * each for each in self.interval)
        answer = f": {self.answer}" if self.title == BEFORE else ""
        return f"{100 * self.faster:.1f} % of {self.label} ({low:.1f}–{high:.1f} %){answer}"

    @property
    def answer(self) -> Answer | None:
        """The answer about the measured kernel; None without a time, and undecided by fewer than six rounds."""
        if self.faster is None or self.interval is None or self.time is None:
            return None
        return Ratio(self.faster, self.interval).answer if len(self.time.rounds) >= LEAST else "cannot tell"

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON-ready values, with the answer."""
        return {**asdict(self), "answer": self.answer}

    @property
    def label(self) -> str:
        """The label in tables: its title if that is one word, else its name."""
        return self.title if self.title.isalpha() else self.kernel

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> BaselineComparison:
        time, interval = values["time"], values["interval"]
        fields = {name: value for name, value in values.items() if name != "answer"}
        return cls(**{**fields, "time": time and Time.from_json(time), "interval": interval and tuple(interval)})


class Rival(NamedTuple):
    """A kernel to time in turns with another, and its config; None for the usual one of the product."""

    kernel: Kernel
    config: Config | None = None


def rivals(cell: Cell, kernel: Kernel, config: Config) -> Sequence[Rival]:
    """Return the kernels to compare a cell with: its baselines, the version of ``against``, and its rival.

    ``kernel`` and ``config`` are the cell's. Raises MmcoreError if its rival is no kernel.
    """
    kernels: list[Kernel] = []
    if cell.baseline:
        patterns = cell.baseline.split(",")
        for offered in registry().answers("mmcore_baselines", instance_of(Kernel), kernel=kernel):
            if LIBRARY in patterns or _matches(offered, patterns):
                kernels.append(offered)
        others = (each.item for each in registry().kernels.values() if each.item.name != kernel.name)
        matching = (each for each in others if _matches(each, patterns))
        kernels += [each for each in matching if each.computes(kernel.problem(1, 1, 1))]
    several = [*map(Rival, kernels)]
    if cell.against:
        several.append(Rival(replace(kernel, title=BEFORE, source=Path(cell.against)), config))
    if cell.rival:
        other, values = referenced_kernel(cell.rival["kernel"]), cell.rival["config"]
        several.append(Rival(other, other.config(**values) if values else None))
    return several


def _matches(kernel: Kernel, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatch(kernel.name, pattern) for pattern in patterns)

"""What a history is made of: runs of benchmarks, what was measured in them, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

USUAL_MEASURE = "kernel-warm"


class Card(NamedTuple):
    """A model of card: its name, and how many multiprocessors it has; 0 where that is not known."""

    name: str
    multiprocessors: int = 0

    def __str__(self) -> str:
        return f"{self.name} ({self.multiprocessors} multiprocessors)" if self.multiprocessors else self.name


class Subject(NamedTuple):
    """What a series is of: a kernel in one config, one product, one way of measuring, one model of card.

    ``config`` is the config in a test's id ("b16"), ``measure`` the way of measuring there ("kernel-warm").
    """

    card: Card
    kernel: str
    m: int
    n: int
    k: int
    config: str
    measure: str

    @property
    def size(self) -> str:
        """m×n×k, or one number where all are the same."""
        return str(self.n) if self.m == self.n == self.k else f"{self.m}×{self.n}×{self.k}"

    @property
    def label(self) -> str:
        """The series in a legend: kernel, size and config, with the way of measuring where it is not the usual one."""
        measure = [] if self.measure == USUAL_MEASURE else [self.measure]
        return " ".join([self.kernel, self.size, self.config, *measure])


@dataclass(frozen=True, slots=True)
class Run:
    """A saved run.

    Attributes:
        date: when it was saved, in UTC.
        host: the host it was made on; empty where that is not known.
        commit: the first digits of the commit's id, with "+" if there were changes beyond it; empty where unknown.
        versions: of the driver, CUDA, NVRTC, mmcore and its plugins, and the card's highest clock, by name.
    """

    date: datetime
    host: str
    commit: str
    versions: Mapping[str, str]

    @property
    def day(self) -> str:
        """The day, as YYYY-MM-DD."""
        return self.date.date().isoformat()


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one run measured of a subject.

    Attributes:
        run: the run.
        ms: median of the rounds, in ms.
        clock_mhz: the SM clock while it was timed, in MHz; None where nobody read it.
        throttled: whether heat or the power supply held the clock back.
    """

    run: Run
    ms: float
    clock_mhz: float | None = None
    throttled: bool = False

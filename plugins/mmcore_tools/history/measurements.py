"""The values of a history: runs, the series they belong to, and their times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

USUAL_MEASURE = "kernel-warm"


class Card(NamedTuple):
    """A model of card: its name, and its number of multiprocessors, 0 if unknown."""

    name: str
    multiprocessors: int = 0

    def __str__(self) -> str:
        return f"{self.name} ({self.multiprocessors} multiprocessors)" if self.multiprocessors else self.name


class Subject(NamedTuple):
    """The subject of a series: a kernel in one config, for one product, measured in one way on one model of card.

    ``config`` and ``measure`` are parts of a test's id, such as "b16" and "kernel-warm".
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
        """m×n×k, or one number if all are the same."""
        return str(self.n) if self.m == self.n == self.k else f"{self.m}×{self.n}×{self.k}"

    @property
    def label(self) -> str:
        """The name of the series in a legend, with the measure unless it is the usual one."""
        measure = [] if self.measure == USUAL_MEASURE else [self.measure]
        return " ".join([self.kernel, self.size, self.config, *measure])


@dataclass(frozen=True, slots=True)
class Run:
    """A saved run.

    Attributes:
        date: when it was saved, in UTC.
        host: the name of its host; empty if unknown.
        commit: the first digits of the commit's id, with "+" if there were uncommitted changes; empty if unknown.
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
    """The time that one run measured for a subject.

    Attributes:
        run: the run.
        ms: the median of the rounds.
        clock_mhz: the SM clock during the measurement; None if unknown.
        throttled: whether heat or the power supply held the clock back.
    """

    run: Run
    ms: float
    clock_mhz: float | None = None
    throttled: bool = False


class Unverified(NamedTuple):
    """A subject whose product was wrong in the newest run of a host."""

    subject: Subject
    run: Run

    def __str__(self) -> str:
        host = f"{self.run.host}, " if self.run.host else ""
        return f"{self.subject.label} ({host}{self.run.day})"

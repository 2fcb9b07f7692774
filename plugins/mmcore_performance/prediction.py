"""The predicted time of a kernel on a card: the time of its busiest unit, and of the waits that nothing hides."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, hypot, log, sqrt
from typing import TypeAlias

from mmcore_performance.costs import together
from mmcore_performance.evidence import Evidence
from mmcore_performance.features import features, resident_blocks

WAITS = "latency"
"""The unit of waits."""
IN_TURN = "in_turn"
"""The waits of whole blocks, which have the weights of waits."""
Interval: TypeAlias = tuple[float, float, float]
"""A predicted value, and the ends of the interval around it."""
Work: TypeAlias = Mapping[str, Mapping[str, float]]
"""Seconds of a launch by unit and kind, at nominal rates."""


@dataclass(frozen=True)
class Parameters:
    """The parameters of the model, which were fitted to measured times.

    Attributes:
        weights: by unit and kind of work, what its nominal seconds are multiplied by.
        overlap: the exponent with which units add up: 1 if they wait for each other, infinite if they overlap wholly.
        parts: parts of a block that wait independently: while one waits, the others use the units.
        start: seconds of the first launch besides its work, and of each further one.
        spread: the tenth and the ninetieth percentile of measured over predicted times, of kernels not fitted to.
    """

    weights: Mapping[str, Mapping[str, float]]
    overlap: float
    parts: float
    start: tuple[float, float]
    spread: tuple[float, float]


@dataclass(frozen=True)
class Prediction:
    """A predicted kernel time, which was not measured.

    Attributes:
        seconds: the predicted time.
        low, high: an interval that is meant to hold eight of ten measured times of other kernels.
        limiter: the entry of ``units`` that takes longest.
        units: seconds that each unit takes, by name; "latency" are waits, "start" the beginning of launches.
        busiest: the unit that is busy longest at its published rate, which waits may hide, as a profiler names it.
        busy: seconds that each unit would take at its published rate, by name; waits and starts have none.
    """

    seconds: float
    low: float
    high: float
    limiter: str
    units: Mapping[str, float]
    busiest: str
    busy: Mapping[str, float]

    @property
    def share(self) -> float | None:
        """The part of its peak rate that the limiting unit reaches; None if waits or starts limit."""
        return self.busy[self.limiter] / self.seconds if self.limiter in self.busy else None


@cache
def parameters() -> Parameters:
    """Return the parameters of parameters.toml."""
    return parameters_from(files(__package__).joinpath("parameters.toml").read_text(encoding="utf-8"))


def parameters_from(text: str) -> Parameters:
    """Return the parameters of a text in TOML."""
    values = tomllib.loads(text)
    return Parameters(
        values["weights"], values["overlap"], values["parts"], tuple(values["start"]), tuple(values["spread"])
    )


def predict(evidence: Evidence, fitted: Parameters | None = None) -> Prediction:
    """Return the predicted time of a product. It is a pure function of the evidence and of the parameters."""
    fitted = fitted or parameters()
    first, further = fitted.start
    units = dict.fromkeys(fitted.weights, 0.0) | {"start": first + further * (len(evidence.launches) - 1)}
    busy = dict.fromkeys(fitted.weights.keys() - {WAITS}, 0.0)
    seconds = units["start"]
    for launch in evidence.launches:
        work = features(evidence, launch)
        seconds += launch_seconds(work, resident_blocks(evidence, launch), fitted)
        for unit in units.keys() & work.keys():
            units[unit] += _weighted(work, unit, fitted)
        units[WAITS] += _weighted(work, IN_TURN, fitted)
        for unit in busy:
            busy[unit] += sum(work[unit].values())
    low, high = fitted.spread
    limiter, busiest = _largest(units), _largest(busy)
    return Prediction(seconds, low * seconds, high * seconds, limiter, units, busiest, busy)


def times_as_fast(a: Interval, b: Interval) -> Interval:
    """Return how many times as fast B is predicted to be as A, with the interval around that ratio.

    The errors of their times, which are in seconds, are taken to be independent.
    """
    ratio = a[0] / b[0]
    slower, faster = (hypot(log(a[end] / a[0]), log(b[3 - end] / b[0])) for end in (1, 2))
    return ratio, ratio * exp(-slower), ratio * exp(faster)


def launch_seconds(work: Work, blocks: int, fitted: Parameters) -> float:
    """Return the time of a launch with this work on a multiprocessor that runs so many blocks at a time.

    The parts of a block wait independently of each other, but all of them for a copy that overlaps with no product.
    """
    times = {unit: _weighted(work, unit, fitted) for unit in work}
    waits, in_turn = times.pop(WAITS), times.pop(IN_TURN)
    independent = queued(together(times.values(), fitted.overlap), waits, fitted.parts * blocks)
    return queued(independent, in_turn, blocks)


def seconds_of_waits(work: Work, blocks: int, fitted: Parameters) -> float:
    """Return the time that a launch would not take without waits."""
    return launch_seconds(work, blocks, fitted) - launch_seconds({**work, WAITS: {}, IN_TURN: {}}, blocks, fitted)


def _weighted(work: Work, unit: str, fitted: Parameters) -> float:
    """Return the seconds of a unit; kinds without a fitted weight have their nominal ones."""
    weights = fitted.weights[WAITS if unit == IN_TURN else unit]
    return sum(weights.get(kind, 1.0) * seconds for kind, seconds in work[unit].items())


def queued(work: float, waits: float, parts: float) -> float:
    """Return the time of parts that share some work on one server, wait in turn, and queue for the server again.

    This is Schweitzer's approximation of a closed queue: one part takes work and waits, many the larger of both.
    """
    return (work + waits + sqrt((work - waits) ** 2 + 4 * work * waits / max(1.0, parts))) / 2


def _largest(times: Mapping[str, float]) -> str:
    return max(sorted(times), key=lambda name: times[name])

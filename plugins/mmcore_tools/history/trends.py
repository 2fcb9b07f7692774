"""The trend of each series: whether its newest runs are slower or faster, since when, and what else changed.

The newest run of each host is judged by itself. Its reference is the median of the last few earlier runs on that host,
or on all hosts if there are none there. A host that is always slow is no regression; `hosts` reports it.

A change exceeds both a share of the reference and the noise of its runs. The noise is 3.5 times 1.4826 times their
median absolute deviation, which is Iglewicz and Hoaglin's limit for an outlier. (How to Detect and Handle Outliers,
1993; NIST/SEMATECH e-Handbook, section 1.3.5.17.) One odd run in the reference changes neither of these much.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from mmcore_tools.history.reading import Card, Measurement, Run, Subject

SLOWER, FASTER, UNCHANGED, NEW, OLD = "slower", "faster", "unchanged", "new", "not measured lately"
STATES = (SLOWER, FASTER, UNCHANGED, NEW, OLD)
"""The states of a series. A NEW one has too few earlier runs, an OLD one has no recent run."""

LATELY = 7
"""The number of days with runs that are recent: a week of nightly runs, so that a weekly run is among them."""

ROUNDING = 1e-9
"""The largest increase of a change by rounding, as a share: 1.03 - 1.0 is more than 0.03."""

_FEWEST = 3  # runs in a reference, unless the window is smaller: the noise of fewer is unknown
_NOISE = 3.5 * 1.4826  # times the median absolute deviation, which estimates a normal distribution's deviation
_SAME_CLOCK = 0.01  # the usual difference of SM clocks between runs, as a share
_BY_HOST = {SLOWER: 0, FASTER: 1, UNCHANGED: 2, NEW: 3}
_BY_SERIES = {SLOWER: 0, UNCHANGED: 1, FASTER: 2, NEW: 3, OLD: 4}


class Limits(NamedTuple):
    """The smallest change in percent of the reference, and the largest number of runs in a reference."""

    percent: float = 3.0
    window: int = 5

    @property
    def fewest(self) -> int:
        """The smallest number of runs in a reference."""
        return min(_FEWEST, self.window)


class Difference(NamedTuple):
    """A fact that is ``now`` unlike in any run of the reference; ``before`` is its value in the last of them."""

    what: str
    before: str
    now: str

    def __str__(self) -> str:
        return f"{self.what} {self.before} → {self.now}"


@dataclass(frozen=True)
class Verdict:
    """The comparison of a host's newest run with its reference."""

    newest: Measurement
    state: str = NEW  # one of :data:`STATES`
    reference_ms: float | None = None  # the median of the reference; None if there is none
    noise_ms: float = 0.0  # the difference from the reference that may be noise
    since: Run | None = None  # the first of the last runs that all differ alike; the newest if it is OLD
    differences: Sequence[Difference] = ()  # other facts in which the newest run differs from all of the reference

    @property
    def change_percent(self) -> float | None:
        """The change from the reference, in percent; None without a reference."""
        return None if self.reference_ms is None else 100 * (self.newest.ms / self.reference_ms - 1)

    @property
    def noise_percent(self) -> float | None:
        """The noise in percent of the reference; None without a reference."""
        return None if self.reference_ms is None else 100 * self.noise_ms / self.reference_ms


@dataclass(frozen=True)
class Trend:
    """A series with its verdicts."""

    subject: Subject
    measurements: Sequence[Measurement]  # all runs, in the order of their dates
    verdicts: Sequence[Verdict]  # for each host with a recent run, the worst first; the last run's if OLD

    @property
    def worst(self) -> Verdict:
        return self.verdicts[0]

    @property
    def state(self) -> str:
        """One of :data:`STATES`: slower if it is so on any host, else faster if it is so on any."""
        return self.worst.state

    @property
    def hosts(self) -> Sequence[str]:
        return [each.newest.run.host for each in self.verdicts if each.state == self.state]


def first_of_last_days(series: Iterable[Sequence[Measurement]]) -> str:
    """Return the first recent day, as YYYY-MM-DD: the first of the last :data:`LATELY` days with runs."""
    return sorted({each.run.day for measurements in series for each in measurements})[-LATELY:][0]


def trends(series: Iterable[tuple[Subject, Sequence[Measurement]]], limits: Limits, lately: str) -> list[Trend]:
    """Return the trends of all series, the slower ones first and old ones last."""
    found = [_trend(subject, measurements, limits, lately) for subject, measurements in series]
    return sorted(found, key=lambda each: (_BY_SERIES[each.state], -(each.worst.change_percent or 0.0), each.subject))


def _trend(subject: Subject, measurements: Sequence[Measurement], limits: Limits, lately: str) -> Trend:
    """Return the trend of a series in the order of its dates.

    Hosts without a run since the day ``lately`` are ignored. If there are no others, the series is OLD: a kernel that
    was renamed after it became slower must not stay slower for ever.
    """
    newest = {each.run.host: index for index, each in enumerate(measurements)}
    recent = [index for index in newest.values() if measurements[index].run.day >= lately]
    if not recent:
        return Trend(subject, measurements, [Verdict(measurements[-1], OLD, since=measurements[-1].run)])
    verdicts = [_verdict(measurements[index], measurements[:index], limits) for index in recent]
    verdicts.sort(key=lambda each: (_BY_HOST[each.state], -(each.change_percent or 0.0)))
    return Trend(subject, measurements, verdicts)


def _verdict(newest: Measurement, earlier: Sequence[Measurement], limits: Limits) -> Verdict:
    """Compare a host's newest run with the earlier runs of its series."""
    earlier = [each for each in earlier if each.run.host == newest.run.host] or earlier
    reference = earlier[-limits.window :]
    if not reference:
        return Verdict(newest)
    middle = statistics.median(each.ms for each in reference)
    noise = _NOISE * statistics.median(abs(each.ms - middle) for each in reference)
    margin = max(middle * limits.percent / 100, noise) + middle * ROUNDING
    state, since = _state(newest.ms - middle, margin), None
    if len(reference) < limits.fewest:
        state = NEW
    elif state != UNCHANGED:
        alike = takewhile(lambda each: _state(each.ms - middle, margin) == state, reversed([*earlier, newest]))
        *_, since = (each.run for each in alike)
    return Verdict(newest, state, middle, noise, since, _differences(newest, reference))


def _state(difference: float, margin: float) -> str:
    return UNCHANGED if abs(difference) <= margin else SLOWER if difference > 0 else FASTER


def counted(found: Iterable[Trend]) -> dict[str, int]:
    """Return the number of trends in each state."""
    counts = Counter(each.state for each in found)
    return {state: counts[state] for state in STATES}


def _differences(newest: Measurement, reference: Sequence[Measurement]) -> list[Difference]:
    """Return the versions, host and clock that no run of the reference had."""
    found, run, runs = [], newest.run, [each.run for each in reference]
    if run.host and runs[-1].host and run.host != runs[-1].host:
        found.append(Difference("host", runs[-1].host, run.host))
    for name, now in run.versions.items():
        before = [each.versions.get(name) for each in runs]
        if before[-1] is not None and now not in before:
            found.append(Difference(name, before[-1], now))
    clocks = [each.clock_mhz for each in reference if each.clock_mhz is not None]
    if newest.clock_mhz is not None and clocks:
        usual = statistics.median(clocks)
        if abs(newest.clock_mhz - usual) > _SAME_CLOCK * usual:
            found.append(Difference("clock while timed, MHz", f"{usual:.0f}", f"{newest.clock_mhz:.0f}"))
    if newest.throttled and not any(each.throttled for each in reference):
        found.append(Difference("clock", "free", "held back by heat or power supply"))
    return found


class Outlier(NamedTuple):
    """A host that is slower or faster than the others."""

    card: Card
    host: str
    percent: float  # how much longer it takes, the median over its series
    series: int  # the number of these series
    first: str  # the days of its first and last run there, as YYYY-MM-DD
    last: str
    hosts: int  # the number of hosts that were compared

    def __str__(self) -> str:
        how = "slower" if self.percent > 0 else "faster"
        others = "the other host" if self.hosts == 2 else f"the median of {self.hosts} hosts"
        days = self.first if self.first == self.last else f"{self.first} to {self.last}"
        return f"host {self.host} is {abs(self.percent):.1f} % {how} than {others}, {days}"


class _Comparison(NamedTuple):
    percent: float
    first: str
    last: str
    hosts: frozenset[str]


def outliers(series: Mapping[Subject, Sequence[Measurement]], percent: float) -> list[Outlier]:
    """Return the hosts that differ from the others by more than a percentage, the median over all of their series.

    In a series, a host's median is compared with the median of all hosts' medians between its first and its last day.
    Of two hosts, the faster one is the reference.
    """
    compared: dict[tuple[Card, str], list[_Comparison]] = {}
    for subject, measurements in series.items():
        for host, comparison in _compared(measurements):
            compared.setdefault((subject.card, host), []).append(comparison)
    found = [_outlier(card, host, each) for (card, host), each in compared.items()]
    return sorted(each for each in found if abs(each.percent) > percent + 100 * ROUNDING)


def _outlier(card: Card, host: str, compared: Sequence[_Comparison]) -> Outlier:
    percents, firsts, lasts, hosts = zip(*compared, strict=True)
    several = len(frozenset().union(*hosts))
    return Outlier(card, host, statistics.median(percents), len(compared), min(firsts), max(lasts), several)


def _compared(measurements: Sequence[Measurement]) -> Iterator[tuple[str, _Comparison]]:
    """Compare each host of a series with all that measured on the same days, if there are others."""
    hosts: dict[str, list[Measurement]] = {}
    for each in measurements:
        if each.run.host:
            hosts.setdefault(each.run.host, []).append(each)
    for host, own in hosts.items():
        first, last = own[0].run.day, own[-1].run.day
        times = {name: [each.ms for each in runs if first <= each.run.day <= last] for name, runs in hosts.items()}
        medians = {name: statistics.median(ms) for name, ms in times.items() if ms}
        if len(medians) > 1:
            ratio = medians[host] / statistics.median_low(medians.values())
            yield host, _Comparison(100 * (ratio - 1), first, last, frozenset(medians))

"""Hosts whose times differ from those of other hosts with the same model of card."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mmcore_tools.history.measurements import Card, Measurement, Subject
from mmcore_tools.history.trends import ROUNDING


class Outlier(NamedTuple):
    """A host that is slower or faster than the others.

    Attributes:
        card, host: the model of card, and the host.
        percent: how much longer it takes, the median over its series.
        series: the number of these series.
        first, last: the days of its first and last run there, as YYYY-MM-DD.
        hosts: the number of hosts that were compared.
    """

    card: Card
    host: str
    percent: float
    series: int
    first: str
    last: str
    hosts: int

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

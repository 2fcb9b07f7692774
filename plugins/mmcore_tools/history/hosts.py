"""Hosts with the same model of card whose times stand out from the others'."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mmcore_tools.history.measurements import Card, Measurement, Subject
from mmcore_tools.history.trends import ROUNDING


class Outlier(NamedTuple):
    """A host that stands out.

    Attributes:
        card, host: the model of card, and the host.
        percent: by how much it takes longer than hosts with that card do: the median over its series.
        series: how many series that are.
        first, last: the first and the last day of its runs there, as YYYY-MM-DD.
        hosts: how many hosts there were with it.
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
    """The hosts that differ from the others by more than so many percent, the median over all of their series.

    A host's median in a series is compared with the median of all hosts' medians from the host's first day to its last;
    of two hosts, with that of the faster one.
    """
    compared: dict[tuple[Card, str], list[_Comparison]] = {}
    for subject, measurements in series.items():
        for host, comparison in _compared(measurements):
            compared.setdefault((subject.card, host), []).append(comparison)
    found = [_outlier(card, host, each) for (card, host), each in compared.items()]
    return sorted(each for each in found if abs(each.percent) > percent + 100 * ROUNDING)


def _outlier(card: Card, host: str, compared: Sequence[_Comparison]) -> Outlier:
    return Outlier(
        card,
        host,
        statistics.median(each.percent for each in compared),
        len(compared),
        min(each.first for each in compared),
        max(each.last for each in compared),
        len(frozenset().union(*(each.hosts for each in compared))),
    )


def _compared(measurements: Sequence[Measurement]) -> Iterator[tuple[str, _Comparison]]:
    """Each host of a series beside all that measured on the same days, if there are others."""
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

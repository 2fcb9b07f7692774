"""Hosts with the same model of card whose times stand out from the others'."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from mmcore_history.measurements import Card, Measurement, Subject


class Outlier(NamedTuple):
    """A host that stands out.

    Attributes:
        card, host: the model of card, and the host.
        percent: by how much it takes longer than the others: the median over its series.
        series: in how many series it was compared with others.
        first, last: the first and the last day of its runs there.
        others: how many other hosts it was compared with.
    """

    card: Card
    host: str
    percent: float
    series: int
    first: date
    last: date
    others: int

    def __str__(self) -> str:
        how = "slower" if self.percent > 0 else "faster"
        others = "the other host" if self.others == 1 else f"the median of the {self.others} other hosts"
        days = f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"
        return f"host {self.host} is {abs(self.percent):.1f} % {how} than {others}, {days}"


class _Comparison(NamedTuple):
    percent: float
    first: date
    last: date
    others: frozenset[str]


def outliers(series: Mapping[Subject, Sequence[Measurement]], percent: float) -> list[Outlier]:
    """The hosts that differ from the others by more than so many percent, the median over all of their series.

    A host's median is compared with that of the other hosts' runs from its first day to its last. Of two hosts that
    differ from each other, the slower one is told.
    """
    compared: dict[tuple[Card, str], list[_Comparison]] = {}
    for subject, measurements in series.items():
        for host, comparison in _compared(measurements):
            compared.setdefault((subject.card, host), []).append(comparison)
    found = [_outlier(card, host, each) for (card, host), each in compared.items()]
    return sorted(each for each in found if abs(each.percent) > percent and (each.others > 1 or each.percent > 0))


def _outlier(card: Card, host: str, compared: Sequence[_Comparison]) -> Outlier:
    return Outlier(
        card,
        host,
        statistics.median(each.percent for each in compared),
        len(compared),
        min(each.first for each in compared),
        max(each.last for each in compared),
        len(frozenset().union(*(each.others for each in compared))),
    )


def _compared(measurements: Sequence[Measurement]) -> Iterator[tuple[str, _Comparison]]:
    """Each host of a series beside the others of the same days."""
    hosts: dict[str, list[Measurement]] = {}
    for each in measurements:
        if each.run.host:
            hosts.setdefault(each.run.host, []).append(each)
    for host, own in hosts.items():
        first, last = own[0].run.date.date(), own[-1].run.date.date()
        others = [
            each
            for name, theirs in hosts.items()
            if name != host
            for each in theirs
            if first <= each.run.date.date() <= last
        ]
        if others:
            usual = statistics.median(each.ms for each in others)
            ratio = statistics.median(each.ms for each in own) / usual
            yield host, _Comparison(100 * (ratio - 1), first, last, frozenset(each.run.host for each in others))

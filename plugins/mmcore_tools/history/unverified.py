"""Series whose newest results are of products that were not verified: a kernel that became wrong, above all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mmcore_tools.history.measurements import Measurement, Run, Subject


class Unverified(NamedTuple):
    """What was not verified in the newest of a host's runs that have it."""

    subject: Subject
    run: Run

    def __str__(self) -> str:
        where = [self.run.host] if self.run.host else []
        return f"{self.subject.label} ({', '.join([*where, self.run.day])})"


def unverified(
    series: Mapping[Subject, Sequence[Measurement]], wrong: Mapping[Subject, Sequence[Run]], lately: str
) -> list[Unverified]:
    """What was not verified in a host's newest run of it, if that is not from before the day ``lately``.

    Args:
        series: the measurements of verified products, in the order of their dates.
        wrong: the runs in which a product was not verified.
        lately: as YYYY-MM-DD.
    """
    found = []
    for subject, runs in wrong.items():
        verified = {each.run.host: each.run for each in series.get(subject, ())}
        newest = {run.host: run for run in sorted(runs, key=lambda run: run.date)}
        for host, run in newest.items():
            if run.day >= lately and (host not in verified or verified[host].date <= run.date):
                found.append(Unverified(subject, run))
    return sorted(found, key=lambda each: (each.subject, each.run.host))

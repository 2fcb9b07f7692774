"""Whether the newest run of a series is slower or faster than the runs before it, since when, and what else differs.

The reference is the median of the last few earlier runs on the newest's host, or, where there are none, on all hosts: a
host that is always slow is no regression, and `hosts` names it. A change is one by more than a share of the reference,
and by more than the noise of its runs: 3.5 times 1.4826 times their median absolute deviation, which is the limit of
Iglewicz and Hoaglin for an outlier (How to Detect and Handle Outliers, 1993; NIST/SEMATECH e-Handbook, section
1.3.5.17). One odd run among those of the reference moves neither its median nor its deviation much.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from mmcore_history.measurements import Measurement, Run, Subject

SLOWER, FASTER, UNCHANGED, NEW = "slower", "faster", "unchanged", "new"
"""What the newest run is beside its reference; NEW where there are too few runs before it."""

STATES = (SLOWER, FASTER, UNCHANGED, NEW)

# Runs that the reference has at least, unless the window is smaller: fewer say nothing of their noise.
_FEWEST = 3
# Times the median absolute deviation: 3.5 deviations of a normal distribution whose deviation it estimates.
_NOISE = 3.5 * 1.4826
# SM clocks differ by less from run to run, as a share.
_SAME_CLOCK = 0.01


class Limits(NamedTuple):
    """What counts as a change: percent of the reference; and how many runs at most make the reference."""

    percent: float = 3.0
    window: int = 5

    @property
    def fewest(self) -> int:
        """How many runs make a reference at least."""
        return min(_FEWEST, self.window)


class Difference(NamedTuple):
    """Something that is ``now`` not as it was in any run of the reference; ``before`` is the last of them."""

    what: str
    before: str
    now: str

    def __str__(self) -> str:
        return f"{self.what} {self.before} → {self.now}"


@dataclass(frozen=True)
class Trend:
    """What became of a series.

    Attributes:
        subject: what was measured.
        measurements: all runs, in the order of their dates.
        limits: what counted as a change.
        state: one of :data:`STATES`.
        reference_ms: median of the reference's runs, in ms; None where there is none.
        noise_ms: by how much the newest must differ from it to be no noise.
        since: the first of the newest runs that all differ as the newest does; None where it does not.
        differences: of the newest run from all of the reference's, other than in its time.
    """

    subject: Subject
    measurements: Sequence[Measurement]
    limits: Limits
    state: str = NEW
    reference_ms: float | None = None
    noise_ms: float = 0.0
    since: Run | None = None
    differences: Sequence[Difference] = ()

    @property
    def newest(self) -> Measurement:
        return self.measurements[-1]

    @property
    def change_percent(self) -> float | None:
        """By how much the newest run takes longer than the reference, in percent; None without a reference."""
        return None if self.reference_ms is None else 100 * (self.newest.ms / self.reference_ms - 1)

    @property
    def noise_percent(self) -> float | None:
        """The noise as a share of the reference, in percent; None without a reference."""
        return None if self.reference_ms is None else 100 * self.noise_ms / self.reference_ms


def trend(subject: Subject, measurements: Sequence[Measurement], limits: Limits) -> Trend:
    """The trend of a series' measurements, one at least, in the order of their dates."""
    *earlier, newest = measurements
    earlier = [each for each in earlier if each.run.host == newest.run.host] or earlier
    reference = earlier[-limits.window :]
    if not reference:
        return Trend(subject, measurements, limits)
    middle = statistics.median(each.ms for each in reference)
    noise = _NOISE * statistics.median(abs(each.ms - middle) for each in reference)
    margin = max(middle * limits.percent / 100, noise)
    state, since = _state(newest.ms - middle, margin), None
    if len(reference) < limits.fewest:
        state = NEW
    elif state != UNCHANGED:
        alike = takewhile(lambda each: _state(each.ms - middle, margin) == state, reversed([*earlier, newest]))
        *_, since = (each.run for each in alike)
    return Trend(subject, measurements, limits, state, middle, noise, since, _differences(newest, reference))


def _state(difference: float, margin: float) -> str:
    return UNCHANGED if abs(difference) <= margin else SLOWER if difference > 0 else FASTER


def trends(series: Iterable[tuple[Subject, Sequence[Measurement]]], limits: Limits) -> list[Trend]:
    """The trends of all series: those that became slower first, the worst on top; new ones last."""
    found = [trend(subject, measurements, limits) for subject, measurements in series]
    order = {SLOWER: 0, UNCHANGED: 1, FASTER: 2, NEW: 3}
    return sorted(found, key=lambda each: (order[each.state], -(each.change_percent or 0.0), each.subject))


def counted(found: Iterable[Trend]) -> dict[str, int]:
    """How many trends are of each state, of all states."""
    counts = Counter(each.state for each in found)
    return {state: counts[state] for state in STATES}


def _differences(newest: Measurement, reference: Sequence[Measurement]) -> list[Difference]:
    """Versions and host that no run of the reference had; a clock held back, or another than theirs."""
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

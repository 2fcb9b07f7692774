"""Whether the newest runs of a series are slower or faster than those before, since when, and what else differs.

Each host's newest run is judged by itself. The reference is the median of the last few earlier runs on the same host,
or, where there are none, on all hosts: a host that is always slow is no regression, and `hosts` names it. A change is
one by more than a share of the reference, and by more than the noise of its runs: 3.5 times 1.4826 times their median
absolute deviation, which is the limit of Iglewicz and Hoaglin for an outlier (How to Detect and Handle Outliers, 1993;
NIST/SEMATECH e-Handbook, section 1.3.5.17). One odd run among those of the reference moves neither its median nor its
deviation much.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from mmcore_tools.history.measurements import Measurement, Run, Subject

SLOWER, FASTER, UNCHANGED, NEW, OLD = "slower", "faster", "unchanged", "new", "not measured lately"
"""What a newest run is beside its reference; NEW where there are too few runs before it, OLD where it is long ago."""

STATES = (SLOWER, FASTER, UNCHANGED, NEW, OLD)

# Runs that the reference has at least, unless the window is smaller: fewer say nothing of their noise.
_FEWEST = 3
# Times the median absolute deviation: 3.5 deviations of a normal distribution whose deviation it estimates.
_NOISE = 3.5 * 1.4826
# How many days with runs are lately: a week of nightly runs, so that a weekly one is among them.
LATELY = 7
# What rounding adds to a change at most, as a share: 1.03 - 1.0 is more than 0.03.
ROUNDING = 1e-9
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
class Verdict:
    """What the newest run on one host is beside the runs before it.

    Attributes:
        newest: the run.
        state: one of :data:`STATES`.
        reference_ms: median of the reference's runs, in ms; None where there is none.
        noise_ms: by how much the newest must differ from it to be no noise.
        since: the first of the newest runs that all differ as the newest does, or the newest if it is OLD; else None.
        differences: of the newest run from all of the reference's, other than in its time.
    """

    newest: Measurement
    state: str = NEW
    reference_ms: float | None = None
    noise_ms: float = 0.0
    since: Run | None = None
    differences: Sequence[Difference] = ()

    @property
    def change_percent(self) -> float | None:
        """By how much the newest run takes longer than the reference, in percent; None without a reference."""
        return None if self.reference_ms is None else 100 * (self.newest.ms / self.reference_ms - 1)

    @property
    def noise_percent(self) -> float | None:
        """The noise as a share of the reference, in percent; None without a reference."""
        return None if self.reference_ms is None else 100 * self.noise_ms / self.reference_ms


@dataclass(frozen=True)
class Trend:
    """What became of a series.

    Attributes:
        subject: what was measured.
        measurements: all runs, in the order of their dates.
        verdicts: that on each host that has measured it lately, the worst first; one for its last run if it is OLD.
    """

    subject: Subject
    measurements: Sequence[Measurement]
    verdicts: Sequence[Verdict]

    @property
    def worst(self) -> Verdict:
        return self.verdicts[0]

    @property
    def state(self) -> str:
        """One of :data:`STATES`: slower if it is on any host, or else faster if it is on any."""
        return self.worst.state

    @property
    def hosts(self) -> Sequence[str]:
        """The hosts on which it is what it is."""
        return [each.newest.run.host for each in self.verdicts if each.state == self.state]


def first_of_last_days(series: Iterable[Sequence[Measurement]]) -> str:
    """The day, as YYYY-MM-DD, since which what is measured is measured lately: the first of the last with runs."""
    return sorted({each.run.day for measurements in series for each in measurements})[-LATELY:][0]


def trend(subject: Subject, measurements: Sequence[Measurement], limits: Limits, lately: str) -> Trend:
    """The trend of a series' measurements, one at least, in the order of their dates.

    Hosts without a run since the day ``lately`` have no say; it is OLD where there are no others, or what was renamed
    or removed after it became slower would be slower for ever.
    """
    newest = {each.run.host: index for index, each in enumerate(measurements)}
    now = [index for index in newest.values() if measurements[index].run.day >= lately]
    if not now:
        return Trend(subject, measurements, [Verdict(measurements[-1], OLD, since=measurements[-1].run)])
    verdicts = [_verdict(measurements[index], measurements[:index], limits) for index in now]
    order = {SLOWER: 0, FASTER: 1, UNCHANGED: 2, NEW: 3}
    verdicts.sort(key=lambda each: (order[each.state], -(each.change_percent or 0.0)))
    return Trend(subject, measurements, verdicts)


def _verdict(newest: Measurement, earlier: Sequence[Measurement], limits: Limits) -> Verdict:
    """What a host's newest run is, after all earlier runs of the series."""
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


def trends(series: Iterable[tuple[Subject, Sequence[Measurement]]], limits: Limits, lately: str) -> list[Trend]:
    """The trends of all series: those that became slower first, the worst on top; new ones and then old ones last."""
    found = [trend(subject, measurements, limits, lately) for subject, measurements in series]
    order = {SLOWER: 0, UNCHANGED: 1, FASTER: 2, NEW: 3, OLD: 4}
    return sorted(found, key=lambda each: (order[each.state], -(each.worst.change_percent or 0.0), each.subject))


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

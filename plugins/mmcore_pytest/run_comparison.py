"""Times beside those of saved runs: faster, slower, same, or cannot tell.

The rounds of one run agree better than two runs do. So a single saved run counts as no more precise than 2 %. Three and
more of the same code show how much runs differ: a further one lies in their prediction interval at 95 % confidence.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mmcore.median import interval_of_median
from mmcore.result import Result
from mmcore.time_ratio import Ratio

_BETWEEN_RUNS = 0.02
_LEAST_RUNS = 3
# Differences that are called the same: with few saved runs, and with several.
_SAME, _SAME_AS_SEVERAL = 0.05, 0.01
# The 97.5 % quantiles of Student's distribution, from two degrees of freedom on.
_STUDENT = (4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


@dataclass(frozen=True)
class RunComparison:
    """The comparison of a run's times with those of saved runs.

    Attributes:
        source: the names of the saved runs' files; empty without a comparison.
        ratios: the ratio of each test that the saved runs contain.
    """

    source: str = ""
    ratios: Mapping[str, Ratio] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """Yield the report: a sentence, and each test whose time is not the same."""
        counts = Counter(ratio.answer for ratio in self.ratios.values())
        words = [
            f"{counts[answer]} {answer}" for answer in ("faster", "slower", "same", "cannot tell") if counts[answer]
        ]
        yield f"mmcore: beside {self.source}: {', '.join(words)}"
        for test, ratio in self.ratios.items():
            if ratio.answer != "same":
                yield f"  {ratio.answer}: {test.rpartition('::')[2]}"
                yield f"    {_in_words(ratio)}"


def _in_words(ratio: Ratio) -> str:
    low, high = ratio.interval
    text = f"{ratio.faster:.3f} times as fast (95 % confidence: {low:.3f}–{high:.3f})"
    if not ratio.clock_moved or ratio.clocks is None or ratio.cycles is None:
        return text
    before, now = ratio.clocks
    return f"{text}; {ratio.cycles:.3f} times in clock cycles, at {before:.0f} and {now:.0f} MHz"


def compared_runs(results: Mapping[str, Result], saved: Mapping[str, Mapping[str, Any]]) -> RunComparison:
    """Compare timed results, by test, with saved runs: the benchmarks of each by test, by the name of its file."""
    ratios = {}
    for test, result in results.items():
        runs = [benchmarks[test] for benchmarks in saved.values() if test in benchmarks]
        if runs and result.times and (ratio := run_ratio(result, runs)):
            ratios[test] = ratio
    return RunComparison(" and ".join(saved) if ratios else "", ratios)


def run_ratio(result: Result, runs: Sequence[Mapping[str, Any]]) -> Ratio | None:
    """Return the time in saved runs over a result's; None if a saved run has no such time."""
    medians = [float(run["stats"]["median"]) for run in runs]
    now = result.times[0].seconds
    if not now or not all(medians):
        return None
    before = statistics.median(medians)
    low, high = _expected(medians, runs)
    fastest, slowest = interval_of_median(result.times[0].rounds)
    clocks, cycles = None, None
    known = [clock for run in runs if (clock := _clock(run.get("extra_info")))]
    if len(known) == len(runs) and (clock := result.conditions.get("clock_mhz")):
        clocks = statistics.median(known), float(clock)
        cycles = before * clocks[0] / (now * clocks[1])
    return Ratio(
        before / now,
        (low / slowest, high / fastest),
        clocks,
        cycles,
        _SAME if len(runs) < _LEAST_RUNS else _SAME_AS_SEVERAL,
    )


def _expected(medians: Sequence[float], runs: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Return the interval in which a further run of the saved runs' code has its median."""
    if len(medians) >= _LEAST_RUNS:
        logarithms = [*map(math.log, medians)]
        student = _STUDENT[min(len(medians) - _LEAST_RUNS, len(_STUDENT) - 1)]
        margin = student * statistics.stdev(logarithms) * math.sqrt(1 + 1 / len(medians))
        mean = statistics.fmean(logarithms)
        return math.exp(mean - margin), math.exp(mean + margin)
    bounds = [_interval(run) for run in runs]
    return min(low for low, _ in bounds) * (1 - _BETWEEN_RUNS), max(high for _, high in bounds) * (1 + _BETWEEN_RUNS)


def _interval(run: Mapping[str, Any]) -> tuple[float, float]:
    """Return the interval of a saved median, from the rounds or as saved with it; else the quartiles."""
    stats, info = run["stats"], run.get("extra_info")
    if rounds := _numbers(stats.get("data")):
        return interval_of_median(rounds)
    saved = _numbers(info.get("median_interval_ms") if isinstance(info, dict) else None)
    if len(saved) == 2:
        return saved[0] * 1e-3, saved[1] * 1e-3
    return float(stats["q1"]), float(stats["q3"])


def _numbers(values: object) -> list[float]:
    """Return a list of positive numbers from a file; empty if it is anything else."""
    several = values if isinstance(values, list) else []
    return several if all(isinstance(each, float) and 0 < each < math.inf for each in several) else []


def _clock(info: object) -> float | None:
    """Return the clock in MHz of a saved benchmark; None if it has none."""
    conditions = info.get("conditions") if isinstance(info, dict) else None
    clock = conditions.get("clock_mhz") if isinstance(conditions, dict) else None
    return float(clock) if isinstance(clock, int | float) and clock > 0 else None

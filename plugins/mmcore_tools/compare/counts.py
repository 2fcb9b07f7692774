"""The counts of two kernels side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmcore.result import Result
from mmcore_emulator.adapter.profile import Profile
from mmcore_pytest.counts import Change

_COUNTERS = {
    "warp instructions": "warp_instructions",
    "fused multiply-adds": "fmas",
    "tensor instructions": "tensor_instructions",
    "global sectors": "global_sectors",
    "shared wavefronts": "shared_wavefronts",
    "bank conflicts": "shared_bank_conflicts",
    "barriers": "barriers",
}
RESOURCES = ("registers per thread", "shared bytes per block", "occupancy in percent")
"""Names of counts that are no work of a launch: more of them may be better or worse."""


def changes(results: tuple[Result, Result], profiles: Sequence[Profile]) -> list[Change]:
    """Return the counts of A and B, work before resources, and of each the largest change first."""
    rows = [row for row in _rows(results, profiles) if row.before or row.now]
    return sorted(rows, key=lambda row: (row.count in RESOURCES, -_size(row)))


def _rows(results: tuple[Result, Result], profiles: Sequence[Profile]) -> Iterator[Change]:
    if profiles:
        counters = [profile.counters for profile in profiles]
        for name, attribute in _COUNTERS.items():
            yield Change("", name, *(getattr(each, attribute) for each in counters))
    occupancies = [result.figures.get("occupancy") for result in results]
    yield Change("", RESOURCES[0], *(result.registers for result in results))
    yield Change("", RESOURCES[1], *(result.shared_bytes for result in results))
    if None not in occupancies:
        yield Change("", RESOURCES[2], *(round(100 * each) for each in occupancies if each is not None))


def _size(change: Change) -> float:
    """Return how large a change is, in percent; a count that was 0 grew without limit."""
    if change.now == change.before:
        return 0.0
    return float("inf") if change.percent is None else abs(change.percent)


def work(several: Sequence[Change]) -> list[Change]:
    """Return the counts of work, without resources, that differ."""
    return [each for each in several if each.count not in RESOURCES and each.now != each.before]


def in_words(several: Sequence[Change]) -> str:
    """Return the work that shrank and grew: "fewer global sectors (-75 %), more barriers (+5 %)"; "" if none did."""
    fewer = [f"{each.count}{_percent(each)}" for each in work(several) if not each.grew(0)]
    more = [f"{each.count}{_percent(each)}" for each in work(several) if each.grew(0)]
    parts = [f"{word} {', '.join(names)}" for word, names in (("fewer", fewer), ("more", more)) if names]
    return "; ".join(parts)


def percent(value: float) -> str:
    """Return a change in percent: "+12.5 %"."""
    return f"{value:+,.0f} %" if abs(value) >= 1000 else f"{value:+.1f} %"


def _percent(change: Change) -> str:
    return "" if change.percent is None else f" ({percent(change.percent)})"

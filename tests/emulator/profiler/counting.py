"""Counters of a kernel that runs on the emulator, and their expected values in text."""

from __future__ import annotations

from typing import Any

from mmcore import Result
from mmcore_emulator.adapter.profile import Profile
from mmcore_emulator.profiler.by_line import Counting
from mmcore_emulator.profiler.counters import Counters, Line, total
from tests.emulation import emulate

AT = "__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }\n"


def lines_of(source: str, *arguments: Any, **launch: Any) -> dict[Line, Counters]:
    """Return the counters of each line of a kernel that has no violations."""
    watching: list[Counting] = []

    def observers(translation: Any) -> tuple[Counting, ...]:
        watching.append(Counting(translation.blocks))
        return tuple(watching)

    emulated = emulate(source, *arguments, **{"architecture": "90a", **launch}, observers=observers)
    assert emulated.violations == []
    lines = watching[0].lines
    assert total(lines.values()).thread_instructions == emulated.run.thread_instructions
    return lines


def counters_of(source: str, *arguments: Any, **launch: Any) -> Counters:
    return total(lines_of(source, *arguments, **launch).values())


def assert_counts(counters: Counters, expected: str, **names: int) -> None:
    """Assert counters in text, such as ``global_loads=20*32 flops=n**3``."""
    wanted = {name: eval(value, names) for name, value in (each.split("=") for each in expected.split())}
    assert {name: getattr(counters, name) for name in wanted} == wanted


def assert_figures(result: Result, profile: Profile) -> None:
    """Assert that the figures of a run are the counters of its profile."""
    assert result.figures["instructions"] == profile.counters.warp_instructions
    assert result.figures["global_sectors"] == profile.counters.global_sectors
    assert result.figures["bank_conflicts"] == profile.counters.shared_bank_conflicts
    assert result.figures["flop_per_byte"] == profile.ratios()["arithmetic_intensity"]

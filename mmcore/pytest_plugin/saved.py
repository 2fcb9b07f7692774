"""Saved results, looked at before a run is compared with them: they may be damaged, or another program's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mmcore.pytest_plugin.machine import KEY

# What pytest-benchmark's tables and --benchmark-compare-fail take from each saved benchmark.
_NUMBERS = ("min", "max", "mean", "median", "stddev", "iqr", "rounds", "iterations", "ops")


def is_ours(saved: Mapping[str, Any]) -> bool:
    """Whether mmcore has said there what was measured on."""
    machine = saved.get("machine_info")
    return isinstance(machine, dict) and KEY in machine


def damage(saved: Mapping[str, Any]) -> str:
    """Why nothing can be compared with results, in a clause; empty where it can.

    Of other programs' results only what pytest-benchmark cannot do without is looked at.

    Args:
        saved: a file of pytest-benchmark's, as it reads it.
    """
    if not isinstance(saved.get("machine_info"), dict):
        return "they do not say what machine they are of"
    if not is_ours(saved):
        return ""
    if not isinstance(saved["machine_info"][KEY], dict):
        return "they do not say what device they are of"
    if not isinstance(saved["benchmarks"], list):
        return "they are no list of benchmarks"
    return next(filter(None, map(_damage_of, saved["benchmarks"])), "")


def _damage_of(benchmark: Mapping[str, Any]) -> str:
    name, stats = benchmark.get("fullname"), benchmark["stats"]
    if not isinstance(name, str):
        return "a benchmark has no name"
    missing = [number for number in _NUMBERS if not _is_number(stats.get(number))]
    if not isinstance(stats.get("outliers"), str):
        missing.append("outliers")
    return f"{name} has no {' and no '.join(missing)}" if missing else ""


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value) and value >= 0

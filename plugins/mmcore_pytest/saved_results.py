"""Saved results: pytest-benchmark's documents, and what they are filed with."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mmcore
from mmcore.compile.compiler import compiler_versions
from mmcore.files import read_bytes
from mmcore.registry import registry

# How many there are at most, as each takes more memory than text; 64 MiB of results have a hundred thousand.
_MOST_PARTS = 1 << 20
KEY = "mmcore"  # where machine_info says what was measured on
# What pytest-benchmark's tables and --benchmark-compare-fail take from each saved benchmark.
_NUMBERS = ("min", "max", "mean", "median", "stddev", "iqr", "rounds", "iterations", "ops")
# What only names the host, or changes from one minute to the next: pytest-benchmark would warn at each comparison.
_OF_THE_HOST = ("node", "release", "cpu", "python_build", "python_compiler")
# What tells one device from another; the rest of its facts may be just what is compared.
_IDENTITY = ("name", "compute_capability", "multiprocessors", "clock_mhz")


def read_document(path: Path) -> Any:
    """Return the JSON of a file of results.

    Raises:
        OSError: it cannot be read.
        ValueError, RecursionError: it is no JSON, or not of results.
    """
    content = read_bytes(path)
    if content.count(b"[") + content.count(b"{") > _MOST_PARTS:
        raise ValueError("it has more lists and objects than results have")
    return json.loads(content, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def describe(machine_info: dict[str, Any], facts: Mapping[str, Any]) -> None:
    """Say in pytest-benchmark's ``machine_info`` what was measured on, given a device's facts."""
    for name in _OF_THE_HOST:
        machine_info.pop(name, None)
    machine_info[KEY] = {
        **facts,
        **compiler_versions(),
        "mmcore": mmcore.__version__,
        "plugins": dict(registry().distributions),
    }


def other_device(now: Mapping[str, Any], saved: Mapping[str, Any]) -> str:
    """Why two ``machine_info``, this run's and a saved one, are of different devices; empty where they are not."""
    here, there = now[KEY], saved[KEY]
    different = [name for name in _IDENTITY if here.get(name) != there.get(name)]
    if not different:
        return ""
    if "name" in different:
        return f"they were measured on {there.get('name')}, and this run is on {here.get('name')}"
    parts = (f"{name.replace('_', ' ')} {there.get(name)} there and {here.get(name)} here" for name in different)
    return f"they were measured on another {here.get('name')}: {', '.join(parts)}"


def is_ours(saved: Mapping[str, Any]) -> bool:
    """Whether mmcore has said there what was measured on."""
    machine = saved.get("machine_info")
    return isinstance(machine, dict) and KEY in machine


def damage(saved: Mapping[str, Any]) -> str:
    """Why nothing can be compared with a document of pytest-benchmark's, in a clause; empty where it can."""
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
    missing += [] if isinstance(stats.get("outliers"), str) else ["outliers"]
    return f"{name} has no {' and no '.join(missing)}" if missing else ""


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value) and value >= 0

"""Saved results: pytest-benchmark's documents, what they are filed with, and those of 0.1 converted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import mmcore
from mmcore.compile.compiler import compiler_versions
from mmcore.registry import registry

KEY = "mmcore"  # where machine_info says what was measured on
# What pytest-benchmark's tables and --benchmark-compare-fail take from each saved benchmark.
_NUMBERS = ("min", "max", "mean", "median", "stddev", "iqr", "rounds", "iterations", "ops")
# What only names the host, or changes from one minute to the next: pytest-benchmark would warn at each comparison.
_OF_THE_HOST = ("node", "release", "cpu", "python_build", "python_compiler")
# What tells one device from another; the rest of its facts may be just what is compared.
_IDENTITY = ("name", "compute_capability", "multiprocessors", "clock_mhz")


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


# What 0.1, whose results have no schema, called fields and ways of measuring, and what they are called now.
_FIELDS = {"faults": "violations", "global_ms": "end_to_end_ms", "global_gflops": "end_to_end_gflops"}
_WORDS = (("-global-p", "-end-to-end-p"), (", global time,", ", end-to-end time,"))


def upgraded(document: Mapping[str, Any]) -> dict[str, Any]:
    """A saved document with the names and fields of this version; one of another program's as it is."""
    if not is_ours(document) or not isinstance(document.get("benchmarks"), list):
        return dict(document)
    return {**document, "benchmarks": [_upgraded(benchmark) for benchmark in document["benchmarks"]]}


def _upgraded(benchmark: Any) -> Any:
    info = benchmark.get("extra_info") if isinstance(benchmark, dict) else None
    if not isinstance(info, dict) or "kernel" not in info or "schema" in info:
        return benchmark
    info = {_FIELDS.get(name, name): "end-to-end" if value == "global" else value for name, value in info.items()}
    if isinstance(info.get("block"), list):
        info["config"] = {"block": info["block"]}
    names = {name: _renamed(benchmark.get(name)) for name in ("name", "fullname", "param", "group")}
    return {**benchmark, **names, "extra_info": info}


def _renamed(name: Any) -> Any:
    for old, new in _WORDS:
        name = name.replace(old, new) if isinstance(name, str) else name
    return name

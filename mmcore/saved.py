"""Saved results: documents of pytest-benchmark's that mmcore has written, those of 0.1 included."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

KEY = "mmcore"
"""Where ``machine_info`` says what was measured on."""

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


# What 0.1 called a result's fields, and what they are called now.
_RENAMED = {
    "faults": "violations",
    "global_ms": "end_to_end_ms",
    "global_gflops": "end_to_end_gflops",
}
_MEASURES = {"global-pageable": "end-to-end-pageable", "global-pinned": "end-to-end-pinned"}


def upgraded(document: Mapping[str, Any]) -> dict[str, Any]:
    """A saved document with the names and fields of this version; one of another program's as it is.

    Args:
        document: as it is parsed. Results of 0.1 have no schema; their test ids, groups and fields are renamed.
    """
    if not is_ours(document) or not isinstance(document.get("benchmarks"), list):
        return dict(document)
    return {**document, "benchmarks": [_upgraded(benchmark) for benchmark in document["benchmarks"]]}


def _upgraded(benchmark: Any) -> Any:
    info = benchmark.get("extra_info") if isinstance(benchmark, dict) else None
    if not isinstance(info, dict) or "kernel" not in info or "schema" in info:
        return benchmark
    info = {_RENAMED.get(name, name): value for name, value in info.items()}
    if info.get("measure") == "global":
        info["measure"] = "end-to-end"
    if isinstance(info.get("block"), list):
        info["config"] = {"block": info["block"]}
    names = {name: _renamed(benchmark[name]) for name in ("name", "fullname", "param") if name in benchmark}
    params = benchmark.get("params")
    if isinstance(params, dict) and "mm_block" in params:
        kept = {name: value for name, value in params.items() if name != "mm_block"}
        measure = str(params.get("mm_measure"))
        params = {**kept, "mm_config": f"b{params['mm_block']}", "mm_measure": _MEASURES.get(measure, measure)}
    group = benchmark.get("group")
    if isinstance(group, str):
        group = group.replace(", global time,", ", end-to-end time,")
    return {**benchmark, **names, "params": params, "group": group, "extra_info": info}


def _renamed(name: Any) -> Any:
    """A test id of 0.1 as it is now."""
    if not isinstance(name, str):
        return name
    for old, new in _MEASURES.items():
        name = name.replace(f"-{old}", f"-{new}")
    return name

"""Saved results: pytest-benchmark's documents, and the device that they contain."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mmcore
from mmcore.files import read_bytes
from mmcore.registry import registry

# At most, of lists and objects in a file, because they need more memory than text; 64 MiB of results have 100,000.
_MOST_PARTS = 1 << 20
KEY = "mmcore"  # the entry of machine_info with the device and the versions
# The statistics that pytest-benchmark's tables and --benchmark-compare-fail need.
_NUMBERS = ("min", "max", "mean", "median", "stddev", "iqr", "rounds", "iterations", "ops")
# Entries that name the host or change all the time: pytest-benchmark would warn at each comparison.
_HOST_ENTRIES = ("node", "release", "cpu", "python_build", "python_compiler")
# The facts that identify a device; the others, such as the driver, may differ between compared runs.
_IDENTITY = ("name", "compute_capability", "multiprocessors", "clock_mhz")


def read_document(path: Path) -> Any:
    """Return the JSON of a file of results.

    Raises OSError if the file cannot be read, ValueError if it contains no JSON or not results, and RecursionError if
    its lists and objects are nested too deeply.
    """
    content = read_bytes(path)
    if content.count(b"[") + content.count(b"{") > _MOST_PARTS:
        raise ValueError("it has more lists and objects than results have")
    return json.loads(content, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def describe(machine_info: dict[str, Any], facts: Mapping[str, Any]) -> None:
    """Add a device's facts and the versions to pytest-benchmark's ``machine_info``."""
    for name in _HOST_ENTRIES:
        machine_info.pop(name, None)
    machine_info[KEY] = {
        **facts,
        **_compiler_versions(),
        "mmcore": mmcore.__version__,
        "plugins": dict(registry().distributions),
    }


def _compiler_versions() -> dict[str, str]:
    """Return the version of every compiler that is installed, by name."""
    versions = {}
    for name, registered in registry().compilers.items():
        with contextlib.suppress(Exception):  # it is missing, or a third party's
            versions[name] = registered.item.version()
    return {name: version for name, version in versions.items() if version}


def other_device(now: Mapping[str, Any], saved: Mapping[str, Any]) -> str:
    """Return how the devices of this run's and a saved ``machine_info`` differ; empty if they do not."""
    here, there = now[KEY], saved[KEY]
    different = [name for name in _IDENTITY if here.get(name) != there.get(name)]
    if not different:
        return ""
    if "name" in different:
        return f"they were measured on {there.get('name')}, and this run is on {here.get('name')}"
    parts = (f"{name.replace('_', ' ')} {there.get(name)} there and {here.get(name)} here" for name in different)
    return f"they were measured on another {here.get('name')}: {', '.join(parts)}"


def is_ours(saved: Mapping[str, Any]) -> bool:
    """Return True if mmcore added a device to the document."""
    machine = saved.get("machine_info")
    return isinstance(machine, dict) and KEY in machine


def damage(saved: Mapping[str, Any]) -> str:
    """Return the reason why a document of pytest-benchmark cannot be compared with; empty if it can."""
    if not isinstance(saved.get("machine_info"), dict):
        return "they do not name their machine"
    if not is_ours(saved):
        return ""
    if not isinstance(saved["machine_info"][KEY], dict):
        return "they do not name their device"
    if not isinstance(saved["benchmarks"], list):
        return "their benchmarks are not a list"
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

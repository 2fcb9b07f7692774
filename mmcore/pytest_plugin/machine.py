"""What results are filed with, and which results may be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mmcore
from mmcore.compile.nvrtc import nvrtc_version
from mmcore.registry import registry
from mmcore.saved import KEY

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
        "nvrtc": ".".join(map(str, nvrtc_version())),
        "mmcore": mmcore.__version__,
        "plugins": dict(registry().distributions),
    }


def other_device(now: Mapping[str, Any], saved: Mapping[str, Any]) -> str:
    """Why two ``machine_info`` are of different devices, in a sentence; empty where they are of one kind.

    Args:
        now: this run's.
        saved: that of the results to compare with.
    """
    here, there = now[KEY], saved[KEY]
    different = [name for name in _IDENTITY if here.get(name) != there.get(name)]
    if not different:
        return ""
    if "name" in different:
        return f"they were measured on {there.get('name')}, and this run is on {here.get('name')}"
    parts = (f"{name.replace('_', ' ')} {there.get(name)} there and {here.get(name)} here" for name in different)
    return f"they were measured on another {here.get('name')}: {', '.join(parts)}"

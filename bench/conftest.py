"""Which device the benchmarks run on, and what they say besides pytest-benchmark's tables."""

from __future__ import annotations

from typing import Any

import pytest

from mmcore.api import device
from mmcore.launching.compiler import nvrtc_version
from mmcore.launching.device import Device

_SUMMARY = pytest.StashKey[list[str]]()


def _time(opened: Device) -> str:
    return "kernel time" if opened.keeps_time else "EMULATION time on the host, not kernel time"


def pytest_report_header() -> str:
    """Name the device before anything runs."""
    opened = device()
    return f"mmcore device: {opened.name} ({opened.description}); times are {_time(opened)}"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SUMMARY] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what the benchmarks left to be said."""
    for line in config.stash[_SUMMARY]:
        terminalreporter.write_line(line)


def pytest_benchmark_update_machine_info(machine_info: dict[str, Any]) -> None:
    """Say what was measured on, and leave out what only names the host."""
    for name in ("node", "release", "cpu"):
        machine_info.pop(name, None)
    opened = device()
    machine_info["device"] = {
        "name": opened.name,
        "description": opened.description,
        "compute_capability": list(opened.limits.compute_capability),
        "nvrtc": list(nvrtc_version()),
    }


@pytest.fixture(scope="session")
def summary(pytestconfig: pytest.Config) -> list[str]:
    """Lines printed at the end of the run."""
    return pytestconfig.stash[_SUMMARY]


@pytest.fixture
def group() -> str:
    """Title of the benchmark tables."""
    opened = device()
    return f"{opened.name}: {_time(opened)}"

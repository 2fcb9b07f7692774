"""What the emulator's own benchmarks have to say besides pytest-benchmark's tables."""

from __future__ import annotations

import pytest

_SUMMARY = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SUMMARY] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what the benchmarks left to be said."""
    for line in config.stash[_SUMMARY]:
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def summary(pytestconfig: pytest.Config) -> list[str]:
    """Lines printed at the end of the run."""
    return pytestconfig.stash[_SUMMARY]

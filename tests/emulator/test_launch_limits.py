"""The sizes whose launch a GPU refuses or a rule fails for, found from the launch rule and the constraints alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mmcore import Config, DeviceProperties, Int32Index, Launch, Multiple, Problem, Scalar, Square
from mmcore_emulator.adapter.launch_limits import failing_size, refused_size
from tests.wrong_kernels import covering, kernel


def by_columns(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    return Launch((-(-problem.m // 16), -(-problem.n // 8)), config.block)


def persistent(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    return Launch((min(problem.m, 132), 1), config.block)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({}, "from m = 524,281 on, a GPU refuses the launch: more than 65,535 blocks along y"),
        ({"launch": by_columns}, "from n = 524,281 on, a GPU refuses the launch: more than 65,535 blocks along y"),
        (
            {"constraints": [Multiple(("m", "n"), 16), Int32Index()]},
            "from m = 524,288 on, a GPU refuses the launch: more than 65,535 blocks along y",
        ),
        ({"launch": persistent}, ""),
        ({"constraints": [Square()]}, ""),  # too large for a GPU's memory
    ],
)
def test_the_least_refused_size_follows_from_the_launch_rule(
    tmp_path: Path, declared: dict[str, Any], expected: str
) -> None:
    usual: dict[str, Any] = {"launch": covering, "constraints": []}
    made = kernel(tmp_path, **usual | declared)
    base = made.problem(32, 32, 32)
    assert refused_size(made, made.usual_configs[0], DeviceProperties(), base) == expected


def in_slices(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """Divide k into four slices, which is no whole number for every k."""
    return Launch((1, 1), config.block, arguments=("A", "B", "C", "m", "n", "k", Scalar(problem.k / 4, "int32")))


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({"launch": in_slices}, "8.75 is no int32"),
        ({"launch": in_slices, "constraints": [Multiple("k", 4)]}, ""),
        ({"launch": covering}, ""),
    ],
)
def test_a_rule_that_fails_at_an_allowed_size_is_named(tmp_path: Path, declared: dict[str, Any], expected: str) -> None:
    made = kernel(tmp_path, **{"constraints": [], **declared})
    error = failing_size(made, made.usual_configs[0], DeviceProperties())
    assert (expected in error, "for 41×21×35" in error) == (True, bool(expected))

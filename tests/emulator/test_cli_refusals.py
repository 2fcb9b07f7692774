"""Refused and wrong launches of ``mmcore check``, ``profile`` and ``explain``."""

from __future__ import annotations

import re
import time
from unittest import mock

import pytest

from mmcore_emulator.errors import TimeLimit
from mmcore_emulator.executor.kernel_launch import KernelLaunch
from mmcore_emulator.machine.lanes import batches
from mmcore_emulator.machine.limits import Dim3
from tests.command_line import mmcore


@pytest.mark.parametrize("command", ["check", "profile", "explain"])
def test_a_wrong_launch_is_reported_and_exits_with_1(command: str) -> None:
    result = mmcore(command, "upc.kernel10", "--size", "65", "--block", "32", "--force")
    assert result.exit_code == 1
    assert "out-of-bounds-read" in result.stdout
    forced = "forced   m = n = k = 65 is not a multiple of block.x = 32" in result.stdout
    assert forced or command == "explain"


REFUSED = {
    "upc.kernel10 --size 65 --block 32": "k = 65 is not a multiple of block.x = 32",
    "unsa.tiled --size 500 --block 50": "a 50×50 block has 2500 threads; the device allows 1024",
    "upc.kernl01": "did you mean upc.kernel01",
}
DEVICE = "upc.kernel01 --size 8 --device emulator:1", "emulator:1 does not exist"


@pytest.mark.parametrize(
    ("command", "arguments", "sentence"),
    [
        *((command, *row) for command in ("check", "profile", "explain") for row in REFUSED.items()),
        *((command, *DEVICE) for command in ("check", "profile")),
    ],
)
def test_an_invalid_request_is_refused_with_one_sentence(command: str, arguments: str, sentence: str) -> None:
    result = mmcore(command, *arguments.split())
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert sentence in line


def test_a_product_that_takes_many_times_the_limit_is_given_up_early() -> None:
    size = ("-m", "4096", "-n", "4096", "-k", "512")
    result = mmcore("check", "upc.kernel01", *size, "--timeout", "30")
    assert (result.exit_code, result.stdout) == (2, "")
    pattern = r"is the last that was run, as the limit of \S+ s is too short; \S+ % of its blocks had run in \S+ s, so "
    assert re.search(pattern, result.stderr)


def test_a_launch_is_not_given_up_for_few_threads_that_end_while_all_others_run() -> None:
    launch = mock.Mock(began=time.monotonic() - 8, grid=Dim3(132), block=Dim3(160), begun=132 * 160)
    launch.deadline.limit, launch.deadline.end = 48.0, time.monotonic() + 40
    launch.progress.done, launch.violations = 0, {None: "timeout"}
    few = next(batches(Dim3(4), Dim3(160)))
    KernelLaunch.ended(launch, few)
    launch.begun = few.lanes
    with pytest.raises(TimeLimit):
        KernelLaunch.ended(launch, few)


def test_a_time_limit_is_exit_2_with_an_estimate() -> None:
    result = mmcore("check", "upc.kernel01", "--size", "1500", "--timeout", "0.3")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "timeout at kernel01.cu:" in result.stderr
    assert "was still running after 0.3 s" in result.stderr
    assert re.search(r"of its blocks had run in [\d.]+ s, so all of it would take", result.stderr)
    assert result.stderr.rstrip().endswith("; --timeout sets the limit")

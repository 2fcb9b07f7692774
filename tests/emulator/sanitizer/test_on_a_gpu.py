"""compute-sanitizer on a GPU and ``mmcore check`` on the emulator agree about kernels."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DEVICES

SANITIZER = shutil.which("compute-sanitizer")
pytestmark = [
    pytest.mark.skipif("cuda" not in DEVICES, reason="there is no GPU on this machine"),
    pytest.mark.skipif(SANITIZER is None, reason="compute-sanitizer is not installed"),
]

SILENT = {
    "memcheck": "ERROR SUMMARY: 0 errors",
    "racecheck": "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)",
    "initcheck": "ERROR SUMMARY: 0 errors",
    "synccheck": "ERROR SUMMARY: 0 errors",
}


def sanitized(tool: str, *arguments: str) -> str:
    command = [str(SANITIZER), "--tool", tool, sys.executable, "-m", "tests.unguarded", *arguments]
    root = Path(__file__).parents[3]
    result = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=300, check=False)
    return result.stdout + result.stderr


@pytest.mark.parametrize("tool", SILENT)
def test_it_is_silent_over_every_kernel_without_known_faults(tool: str) -> None:
    output = sanitized(tool)
    assert SILENT[tool] in output, output[-3000:]
    assert output.count(": verified") >= 35, output
    assert "WRONG" not in output


# ptxas removes the last prefetch of poznan.v4a and v5, whose values are not used. The emulator still sees it.
@pytest.mark.parametrize("name", ["upc.kernel11", "poznan.v4b"])
def test_memcheck_sees_the_over_read_where_its_room_is_taken_away(name: str) -> None:
    assert "Invalid __global__ read" in sanitized("memcheck", name, "--without-over-read")


def test_memcheck_sees_kernel10_leave_its_matrices_at_65() -> None:
    output = sanitized("memcheck", "upc.kernel10", "--size", "65")
    assert "Invalid __global__ read" in output, output[-3000:]


def test_synccheck_does_not_see_the_first_trys_barrier_in_a_branch() -> None:
    """The threads that skip the branch leave the kernel, and the hardware's barrier does not wait for those."""
    output = sanitized("synccheck", "upc.kernel11_naive_guard", "--size", "65")
    assert "ERROR SUMMARY: 0 errors" in output, output[-3000:]
    assert "65×65×65 32×32: WRONG" in output


@pytest.mark.parametrize("barrier", ["1", "2"])
@pytest.mark.parametrize("name", ["poznan.v3", "poznan.v5"])
def test_racecheck_sees_a_barrier_that_is_missing(name: str, barrier: str) -> None:
    output = sanitized("racecheck", name, "--without-barrier", barrier)
    assert "hazard" in output, output[-3000:]
    assert SILENT["racecheck"] not in output

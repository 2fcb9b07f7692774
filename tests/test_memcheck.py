"""compute-sanitizer's memcheck has nothing to say of the lectures' kernels on a GPU."""

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


def memcheck(*arguments: str) -> str:
    command = [str(SANITIZER), "--tool", "memcheck", sys.executable, "-m", "tests.unguarded", *arguments]
    result = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parent.parent, timeout=300, check=False
    )
    return result.stdout + result.stderr


def test_memcheck_is_silent_over_every_kernel_without_known_faults() -> None:
    output = memcheck()
    assert "ERROR SUMMARY: 0 errors" in output, output
    assert output.count(": verified") >= 35, output
    assert "WRONG" not in output


# Of poznan.v4a's and v5's last prefetch, whose values nobody uses, ptxas leaves nothing; the emulator still sees it.
@pytest.mark.parametrize("name", ["upc.kernel11", "poznan.v4b"])
def test_memcheck_sees_the_over_read_where_its_room_is_taken_away(name: str) -> None:
    assert "Invalid __global__ read" in memcheck(name, "--without-over-read")

"""compute-sanitizer's output as violations, and ``check --with`` where it is not installed."""

from __future__ import annotations

import shutil

import pytest

from mmcore.cli.commandline import main
from mmcore.kernel.geometry import Dim3
from mmcore_cuda.ncu.compute_sanitizer import violations

SAID = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at product+0x2d0 in product.cu:14
=========     by thread (1,0,0) in block (2,3,0)
=========     Access at 0x7f1c5fa00000 is out of bounds
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cuLaunchKernel [0x2c0b7e] in libcuda.so.1
=========
========= Invalid __global__ read of size 4 bytes
=========     at product+0x2d0 in product.cu:14
=========     by thread (2,0,0) in block (2,3,0)
=========     Access at 0x7f1c5fa00004 is out of bounds
=========
========= Error: Race reported between Write access at product+0x120 in product.cu:10
=========     and Read access at product+0x1b0 in product.cu:12 [1024 hazards]
=========
========= ERROR SUMMARY: 3 errors
"""


def test_what_it_prints_becomes_a_violation_for_each_kind_and_line() -> None:
    stray, race = violations(SAID)
    assert (stray.kind, stray.source, stray.line, stray.count) == ("out-of-bounds-read", "product.cu", 14, 2)
    assert (stray.thread, stray.block) == (Dim3(1, 0, 0), Dim3(2, 3, 0))
    assert "out of bounds" in stray.message
    assert "Host Frame" not in stray.message
    assert (race.kind, race.line, race.thread) == ("shared-race", 10, None)
    assert race.message == (
        "Error: Race reported between Write access at product.cu:10; and Read access at product.cu:12"
    )
    assert violations("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n") == []


def test_a_tool_that_nobody_brings_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["check", "upc.kernel01", "--with", "valgrind"])
    assert "there is no 'valgrind' to check with; there is compute-sanitizer" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("compute-sanitizer") is not None, reason="compute-sanitizer is installed")
def test_compute_sanitizer_that_is_not_there_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["check", "upc.kernel01", "--with", "compute-sanitizer"])
    assert "compute-sanitizer is not on the PATH" in capsys.readouterr().err

"""A kernel that never ends is stopped when its time is over, and the emulator says where it was."""

from __future__ import annotations

from pathlib import Path

import pytest

import mmcore as api
from mmcore import Dim3, Kernel, Launch, DeviceProperties, Problem
from mmcore.api import device
from mmcore_conform.conform import conform_kernel
from mmcore_conform.trial import PASSED
from mmcore.planning import rules
from mmcore.registry import Registered, registry
from tests import wrong_kernels
from tests.command_line import mmcore
from tests.own_kernel import FIRST_LINE, own
from tests.test_compiler import TREE

LOOP = "for (;;) {\n    __syncthreads();\n}"


@pytest.fixture
def endless(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """A registered kernel whose loop never ends."""
    kernel = own(cu_file, LOOP, block=(4,))
    monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, "own", "tests"))
    return kernel


def test_the_fault_says_which_thread_was_where(endless: Kernel) -> None:
    outcome = api.run(endless, 4, device="emulator", timeout=2)
    (violation,) = outcome.violations
    assert outcome.verification is None
    assert (violation.kind, violation.source, violation.block, violation.thread) == ("timeout", "kernel.cu", (0, 0, 0), (0, 0, 0))
    assert violation.line == FIRST_LINE + 1
    assert violation.message == f"thread (0, 0) of block (0, 0) was still running after 2 s at kernel.cu:{violation.line}"


def test_the_limit_is_for_one_run(endless: Kernel) -> None:
    assert not api.run(endless, 4, device="emulator", timeout=2).verified
    assert api.run("upc.kernel01", 8, block=4, device="emulator").verified


def test_the_command_reports_it(endless: Kernel) -> None:
    result = mmcore("run", endless.name, "--size", "4", "--timeout", "2", "--device", "emulator")
    assert result.exit_code == 1
    assert "thread (0, 0) of block (0, 0) was still running after 2 s at kernel.cu:4" in result.stdout
    assert "none: it was stopped at the time limit, which --timeout sets" in result.stdout


@pytest.mark.parametrize("command", ["check", "profile"])
def test_what_never_ends_is_neither_checked_nor_profiled(endless: Kernel, command: str) -> None:
    result = mmcore(command, endless.name, "--size", "4", "--timeout", "2")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "was still running after 2 s at kernel.cu:4" in result.stderr


@pytest.mark.parametrize("limit", ["0", "-1", "soon", "nan"])
def test_a_limit_is_a_number_of_seconds(limit: str) -> None:
    result = mmcore("run", "upc.kernel01", "--timeout", limit)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


def test_conformance_stops_at_the_first_case_that_takes_too_long(endless: Kernel) -> None:
    emulator = device("emulator")
    found = conform_kernel(endless, emulator, emulator, seconds=2)
    stopped = [trial for trial in found.trials if "timeout" in trial.reason]
    assert not found.conforms
    assert len(stopped) == 1
    assert stopped[0].aspect == "product"
    assert found.left_out > 0


def test_conformance_stops_where_a_launch_rule_never_returns(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
        while problem.n == 17:
            pass
        return wrong_kernels.covering(problem, block, limits)

    monkeypatch.setattr(asking, "SECONDS", 0.2)
    monkeypatch.setattr(asking, "_unanswered", {})
    emulator = device("emulator")
    found = conform_kernel(wrong_kernels.kernel(cu_file.parent, launch=launch), emulator, emulator)
    (failure,) = found.failures
    assert failure.aspect == "product"
    assert "its launch rule had not answered after 0.2 s for" in failure.reason
    assert "×17×" in failure.reason
    assert found.left_out > 0
    assert {trial.verification for trial in found.of("geometry")} == {PASSED}


def test_conformance_stops_where_compiling_never_ends(cu_file: Path) -> None:
    emulator = device("emulator")
    kernel = own(cu_file, "C[0] = Tree<40, 0>::value;", declarations=TREE)
    found = conform_kernel(kernel, emulator, emulator, seconds=0.5)
    reasons = [(failure.aspect, failure.reason) for failure in found.failures]
    assert reasons == [("product", "tests.own: NVRTC had not ended after 0.5 s")]
    assert found.left_out > 0


def test_a_benchmark_reports_it_and_measures_the_others(
    pytester: pytest.Pytester, endless: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makepyfile("def test_kernel(mm_benchmark): mm_benchmark()")
    options = ("--mm-device", "emulator", "--mm-size", "16", "--mm-timeout", "2")
    result = pytester.runpytest(*options, "--mm-kernel", f"{endless.name},upc.kernel00")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "tests.own 16×16×16 failed on emulator; no time is reported",
            "timeout: thread (0, 0) of block (0, 0) was still running after 2 s at kernel.cu:4",
            "to see it again: mmcore run tests.own *",
        ]
    )


@pytest.mark.parametrize("limit", ["0", "inf", "a minute"])
def test_a_benchmarks_limit_is_a_number_of_seconds(pytester: pytest.Pytester, limit: str) -> None:
    result = pytester.runpytest("--mm-timeout", limit)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*argument --mm-timeout: '{limit}' is not a number of seconds above 0"])

"""Time limits: an endless kernel, rule or compilation is stopped, and costs only its own case."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mmcore import Kernel
from mmcore.cell import Cell
from mmcore.deadline import Deadline
from mmcore.executor import end_workers, measure_cell
from mmcore.executor.worker_client import WorkerProcess
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import registry
from mmcore_tools.conform.conformance import Conformance, conform_kernel
from mmcore_tools.conform.outcome import FAILED, SKIPPED
from tests import wrong_kernels
from tests.command_line import mmcore
from tests.own_kernel import FIRST_LINE, own

TREE = (
    "template <int N, long M> struct Tree "
    "{ static const int value = Tree<N - 1, 2 * M>::value + Tree<N - 1, 2 * M + 1>::value; }; "
    "template <long M> struct Tree<0, M> { static const int value = 1; };"
)
DIES = "os._exit(3) if problem.n == 18 else None"
LOOP = "for (;;) {\n    __syncthreads();\n}"
WHERE = "timeout at kernel.cu:4: thread (0, 0) of block (0, 0) was still running after 0.3 s"


@pytest.fixture
def endless(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Register a kernel with an endless loop and return it."""
    kernel = own(cu_file, LOOP, block=(4,))
    monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("own", "tests")))
    return kernel


def test_the_violation_says_which_thread_was_where_and_the_limit_is_for_one_cell(endless: Kernel) -> None:
    result = measure_cell(Cell(endless.name, 4, 4, 4, device="emulator", timeout=0.3))
    (violation,) = result.violations
    assert (result.verification, result.timed_out, violation.kind) == (None, True, "timeout")
    assert (violation.source, violation.block, violation.thread) == ("kernel.cu", (0, 0, 0), (0, 0, 0))
    assert violation.line == FIRST_LINE + 1
    assert str(violation).startswith(WHERE)
    assert measure_cell(Cell("upc.kernel01", 8, 8, 8, config={"block": [4, 4, 1]}, device="emulator")).verified


@pytest.mark.parametrize("command", ["run", "check", "profile", "conform"])
def test_a_command_that_reached_the_limit_says_where_and_exits_with_2(endless: Kernel, command: str) -> None:
    size = () if command == "conform" else ("--size", "4")
    result = mmcore(command, endless.name, *size, "--timeout", "0.3", "--device", "emulator")
    assert result.exit_code == 2
    assert WHERE in result.stdout + result.stderr


def test_conform_stops_at_the_first_case_that_takes_too_long(endless: Kernel) -> None:
    found = conform_kernel(endless.name, "emulator", timeout=0.3)
    (case,) = found.outcomes
    assert (case.property, case.outcome) == ("product", SKIPPED)
    assert WHERE in case.reason
    assert found.stopped == case.reason
    assert (found.conforms, found.left_out > 0) == (False, True)


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Test the cases in worker processes."""
    monkeypatch.delenv("MMCORE_IN_PROCESS")
    yield
    end_workers()


def conform_module(folder: Path, monkeypatch: pytest.MonkeyPatch, rule: str, timeout: float = 60.0) -> Conformance:
    """Return the conformance of the right kernel in a separate module; ``rule`` begins its launch rule."""
    wrong_kernels.kernel(folder)
    (folder / "its_module.py").write_text(
        "import os\n"
        "from mmcore import Kernel, Launch, ceil_div\n"
        "def launch(problem, config, device):\n"
        f"    {rule}\n"
        "    return Launch((ceil_div(problem.n, 16), ceil_div(problem.m, 8)), config.block)\n"
        'KERNEL = Kernel(name="tests.own", configs=[{"block": (16, 8)}], launch=launch)\n'
    )
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "its_module", raising=False)
    # Everything that is needed is imported and compiled before the time is limited.
    assert measure_cell(Cell("its_module:KERNEL", 8, 8, 8, device="emulator")).verified
    return conform_kernel("its_module:KERNEL", "emulator", timeout=timeout)


@pytest.mark.usefixtures("workers")
def test_a_launch_rule_that_never_returns_costs_its_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = time.monotonic()
    conform_module(tmp_path, monkeypatch, DIES)
    limit = time.monotonic() - begin  # all cases before take less together
    found = conform_module(tmp_path, monkeypatch, "while problem.n == 18: pass", limit)
    *others, last = found.outcomes
    assert {each.outcome for each in others} == {"passed"}
    assert (last.outcome, "×18×" in last.what, last.reason) == (SKIPPED, True, found.stopped)
    said = r"its launch rule or a constraint had not answered after [\d.]+ s, at its_module.py:4"
    assert re.fullmatch(said, found.stopped)
    assert found.left_out > 0


@pytest.mark.usefixtures("workers")
def test_a_case_that_kills_its_process_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = conform_module(tmp_path, monkeypatch, DIES)
    (failure,) = found.failures
    assert (failure.property, failure.outcome, "×18×" in failure.what) == ("product", FAILED, True)
    assert failure.reason == found.stopped == "the process that ran it ended with status 3"
    assert found.left_out > 0


@pytest.mark.usefixtures("workers")
def test_a_compilation_that_never_ends_is_stopped(cu_file: Path) -> None:
    own(cu_file, "C[0] = Tree<40, 0>::value;", declarations=TREE)
    kernel = {"file": str(cu_file), "entry": "own", "configs": [{"block": [1]}]}
    assert measure_cell(Cell("upc.kernel01", 8, 8, 8, device="emulator")).verified  # the worker has started
    result = measure_cell(Cell(kernel, 8, 8, 8, device="emulator", timeout=0.3))
    assert result.timed_out
    assert result.violations[0].message == "the compiler had not ended after 0.3 s"


@pytest.mark.usefixtures("workers")
def test_the_limit_is_for_all_that_happens_to_a_file(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []
    ask = WorkerProcess.ask

    def asked(worker: WorkerProcess, target: str, arguments: list[Any], timeout: float | None) -> Any:
        limits.append(timeout)
        return ask(worker, target, arguments, timeout)

    monkeypatch.setattr(WorkerProcess, "ask", asked)
    own(cu_file, "C[0] = Tree<40, 0>::value;", declarations=f"{TREE} int main() {{ }}")
    given = ("--entry", "own", "--block", "1", "--timeout", "2", "--device", "emulator", "--size", "8")
    result = mmcore("run", str(cu_file), *given)
    assert (result.exit_code, limits) == (2, [2.0]), result.output
    assert "the compiler had not ended after 2 s" in result.stdout


@pytest.mark.parametrize("limit", [0.0, 0.5])
def test_a_deadline_is_so_many_seconds_from_when_it_was_set(limit: float) -> None:
    deadline = Deadline()
    assert deadline.end == math.inf
    before = time.monotonic()
    with suppress(ValueError), deadline.within(limit):
        assert deadline.limit == limit
        assert before + limit <= deadline.end <= time.monotonic() + limit
        float("no number")  # the limit ends even if what it is for fails
    assert (deadline.limit, deadline.end) == (None, math.inf)

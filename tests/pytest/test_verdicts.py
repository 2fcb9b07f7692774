"""Cells are measured in one thread and judged in another, some of them before their tests begin."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from mmcore import Kernel
from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.errors import Unsupported
from mmcore.result import Result
from mmcore.verify.outcome import Verification
from mmcore_pytest import verdicts
from mmcore_pytest.session import Session
from mmcore_pytest.verdicts import Ahead, Verdicts, with_hazards

TESTS = "abcdef"
RIGHT = Result(Cell("a", 8, 8, 8), "a", verification=Verification(True, 0.0, None, "made up", 0, 64))


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace measuring and judging; return the list of measured kernels."""
    kernels: list[str] = []

    def measure_cell(cell: Cell) -> Result:
        kernels.append(str(cell.kernel))
        if cell.kernel == "c":
            raise Unsupported("c is not for this device")
        return replace(RIGHT, cell=cell)

    monkeypatch.setattr(verdicts, "measure_cell", measure_cell)
    monkeypatch.setattr(verdicts, "judged", lambda result, kernel, extent: replace(result, hazards=f"{extent} of it"))
    return kernels


def verdicts_of(ahead: int) -> Verdicts:
    cells: dict[str, Any] = {test: (Cell(test, 8, 8, 8), SimpleNamespace(name=test)) for test in TESTS}

    def wait(test: str, future: Future[Result]) -> Result:
        return future.result(10)

    return Verdicts(cells, Ahead(ahead), wait, {})


@pytest.mark.parametrize(("ahead", "begun"), [(0, "b"), (2, "bcd"), (8, "bcdef")])
def test_the_next_cells_are_measured_before_their_tests(measured: list[str], ahead: int, begun: str) -> None:
    of_run = verdicts_of(ahead)
    result = of_run.result("b")
    assert (result.cell.kernel, result.hazards, result.phases["hazards"] >= 0) == ("b", "hazards of it", True)
    of_run._judging[0].shutdown()
    assert measured == [*begun]


def test_a_cell_that_cannot_be_measured_raises_in_its_own_test(measured: list[str]) -> None:
    of_run = verdicts_of(8)
    assert of_run.result("b").verified
    with pytest.raises(Unsupported, match="c is not for this device"):
        of_run.result("c")
    assert of_run.result("d").verified
    assert measured == [*"bcdef"]
    assert of_run.result("d").verified  # a test that runs again measures again
    of_run.close()
    assert measured[5:] == ["d"]


def test_hazards_are_looked_for_beside_the_next_measurement(
    measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(result: Result, kernel: Kernel, extent: str) -> Result:
        end = time.monotonic() + 10
        while measured != [*TESTS] and time.monotonic() < end:
            time.sleep(0.01)
        return replace(result, hazards=f"looked for after {len(measured)} measurements")

    monkeypatch.setattr(verdicts, "judged", judged)
    assert verdicts_of(8).result("a").hazards == "looked for after 6 measurements"


def test_only_a_right_product_is_judged(measured: list[str]) -> None:
    wrong = replace(RIGHT, violations=(Violation("out-of-bounds-write", "it writes behind C", "C"),))
    assert with_hazards(wrong, Kernel(name="tests.wrong", configs=[{"block": 8}])) == wrong


@pytest.mark.parametrize(
    ("is_terminal", "shown"),
    [(True, ["\x1b7\x1b[?7l a-8: verifying it, and looking for hazards\x1b[?7h\x1b8", "\x1b[K"]), (False, [])],
)
def test_a_terminal_shows_the_cell_that_takes_long(
    is_terminal: bool, shown: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mmcore_pytest.session._PATIENCE_SECONDS", 0.01)
    terminal = SimpleNamespace(isatty=is_terminal, hasmarkup=is_terminal)
    plugins = SimpleNamespace(get_plugin={"terminalreporter": terminal}.get)
    session = Session(SimpleNamespace(pluginmanager=plugins))  # type: ignore[arg-type]
    used: Any = {"a": SimpleNamespace(benchmark=SimpleNamespace(id="a-8"))}
    session.benchmarks = used
    future: Future[Result] = Future()
    threading.Timer(0.1, future.set_result, [RIGHT]).start()
    assert session._wait("a", future) is RIGHT
    assert session._wait("a", future) is RIGHT  # it is done, so nothing is shown
    assert capsys.readouterr().out == "".join(shown)

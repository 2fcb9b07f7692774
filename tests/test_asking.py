"""A launch rule or a constraint that never answers is interrupted, and costs its own cells only."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from mmcore import Dim3, Launch, DeviceProperties, Problem
from mmcore.errors import Unanswered
from mmcore.planning import rules as module
from mmcore.kernel.rules import asking
from mmcore.kernel.properties import COMPUTE_9_0
from mmcore.planning.plan import plan
from mmcore.registry import Registered, registry
from tests.own_kernel import own

LATE = r"had not answered after 0\.2 s for 8×8×8 in 32×1 blocks: it was at test_asking\.py:\d+"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.2)
    monkeypatch.setattr(module, "_AGAIN_SECONDS", 0.1)
    monkeypatch.setattr(module, "_unanswered", {})


@pytest.fixture
def alarms() -> Iterator[list[float]]:
    """When the alarm of somebody else went off."""
    found: list[float] = []
    handler = signal.signal(signal.SIGALRM, lambda number, frame: found.append(time.monotonic()))
    yield found
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, handler)


def wait_for_ever(*asked: object) -> NoReturn:
    while True:
        time.sleep(10)


def compute_for_ever(*asked: object) -> NoReturn:
    while True:
        pass


def catch_errors(*asked: object) -> NoReturn:
    while True:
        with contextlib.suppress(Exception):
            time.sleep(10)


def catch_everything_once(*asked: object) -> NoReturn:
    with contextlib.suppress(BaseException):
        time.sleep(10)
    wait_for_ever()


class Pondering:
    """A constraint that cannot make up its mind."""

    sentence = "whatever it is"

    def refusal(self, problem: Problem, block: Dim3) -> str:
        compute_for_ever()


@pytest.mark.parametrize("rule", [wait_for_ever, compute_for_ever, catch_errors, catch_everything_once])
def test_a_launch_rule_that_never_returns_is_interrupted(cu_file: Path, rule: Callable[..., NoReturn]) -> None:
    kernel = replace(own(cu_file, ""), launch=rule)
    with pytest.raises(Unanswered, match=rf"^tests\.own: its launch rule {LATE}$"):
        plan(kernel, kernel.problem(8, 8, 8), Dim3(32), COMPUTE_9_0)


def test_a_constraint_that_never_returns_is_interrupted(cu_file: Path) -> None:
    kernel = own(cu_file, "", constraints=(Pondering(),))
    with pytest.raises(Unanswered, match=rf"^tests\.own: a constraint {LATE}$"):
        kernel.refusals(kernel.problem(8, 8, 8), Dim3(32))


def test_the_same_is_not_asked_twice(cu_file: Path) -> None:
    asked = []

    def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
        asked.append(problem.n)
        while problem.n == 8:
            pass
        return Launch(grid=(1,), block=block)

    kernel = replace(own(cu_file, ""), launch=launch)
    for size in (8, 8, 9):
        with pytest.raises(Unanswered) if size == 8 else contextlib.nullcontext():
            plan(kernel, kernel.problem(size, size, size), Dim3(32), COMPUTE_9_0)
    assert asked == [8, 9]


def test_ctrl_c_is_the_users(cu_file: Path) -> None:
    with pytest.raises(KeyboardInterrupt), asking("the test", "nothing"):
        raise KeyboardInterrupt


def test_what_answers_in_time_is_not_interrupted_later() -> None:
    with asking("the test", "nothing"):
        pass
    time.sleep(0.3)


@pytest.mark.parametrize(("their_seconds", "our_seconds"), [(0.15, 0.05), (0.05, 0.15)])
def test_somebody_elses_alarm_goes_off_all_the_same(
    alarms: list[float], their_seconds: float, our_seconds: float
) -> None:
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, their_seconds)
    with asking("the test", "nothing"):
        time.sleep(our_seconds)
    while not alarms and time.monotonic() < began + 10:
        time.sleep(0.01)
    (alarm,) = alarms
    assert 0.14 < alarm - began < 5


def test_other_threads_ask_too() -> None:
    def asked(number: int) -> int:
        with asking("the test", "nothing"):
            return number

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(asked, range(20))) == list(range(20))


def test_a_benchmark_measures_the_others(
    pytester: pytest.Pytester, cu_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = replace(own(cu_file, ""), launch=wait_for_ever)
    monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, "own", "tests"))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makepyfile("def test_kernel(mm_benchmark): mm_benchmark()")
    result = pytester.runpytest("--mm-device=emulator", "--mm-size=16", f"--mm-kernel={kernel.name},upc.kernel00")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*tests.own: its launch rule had not answered after 0.2 s*"])

"""Cells on several workers: who gets which, and what becomes of them when a worker fails."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmcore.cell import Cell, Timing
from mmcore.devices.violations import Violation
from mmcore.errors import MmcoreError, NoDevice, TimeLimit, UnknownKernel
from mmcore.result import Result
from mmcore_engines import Request, Scheduler, connect
from mmcore_engines.cards import card_differences
from mmcore_engines.device_worker import AheadCompiler, DeviceWorker, identity
from mmcore_engines.journal import Journal
from mmcore_engines.processes import Processes
from mmcore_engines.tasks import Task, Tasks
from mmcore_pytest.measuring import Measuring
from tests.command_line import install, installed
from tests.core.test_result import RESULT
from tests.engines.test_locking import answer, other_process
from tests.tables import table

FACTS = {"name": "Test GPU", "compute_capability": [9, 0], "multiprocessors": 132, "driver": "580.1"}
CELL = Cell("acme.fast", 2, 3, 5, seed=1)
Asked = Mapping[str, Any]


@dataclass
class Scripted:
    """A worker with scripted answers, which keeps the requests; it runs in a thread."""

    name: str
    facts: Mapping[str, Any] = field(default_factory=lambda: FACTS)
    common: Mapping[str, str] = field(default_factory=identity)
    supports_timing: bool = False
    answer: Callable[[Asked], Any] = lambda asked: {}  # further fields of the result, or an exception to raise
    met: Callable[[], dict[str, Any]] = dict  # further fields of the answer to hello
    asked: list[Asked] = field(default_factory=list)
    ended: bool = False

    def __post_init__(self) -> None:
        self.thread = ThreadPoolExecutor(1)

    def submit(self, request: bytes) -> Future[bytes]:
        return self.thread.submit(self.work, json.loads(request))

    def work(self, asked: Asked) -> bytes:
        if "hello" in asked:
            device = {"name": "test:0", "identity": f"id of {self.name}", "facts": self.facts}
            found = {"host": "node7", "identity": self.common, "device": device}
            found["device"] |= {"supports_timing": self.supports_timing, "description": "Test GPU"}  # type: ignore[operator]
            return json.dumps({"result": found, **self.met()}).encode()
        self.asked.append(asked)
        more = self.answer(asked)
        if isinstance(more, Exception):
            raise more
        if "error" in more:
            return json.dumps(more).encode()
        result = replace(RESULT, cell=Cell.from_json(asked["arguments"][0]), times=more.pop("times", RESULT.times))
        return json.dumps({"result": {**result.to_json(), **more}}).encode()

    def end(self) -> None:
        self.ended = True

    @property
    def sizes(self) -> list[int]:
        return [asked["arguments"][0]["m"] for asked in self.asked]


def slowly(asked: Asked) -> Any:
    time.sleep(0.01)
    return {}


class Several:
    """An engine of scripted workers; ``later`` join at the second request."""

    def __init__(self, *workers: Scripted, later: Sequence[Scripted] = ()) -> None:
        self.new = [workers, later]
        self.closed = False

    def workers(self) -> Sequence[Scripted]:
        return self.new.pop(0) if self.new else ()

    def close(self) -> None:
        self.closed = True


def spread(*workers: Scripted, said: list[str] | None = None, **options: Any) -> Scheduler:
    later = options.pop("later", ())
    return Scheduler(Several(*workers, later=later), (said if said is not None else []).append, **options)


@pytest.fixture
def said() -> list[str]:
    """Return the list for a scheduler's messages."""
    return []


def begun(*workers: Scripted, journal: Path | None = None, **options: Any) -> Scheduler:
    """Return a scheduler that has begun, without any cells."""
    found = spread(*workers, **options)
    found.start().result()
    found.begin(journal)
    return found


def cells(count: int, first: int = 1) -> list[Cell]:
    return [replace(CELL, m=size) for size in range(first, first + count)]


def results(found: Scheduler, groups: Mapping[str, Sequence[Cell]], **options: Any) -> list[Any]:
    """Return the results of cells, or errors."""
    futures = [found.add(cell, group) for group, several in groups.items() for cell in several]
    try:
        found.start().result()
        found.begin(**options)
        return [future.exception(10) or future.result() for future in futures]
    finally:
        found.close()


@pytest.fixture(autouse=True)
def _as_users_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers have processes, and ask engines for more of them often."""
    monkeypatch.delenv("MMCORE_IN_PROCESS")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # a worker of pytest-xdist measures no times
    monkeypatch.setattr("mmcore_engines.scheduler._POLL_SECONDS", 0.02)


def test_every_cell_is_measured_once_and_its_result_says_where() -> None:
    workers = [Scripted("a"), Scripted("b")]
    asked = cells(40)
    found = results(spread(*workers), {str(cell.m): [cell] for cell in asked})
    assert [result.cell.m for result in found] == [cell.m for cell in asked]
    assert sorted(workers[0].sizes + workers[1].sizes) == [cell.m for cell in asked]
    assert [result.place for result in found] == ["a" if cell.m in workers[0].sizes else "b" for cell in asked]
    assert all(worker.ended for worker in workers)


def test_a_group_is_one_workers_and_the_largest_is_begun_with() -> None:
    workers = [Scripted("a"), Scripted("b")]
    for worker in workers:
        worker.answer = slowly
    found = results(spread(*workers), {"small": cells(2), "large": cells(9, 11), "middle": cells(5, 31)})
    places = [{result.place for result in some} for some in (found[:2], found[2:11], found[11:])]
    assert [len(place) for place in places] == [1, 1, 1]
    first = {worker.sizes[0] for worker in workers}
    assert first == {11, 31}
    owner = next(worker for worker in workers if 11 in worker.sizes)
    assert [size for size in owner.sizes if 11 <= size < 31] == list(range(11, 20))


def test_a_worker_that_is_lost_costs_nothing(said: list[str]) -> None:
    failing = Scripted("a", answer=lambda asked: RuntimeError("the node is gone") if len(failing.asked) == 3 else {})
    other = Scripted("b", answer=slowly)
    found = results(spread(failing, other, said=said), {"one": cells(8), "two": cells(8, 11)})
    assert all(isinstance(result, Result) for result in found)
    assert sorted(failing.sizes[:2] + other.sizes) == [cell.m for cell in (*cells(8), *cells(8, 11))]
    assert said == ["a is left out: the worker was lost (RuntimeError: the node is gone)"]
    assert failing.ended


def test_a_cell_whose_workers_die_is_begun_three_times_and_then_blamed() -> None:
    def answer(asked: Asked) -> Any:
        lost = {"error": "DeviceLost", "text": "the process that ran it was killed by SIGKILL"}
        return lost if asked["arguments"][0]["m"] == 3 else {}

    workers = [Scripted(name, answer=answer) for name in "abcd"]
    found = results(spread(*workers), {"one": cells(5)})
    assert sum(worker.sizes.count(3) for worker in workers) == 3
    assert max(worker.sizes.count(3) for worker in workers) == 1
    (violation,) = found[2].violations
    assert (violation.kind, found[2].verified) == ("process-death", False)
    assert "killed by SIGKILL; this happened 3 times" in violation.message
    assert [result.verified for result in found] == [True, True, False, True, True]


def test_one_worker_alone_begins_again_with_what_its_process_lost() -> None:
    lost = {"error": "DeviceLost", "text": "died"}
    worker = Scripted("a", answer=lambda asked: {} if len(worker.asked) > 1 else lost)
    (found,) = results(spread(worker), {"one": [CELL]})
    assert found.verified


OF_ANOTHER = json.dumps({"result": replace(RESULT, cell=replace(CELL, m=99)).to_json()}).encode()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"{}", "its answer is not valid (KeyError: 'result')"),
        (b"<html>", "its answer is not valid (JSONDecodeError: "),
        (OF_ANOTHER, "its answer is not valid (ValueError: it is another cell's)"),
        (None, "the worker was lost (AttributeError: "),
    ],
)
def test_a_worker_with_an_invalid_answer_is_left_out(answer: bytes | None, why: str, said: list[str]) -> None:
    odd = Scripted("a")
    usual = odd.submit

    def submit(request: bytes) -> Any:
        return usual(request) if b"hello" in request else answer and odd.thread.submit(lambda: answer)

    odd.submit = submit  # type: ignore[method-assign]
    found = spread(odd, later=[Scripted("b")], said=said)
    assert [result.place for result in results(found, {"one": cells(3)})] == ["b"] * 3
    assert len(said) == 1
    assert said[0].startswith(f"a is left out: {why}")


@pytest.mark.parametrize(
    ("part", "why"),
    [(part, f"InvalidProblem: the result's {part} must be an object, not '5'") for part in ("figures", "phases")]
    + [(part, "ValueError: its parts are of other types") for part in ("conditions", "distributions")],
)
def test_a_worker_with_an_answer_of_other_types_is_left_out(part: str, why: str, said: list[str]) -> None:
    found = spread(Scripted("a", answer=lambda asked: {part: 5}), later=[Scripted("b")], said=said)
    (result,) = results(found, {"one": [CELL]})
    assert result.place == "b"
    assert said == [f"a is left out: its answer is not valid ({why})"]


def test_an_engine_that_cannot_be_made_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MmcoreError, match="there is no engine 'rai'; did you mean ray"):
        connect("rai", Request())
    with pytest.raises(MmcoreError, match="has no address"):
        connect("processes", Request("emulator", "somewhere"))
    monkeypatch.setattr(Processes, "__init__", lambda self, request: 1 / 0)
    with pytest.raises(MmcoreError, match=r"^the engine 'processes' cannot be used: ZeroDivisionError: "):
        connect("processes", Request("emulator"))


def test_an_engine_that_cannot_end_loses_nothing() -> None:
    def fail() -> None:
        raise RuntimeError("it does not end")

    worker = Scripted("a")
    engine = Several(worker)
    worker.end = engine.close = fail  # type: ignore[method-assign]
    assert len(results(Scheduler(engine, print), {"one": cells(3)})) == 3


def test_a_worker_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_engines.worker_pool._LATE_SECONDS", 0.0)
    reported = threading.Event()
    slow = Scripted("a", answer=lambda asked: {} if reported.wait(10) else {"error": ""})

    class Said(list[str]):
        def append(self, text: str) -> None:
            super().append(text)
            reported.set()

    said = Said()
    results(spread(slow, said=said), {"one": [replace(CELL, timeout=0.05)]})
    assert said == [f"still waiting for a, which was asked for {CELL.kernel} {CELL.m}×{CELL.n}×{CELL.k}"]


def test_a_worker_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_LATE_SECONDS", "_LOST_SECONDS"):
        monkeypatch.setattr(f"mmcore_engines.worker_pool.{name}", 0.0)
    ended, said = threading.Event(), list[str]()
    mute = Scripted("a", answer=lambda asked: {} if ended.wait(10) else {"error": ""})
    found = spread(mute, later=[Scripted("b")], said=said)
    (result,) = results(found, {"one": [replace(CELL, timeout=0.05)]})
    ended.set()
    assert result.place == "b"
    assert said[-1] == "a is left out: the worker was lost (TimeoutError: it does not answer)"


def test_an_engine_that_fails_later_costs_those_that_would_join() -> None:
    class Failing(Several):
        def workers(self) -> Sequence[Scripted]:
            if self.new:
                return super().workers()
            raise ConnectionError("a hiccup")

    said: list[str] = []
    found = Scheduler(Failing(Scripted("a", answer=slowly)), said.append)
    assert [each.place for each in results(found, {"one": cells(20)})] == ["a"] * 20
    assert said == ["no further workers can join: ConnectionError: a hiccup"]


def test_an_engine_may_return_the_same_workers_again() -> None:
    class Repeating(Several):
        def workers(self) -> Sequence[Scripted]:
            return self.new[0]

    said: list[str] = []
    found = Scheduler(Repeating(Scripted("a", answer=slowly), Scripted("b", answer=slowly)), said.append)
    assert len(results(found, {"one": cells(10), "two": cells(10, 20)})) == 20
    assert (said, found.report()) == ([], ["measured 10 by a, 10 by b"])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("b", "another worker has its name"),
        *((odd, "its name is not a line of text") for odd in (5, None, "", "a\nb", ["a"])),
    ],
)
def test_a_worker_without_a_unique_name_is_left_out(name: Any, why: str, said: list[str]) -> None:
    odd = Scripted(name)
    found = spread(Scripted("b"), odd, said=said)
    assert len(results(found, {"one": cells(3)})) == 3
    assert said == [f"{name} is left out: {why}"]
    assert found.report() == ["measured 3 by b"]
    assert odd.ended or name != "b"


def test_a_journal_that_cannot_be_written_costs_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Journal, *of: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Journal, "record", fail)
    said: list[str] = []
    found = spread(Scripted("a"), said=said)
    assert len(results(found, {"one": cells(5)}, journal=tmp_path / "run.jsonl")) == 5
    assert said == ["no further results are kept for resuming this run: No space left on device"]
    assert not found.can_resume


def test_a_damaged_result_of_a_journal_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    results(spread(Scripted("a")), {"one": []}, journal=path)
    journal = Journal(path, identity())
    journal.record(CELL, FACTS, {"schema": 2})
    journal.close(complete=False)
    worker = Scripted("a")
    assert len(results(spread(worker), {"one": [CELL]}, journal=path)) == 1
    assert worker.sizes == [CELL.m]


def test_another_worker_continues_the_group_of_one_that_was_lost() -> None:
    failing = Scripted("a", answer=lambda asked: RuntimeError("the node is gone"))
    found = begun(failing, later=[Scripted("b")])
    for _ in range(2):
        assert found.add(CELL, "one").result(10).place == "b"
    found.close()


def test_later_cells_of_a_group_go_to_its_worker() -> None:
    tasks = Tasks()
    for worker in "ab":
        tasks.add(Task(CELL, "one", ""))
        tasks.receive()
        assert (tasks.next(worker, set) is None) == (worker == "b")


def test_a_device_whose_process_always_dies_is_left_out() -> None:
    hellos: list[int] = []

    def met() -> dict[str, Any]:
        hellos.append(1)
        error, text = ("DeviceLost", "it died") if len(hellos) < 20 else ("NoDevice", "it was asked 20 times")
        return {"error": error, "text": text}

    found = spread(Scripted("a", met=met))
    with pytest.raises(NoDevice, match="it died"):
        found.start().result()
    found.close()


def test_a_card_that_is_gone_when_its_process_died_is_left_out(said: list[str]) -> None:
    failing = Scripted("a", answer=lambda asked: {"error": "DeviceLost", "text": "it died"})
    gone = {"error": "NoDevice", "text": "cuda:1 does not exist"}
    failing.met = lambda: gone if failing.asked else {}

    def after_the_first(asked: Asked) -> Any:
        end = time.monotonic() + 5
        while not said and time.monotonic() < end:
            time.sleep(0.01)
        return {}

    found = results(
        spread(failing, Scripted("b", answer=after_the_first), said=said), {"one": cells(3), "two": cells(3, 11)}
    )
    assert [result.place for result in found] == ["b"] * 6
    assert said == ["a is left out: cuda:1 does not exist"]


def test_errors_and_time_limits_belong_to_the_cell() -> None:
    late = begun(Scripted("a", answer=lambda asked: {"error": "TimeLimit", "text": "after 5 s"}))
    assert isinstance(late.add(CELL, "one", "module:function").exception(10), TimeLimit), "it is no measurement"
    late.close()

    def answer(asked: Asked) -> Any:
        errors = {
            1: {"error": "UnknownKernel", "text": "there is no kernel"},
            2: {"error": "TimeLimit", "text": "the kernel had not ended after 1 s"},
            3: {"error": "ConstraintViolation", "kernel": "acme.fast", "reasons": ["no", "never"], "text": ""},
        }
        return errors.get(asked["arguments"][0]["m"], {})

    first, second, third, fourth = results(spread(Scripted("a", answer=answer)), {"one": cells(4)})
    assert isinstance(first, UnknownKernel)
    assert second.timed_out
    assert str(third) == "acme.fast: no; never"
    assert fourth.verified


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (
            {"common": {**identity(), "acme-tiled": "1.1 sha256:b"}},
            "node7 has another acme-tiled than this host: 1.1 s",
        ),
        ({"common": {}}, "node7 has another mmcore-cuda than this host: none there"),
        ({"facts": {**FACTS, "driver": "570.9"}}, "its driver is 570.9, but the first worker's is 580.1"),
        ({"facts": {**FACTS, "name": "Test GPU XL"}}, "its name is Test GPU XL, but the first worker's is Test GPU"),
    ],
)
def test_a_worker_that_differs_is_left_out(changed: dict[str, Any], reason: str, said: list[str]) -> None:
    stranger = Scripted("b", **changed)
    end = time.monotonic() + 5
    found = begun(Scripted("a"), said=said, later=[stranger])
    while not said and time.monotonic() < end:
        time.sleep(0.01)
    found.close()
    assert said[0].startswith(f"b is left out: {reason}")
    assert not stranger.asked


def test_a_busy_device_joins_when_it_is_free(said: list[str]) -> None:
    worker = Scripted("a")
    answers = iter(({"busy": "process 7 (pytest)"}, {"busy": "process 7 (pytest)"}, {}))
    worker.met = lambda: next(answers)
    assert results(spread(worker, said=said), {"one": cells(1)})[0].verified
    assert said == ["a is being measured by process 7 (pytest); it joins when it is free"]


def test_without_any_worker_the_reason_is_an_error() -> None:
    worker = Scripted("a", met=lambda: {"error": "NoDevice", "text": "there is no GPU here"})
    found = spread(worker)
    future = found.add(CELL, "one")
    with pytest.raises(NoDevice, match="a is left out: there is no GPU here"):
        found.start().result()
    with pytest.raises(NoDevice):
        future.result(10)
    found.close()


def test_what_is_not_measured_when_a_run_ends_says_so() -> None:
    hanging = threading.Event()
    found = begun(Scripted("a", answer=lambda asked: hanging.wait(10) and {}))
    future = found.add(CELL, "one")
    found.close()
    hanging.set()
    for each in (future, found.add(CELL, "one")):
        with pytest.raises(MmcoreError, match="it was not measured: the run has ended"):
            each.result(10)


def test_cards_are_compared_by_the_time_of_a_reference_kernel() -> None:
    def card(name: str, seconds: float) -> Scripted:
        time = replace(RESULT.times[0], timing=Timing(), rounds=(seconds,))
        return Scripted(name, supports_timing=True, answer=lambda asked: {"times": (time,)})

    several = [card("a", 1.00e-3), card("b", 1.01e-3), card("c", 1.06e-3)]
    found = spread(*several, reference=replace(CELL, timings=(Timing(),)))
    results(found, {str(cell.m): [cell] for cell in cells(30)})
    assert all(worker.sizes[0] == CELL.m for worker in several if worker.asked)
    end = [line for line in found.report() if "median" in line or "differ" in line]
    assert card_differences({"a": 0.9, "b": 1.0, "c": 1.0}, CELL)[0].startswith("3 cards differ by 11.1 % ")
    assert re.match(r"\d cards differ by .* % in the time of acme.fast at 2×3×5", end[0])
    assert end[1:] in ([], ["c (id of c) is 5.0 % slower than the median card"])


REFERENCE = replace(CELL, m=1000, timings=(Timing(),))


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        ({"error": "DeviceError", "text": "the device is broken"}, "the device is broken"),
        ({"violations": [Violation("illegal-address", "it was").to_json()], "times": ()}, "it was"),
    ],
)
def test_a_card_that_fails_is_left_out(failure: dict[str, Any], message: str, said: list[str]) -> None:
    warm = (replace(RESULT.times[0], timing=Timing()),)

    def fails_from_the_third_on(asked: Asked) -> Any:
        return dict(failure) if len(failing.asked) >= 3 else {"times": warm}

    def works(asked: Asked) -> Any:
        time.sleep(0.005)
        return {"times": warm}

    failing = Scripted("a", supports_timing=True, answer=fails_from_the_third_on)
    other = Scripted("b", supports_timing=True, answer=works)
    found = results(spread(failing, other, said=said, reference=REFERENCE), {"one": cells(8), "two": cells(8, 11)})
    wrong = [each for each in found if isinstance(each, MmcoreError) or not each.verified]
    assert len(wrong) == 1
    assert said == [f"a is left out: it does not compute the reference kernel: {said[0].rpartition('kernel: ')[2]}"]
    assert message in said[0]
    assert failing.sizes[0] == failing.sizes[-1] == 1000


def test_a_kernel_that_fails_on_every_card_leaves_none_out(said: list[str]) -> None:
    warm = (replace(RESULT.times[0], timing=Timing()),)
    violations = [Violation("illegal-address", "it was").to_json()]

    def answer(asked: Asked) -> Any:
        return {"times": (), "violations": violations} if asked["arguments"][0]["m"] == 2 else {"times": warm}

    workers = [Scripted(name, supports_timing=True, answer=answer) for name in "ab"]
    found = results(spread(*workers, said=said, reference=REFERENCE), {"one": cells(4)})
    assert [result.verified for result in found] == [True, False, True, True]
    assert said == []


# Interruptions


def test_an_interrupted_run_can_be_resumed(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    worker = Scripted("a", answer=lambda asked: KeyboardInterrupt() if len(worker.asked) == 4 else {})
    found = begun(worker, journal=journal)
    futures = [found.add(cell, "one") for cell in cells(6)]
    assert [future.result(10).cell.m for future in futures[:3]] == [1, 2, 3]
    found.close(complete=False)
    journal.write_text(journal.read_text() + '{"key": "cut o')

    again = Scripted("b")
    second = spread(again)
    continued = results(second, {"one": cells(6)}, journal=journal)
    assert [(result.cell.m, result.place) for result in continued] == [*zip(range(1, 7), "aaabbb", strict=True)]
    assert again.sizes == [4, 5, 6]
    assert "3 before the interruption" in second.report()[0]
    assert not journal.exists()


def test_a_journal_has_each_result_at_once_and_continues_after_a_truncated_line(tmp_path: Path) -> None:
    path, several = tmp_path / "run.jsonl", cells(3)

    def kept() -> list[Any]:
        journal = Journal(path, {})
        journal.close(complete=False)
        return [journal.result(cell, FACTS) for cell in several]

    journal = Journal(path, {})
    journal.record(several[0], FACTS, "one")
    assert kept() == ["one", None, None]
    journal.close(complete=False)
    path.write_text(path.read_text() + '{"key": "cut o')
    journal = Journal(path, {})
    for cell, result in zip(several[1:], ("two", "three"), strict=True):
        journal.record(cell, FACTS, result)
    journal.close(complete=False)
    assert kept() == ["one", "two", "three"]


def test_what_was_measured_of_other_code_or_another_device_is_measured_again(tmp_path: Path) -> None:
    source = tmp_path / "kernel.cu"
    source.write_text("one")
    cell = replace(CELL, kernel={"file": str(source)})

    def measured(worker: Scripted) -> int:
        found = begun(worker, journal=tmp_path / "run.jsonl")
        found.add(cell, "one").result(10)
        found.close(complete=False)
        return len(worker.asked)

    assert [measured(Scripted("a")) for _ in range(2)] == [1, 0]
    assert measured(Scripted("a", facts={**FACTS, "driver": "581"})) == 1
    source.write_text("another")
    assert [measured(Scripted("a")) for _ in range(2)] == [1, 0]


# Places


def test_a_place_answers_with_results_and_with_errors() -> None:
    place = DeviceWorker("emulator")
    try:
        hello = json.loads(place.answer(b'{"hello": true}'))["result"]
        assert (hello["device"]["name"], hello["identity"]) == ("emulator", identity())
        right, wrong = (
            {
                "target": "mmcore.executor.worker:measure_json",
                "arguments": [Cell(kernel, 16, 16, 16, device="emulator").to_json()],
                "timeout": 60,
            }
            for kernel in ("upc.kernel01", "upc.kernel02")
        )
        assert Result.from_json(json.loads(place.answer(json.dumps(right).encode()))["result"]).verified
        answer = json.loads(place.answer(json.dumps(wrong).encode()))
        assert answer["error"] == "UnknownKernel"
        assert "did you mean" in answer["text"]
    finally:
        place.end()


def test_each_config_is_compiled_ahead_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = AheadCompiler()
    ahead.described = {"supports_timing": True}
    compiled: list[int] = []
    monkeypatch.setattr(ahead, "_compile", lambda cell, timeout: compiled.append(cell["config"]["P"]))
    ahead.compile([replace(CELL, config={"P": number}).to_json() for number in (1, 2, 1)], None)
    ahead._threads.shutdown(wait=True)
    assert sorted(compiled) == [1, 2]


def test_a_place_waits_for_its_device_and_frees_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    install(tmp_path, "fragile-device", "fragile", "from tests.fragile_device import mmcore_devices\n")

    def another() -> tuple[subprocess.Popen[str], str]:
        process = other_process("device-fragile-number-0")
        return process, answer(process)

    with installed(tmp_path):
        place = DeviceWorker("fragile:0")
        process, said = another()
        assert said == "taken"
        for _ in range(2):
            assert json.loads(place.answer(b'{"hello": true}')).keys() == {"busy"}
        process.communicate()
        assert "result" in json.loads(place.answer(b'{"hello": true}'))
        monkeypatch.delenv("MMCORE_LOCK_HOLDERS")  # the other is no child of the holder's
        process, said = another()
        assert said.startswith(f"process {os.getpid()}")
        process.communicate()
        place.end()
        process, said = another()
        assert said == "taken"
        process.communicate()


def test_a_worker_process_that_is_killed_loses_nothing_and_its_device_goes_on() -> None:
    engine = Processes(Request("emulator,emulator"))
    workers = list(engine.workers())
    engine._new = workers[:]
    said: list[str] = []
    found = Scheduler(engine, said.append)
    asked = [replace(CELL, kernel="upc.kernel01", m=32 + index, n=64, k=64, timeout=60) for index in range(60)]
    futures = [found.add(cell, str(cell.m)) for cell in asked]
    found.start().result()
    found.begin()
    futures[4].result(60)
    process = workers[0]._device_worker._process
    assert process is not None
    process._process.kill()
    results = [future.result(60) for future in futures]
    found.close()
    assert [result.cell.m for result in results] == [cell.m for cell in asked]
    assert all(result.verified for result in results)
    assert not [text for text in said if "left out" in text]
    assert {result.place for result in results[-20:]} == {"emulator", "emulator #2"}


# Engines


@table(
    "cards device expected",
    """
    0 emulator           emulator
    0 emulator,emulator  emulator emulator
    0 all                emulator
    0 auto               emulator
    3 all                cuda:0 cuda:1 cuda:2
    3 cuda:2,cuda        cuda:2 cuda:0
    """,
)
def test_devices_of_this_machine(cards: str, device: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_cuda.CudaProvider.count", lambda self: int(cards))
    assert Request(device).local_devices() == expected.split()
    if cards == "3":
        with pytest.raises(NoDevice, match="cuda:1 is named twice, and a card measures one cell at a time"):
            Request("cuda:1,all").local_devices()


def test_without_ray_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "mmcore_engines.ray.engine", raising=False)
    with pytest.raises(MmcoreError, match=r"needs Ray: python -m pip install 'mmcore-cuda\[ray\]'"):
        connect("ray", Request())


# pytest


OPTIONS = ("--mm-kernel", "upc.kernel01,upc.kernel11", "--mm-size", "8,16", "--mm-device", "emulator,emulator")


@pytest.fixture
def bench(pytester: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    pytester.makepyfile("def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    return lambda *options: pytester.runpytest_inprocess(*OPTIONS, *options, no_reraise_ctrlc=True)


def test_a_run_on_two_workers(bench: Callable[..., pytest.RunResult], pytester: pytest.Pytester) -> None:
    # Without --benchmark-json: before 5.3 it opens the file whenever pytest reads the options, which it does twice.
    result = bench()
    result.assert_outcomes(passed=12)
    # How the workers share the groups is up to chance.
    result.stdout.fnmatch_lines(["mmcore: emulator,emulator; counts*"])
    (results,) = pytester.path.glob(".benchmarks/**/*.json")
    saved = json.loads(results.read_text())["benchmarks"]
    counts = Counter((each["group"], each["extra_info"]["place"]) for each in saved)
    assert list(counts.values()) == [6, 6], "a group is one worker's"
    by_worker = Counter(each["extra_info"]["place"] for each in saved)
    (report,) = re.findall(r"^measured (.*)$", result.stdout.str(), re.MULTILINE)
    assert {place: int(count) for count, place in re.findall(r"(\d+) by ([^,]+)", report) if int(count)} == by_worker
    assert by_worker.keys() <= {"emulator", "emulator #2"}


def test_an_interrupted_run_is_continued(bench: Callable[..., pytest.RunResult], pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "import pytest\n"
        "def pytest_runtest_logreport(report):\n"
        "    if report.when == 'call' and 'kernel11-16x16x16-b8' in report.nodeid: raise KeyboardInterrupt\n"
    )
    interrupted = bench()
    assert interrupted.ret == pytest.ExitCode.INTERRUPTED
    interrupted.stdout.fnmatch_lines(["*mmcore: * of 12 cells are measured; the same command resumes from there*"])
    assert not list(pytester.path.glob(".benchmarks/**/*.json")), "the run that resumes it saves it"
    (pytester.path / "conftest.py").unlink()
    result = bench()
    result.assert_outcomes(passed=12)
    assert "before the interruption" in result.stdout.str()


def test_two_runs_of_the_same_do_not_share_a_journal(tmp_path: Path, said: list[str]) -> None:
    path = tmp_path / "run.jsonl"
    with other_process(f"journal-{path}") as other:
        assert answer(other) == "taken"
        found = spread(Scripted("a"), said=said)
        assert len(results(found, {"one": cells(2)}, journal=path)) == 2
        other.communicate()
    assert said == [f"this run cannot be resumed after an interruption: process {other.pid} (-c) is measuring the same"]
    assert not found.can_resume


def measuring_on(engine: Several, say: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> Measuring:
    monkeypatch.setattr("mmcore_pytest.measuring.connect", lambda name, request: engine)
    monkeypatch.setattr("mmcore_pytest.measuring.engine_named", lambda name: lambda request: engine)
    options: Any = SimpleNamespace(device="auto", spread=False, engine="", engine_address="")
    return Measuring(options, say)


def test_messages_come_from_pytests_own_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    # What another thread writes while pytest captures a test's output may be lost with that.
    failing = Scripted("a", answer=lambda asked: RuntimeError("the node is gone"))
    said: list[tuple[int, str]] = []
    engine = Several(failing, later=[Scripted("b")])
    measuring = measuring_on(engine, lambda text: said.append((threading.get_ident(), text)), monkeypatch)
    measuring.submit({"it": (CELL, "one")}, None)
    assert measuring.result("it", CELL).place == "b"
    measuring.close({"it", "1", "2", "3"})
    lost = "mmcore: a is left out: the worker was lost (RuntimeError: the node is gone)"
    assert said == [(threading.get_ident(), lost)]


def test_without_a_worker_the_engine_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Several()
    measuring = measuring_on(engine, print, monkeypatch)
    for _ in range(2):
        with pytest.raises(NoDevice, match="the engine has no worker"):
            _ = measuring.described
    assert engine.closed


@pytest.mark.parametrize(("reported", "kept"), [({"1"}, True), ({"1", "2"}, False)])
def test_unread_cells_are_kept(
    reported: set[str], kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    measuring = measuring_on(Several(Scripted("a")), said.append, monkeypatch)
    measuring.submit({str(cell.m): (cell, "one") for cell in cells(2)}, tmp_path)
    for cell in cells(2):
        measuring.result(str(cell.m), cell)
    measuring.close(reported)
    assert bool([*tmp_path.glob("*.jsonl")]) == kept
    assert said == ["mmcore: 2 of 2 cells are measured; the same command resumes from there"] * kept


def test_the_next_run_measures_cells_without_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = Scripted("a", answer=lambda asked: {} if asked["arguments"][0]["m"] == 1 else RuntimeError("gone"))
    said: list[str] = []
    measuring = measuring_on(Several(dying), said.append, monkeypatch)
    measuring.submit({str(cell.m): (cell, "one") for cell in cells(3)}, tmp_path)
    measuring.result("1", cells(1)[0])
    with pytest.raises(MmcoreError):
        measuring.result("3", cells(3)[2])
    measuring.close({"1", "2", "3"})
    assert said[-1] == "mmcore: 1 of 3 cells are measured; the same command resumes from there"
    assert [*tmp_path.glob("*.jsonl")]


def test_waiting_for_a_cell_reports_how_many_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    several, reported = cells(3), threading.Event()
    said: list[str] = []
    worker = Scripted(
        "a", answer=lambda asked: {} if len(worker.asked) < 3 else {} if reported.wait(10) else {"error": ""}
    )

    def say(text: str) -> None:
        said.append(text)
        if "2 of 3" in text:
            reported.set()

    monkeypatch.setattr("mmcore_pytest.measuring._PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr("mmcore_pytest.measuring._POLL_SECONDS", 0.02)
    measuring = measuring_on(Several(worker), say, monkeypatch)
    measuring.submit({str(cell.m): (cell, "one") for cell in several}, None)
    assert measuring.result("3", several[2]).cell.m == 3
    measuring.close({"it", "1", "2", "3"})
    assert said[-1] == "mmcore: 2 of 3 cells are measured"


def test_without_pytests_cache_nothing_is_kept(bench: Callable[..., pytest.RunResult]) -> None:
    bench("-p", "no:cacheprovider", "--mm-block", "8").assert_outcomes(passed=4)


def test_the_report_sums_up_many_workers() -> None:
    found = spread(*(Scripted(f"worker {number}") for number in range(9)))
    results(found, {str(cell.m): [cell] for cell in cells(50)})
    assert re.match(r"measured 50 by \d workers \(\d+ to \d+ by each\)", found.report()[0])


@pytest.mark.parametrize("option", ["--mm-spread", "--mm-engine-address=auto"])
def test_options_for_several_workers_need_several(option: str, pytester: pytest.Pytester) -> None:
    said = pytester.runpytest_inprocess(option, "--mm-device", "emulator").stderr.str()
    assert "is for several workers; add --mm-device all or --mm-engine" in said


def test_an_unknown_device_is_reported_when_the_run_begins(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    result = pytester.runpytest_inprocess("--mm-device", "emulator,cube")
    assert "there is no device 'cube'" in result.stdout.str()
    assert result.ret == pytest.ExitCode.INTERRUPTED

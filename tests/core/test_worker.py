"""A kernel that crashes its process, hangs or forges its result costs its own cell, and nothing else."""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmcore import DeviceError, Kernel, MmcoreError, NoDevice, executor
from mmcore.cell import Cell, Timing
from mmcore.errors import (
    CompileError,
    ConstraintViolation,
    DeviceLost,
    SharedMemoryExceeded,
    TimeLimit,
    UnsupportedInstruction,
    error_from_json,
    error_to_json,
)
from mmcore.executor import IN_PROCESS, end_workers, measure_cell, run, worker_client
from mmcore.executor import worker as worker_module
from mmcore.executor.choose_device import device_name
from mmcore.executor.worker_client import WorkerProcess
from mmcore.plugin_table import Origin
from mmcore.registry import Registry
from mmcore.result import Result
from tests.command_line import install, installed, python_path
from tests.kernel_sources import kernel_source
from tests.tables import table

DESCRIBE = "mmcore.executor.worker:describe"
RIGHT = kernel_source("one_element_a_thread")


@pytest.fixture(scope="module", autouse=True)
def _fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use worker processes, as in normal use, and install the plugin with the fragile device."""
    site = tmp_path_factory.mktemp("site")
    install(site, "fragile-device", "fragile", "from tests.fragile_device import mmcore_devices\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(IN_PROCESS)
        patch.syspath_prepend(Path(__file__).parents[2])
        with installed(site):
            yield
            end_workers()


def cell(folder: Path, name: str, size: int = 16, **asked: Any) -> Cell:
    """Return a cell of a right kernel; the name of its .cu file is the command for the fragile device."""
    source = folder / f"{name}.cu"
    source.write_text(RIGHT)
    usual: dict[str, Any] = {"device": "fragile", "timings": (Timing(max_seconds=0.01, min_rounds=3),)}
    return Cell({"file": str(source)}, size, size, size, **{**usual, **asked})


def measured(folder: Path, name: str, size: int = 16, **asked: Any) -> Result:
    return measure_cell(cell(folder, name, size, **asked))


def worker() -> int:
    """Return the worker's process, after starting one if there is none."""
    return int(run("fragile:0", DESCRIBE)["facts"]["process"])


def gone(process: int) -> bool:
    """Return whether a process has ended, or is a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def eventually_gone(process: int) -> bool:
    end = time.monotonic() + 10
    while not gone(process) and time.monotonic() < end:
        time.sleep(0.02)
    return gone(process)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., WorkerProcess]:
    """Start a script as a worker process; it finds the connection to its client in ``connection``."""

    def start(script: str, *arguments: str, grace: float | None = None) -> WorkerProcess:
        def started(_device: str, theirs: Any) -> subprocess.Popen[bytes]:
            with theirs:
                command = [sys.executable, "-c", SCRIPT + script, *arguments, str(theirs.fileno())]
                return subprocess.Popen(command, pass_fds=(theirs.fileno(),), start_new_session=True)

        monkeypatch.setattr(worker_client, "_started", started)
        if grace is not None:
            monkeypatch.setattr(worker_client, "_GRACE_SECONDS", grace)
        return WorkerProcess("scripted")

    return start


SCRIPT = """import json, socket, sys, time
connection = socket.socket(fileno=int(sys.argv[-1]))
def send(**message):
    connection.sendall(json.dumps(message).encode() + b"\\n")
"""


def test_right_kernels_are_verified_and_timed_in_one_other_process(tmp_path: Path) -> None:
    result = measured(tmp_path, "right")
    assert result.verified
    assert result.kernel_seconds == pytest.approx(1e-4, rel=0.02)
    assert list(result.phases) == ["open", "plan", "compile", "allocate", "verify", "time"]
    process = worker()
    assert process != os.getpid()
    assert measured(tmp_path, "right", 8).verified
    assert worker() == process


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("segfaults", "process-death", "the process that ran it was killed by SIGSEGV"),
        ("exits", "process-death", "the process that ran it ended with status 3"),
        ("loses", "illegal-address", "the kernel accessed memory that is not there"),
        ("hangs", "timeout", "the kernel had not ended after 0.6 s"),
        ("hangs_when_timed", "timeout", "the kernel had not ended, launched to be timed, after 0.6 s"),
    ],
)
def test_the_cause_is_reported_and_a_new_process_started(tmp_path: Path, name: str, kind: str, message: str) -> None:
    before = worker()
    result = measured(tmp_path, name, timeout=0.6)
    assert not result.verified
    assert result.kernel_seconds is None
    assert result.timed_out == (kind == "timeout")
    assert (result.cell.device, result.to_json()["device"]) == ("fragile:0", "fragile:0")
    assert kind != "process-death" or result.kernel == str(tmp_path / f"{name}.cu")
    assert [(each.kind, each.message, each.fatal) for each in result.violations] == [(kind, message, True)]
    assert eventually_gone(before)
    assert measured(tmp_path, "right").verified
    assert worker() != before


def test_an_error_is_the_same_as_in_the_callers_process(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="the 1052676 bytes of A cannot be allocated: out of memory"):
        measured(tmp_path, "right", 513)
    with pytest.raises(MmcoreError, match="RuntimeError: the driver is confused"):
        measured(tmp_path, "raises")
    with pytest.raises(ConstraintViolation) as violation:
        measured(tmp_path, "right", config={"block": [64, 64]})
    assert violation.value.reasons == ("a 64×64 block has 4096 threads; the device allows 1024",)
    broken = cell(tmp_path, "broken")
    (tmp_path / "broken.cu").write_text(RIGHT.replace("float sum", "nonsense sum"))
    with pytest.raises(CompileError, match=r"broken\.cu\(3\): error"):
        measure_cell(broken)


@pytest.mark.parametrize(
    "error",
    [
        *(DeviceError("out of memory"), UnsupportedInstruction("wgmma"), TimeLimit("late")),
        ConstraintViolation("acme.fast", ["n is odd", "m is even"]),
        SharedMemoryExceeded("acme.fast", ["a block asks for 1 byte"]),
    ],
)
def test_an_error_survives_json(error: MmcoreError) -> None:
    again = error_from_json(json.loads(json.dumps(error_to_json(error))))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize(("value", "own"), [("1", True), ("0", False), ("", False)])
def test_a_variable_keeps_work_in_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, own: bool
) -> None:
    monkeypatch.setenv(IN_PROCESS, value)
    assert (worker() == os.getpid()) == own
    asked = cell(tmp_path, "right", device="emulator", timings=())
    nameless = Kernel(name="tests.nameless", source=tmp_path / "right.cu", configs=[{"block": 8}])
    assert measure_cell(replace(asked, kernel=nameless.name), kernel=nameless).verified, "no other process knows it"


def test_phases_that_follow_each_other_for_ever_reach_the_time_limit(scripted: Callable[..., WorkerProcess]) -> None:
    # A worker that exceeds its own time limit, like one with a kernel that holds the interpreter's lock.
    process = scripted(
        """
for phase in ["plan", "compile", "verify", *["time"] * 17]:
    send(phase=phase)
    time.sleep(0.3)
""",
        grace=0.1,
    )
    with pytest.raises(TimeLimit, match=r"the phase 'time' had not ended after 0\.9 s"):
        process.ask("module:function", [], 0.9)
    assert not process.alive


def test_a_process_has_more_time_for_its_first_request(scripted: Callable[..., WorkerProcess]) -> None:
    answers_after_a_second = "while connection.recv(1 << 16):\n    time.sleep(1)\n    send(result='late')\n"
    process = scripted(answers_after_a_second, grace=0.1)
    assert process.ask("module:function", [], 0.1) == "late"
    assert process.ask("module:function", [], None) == "late"
    with pytest.raises(TimeLimit, match=r"^the phase 'start' had not ended after 0\.1 s$"):
        process.ask("module:function", [], 0.1)
    assert not process.alive


def test_a_worker_reads_nothing_of_the_commands_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reads_input.py").write_text(
        "import os\ndef read(device, phases):\n    return os.read(0, 99).decode()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    ours, theirs = os.pipe()
    os.write(theirs, b"the command's")
    kept = os.dup(0)
    os.dup2(ours, 0)
    try:
        process = WorkerProcess("fragile:0")
        assert process.ask("reads_input:read", [], 60.0) == ""
        assert os.read(0, 99) == b"the command's"
        process.end()
    finally:
        os.dup2(kept, 0)
        for each in (ours, theirs, kept):
            os.close(each)


def test_an_answer_may_arrive_in_several_parts(tmp_path: Path) -> None:
    """A compiler's log of a megabyte and more."""
    source = tmp_path / "long.cu"
    source.write_text(RIGHT.replace("float sum", f"{'x' * 1_500_000} sum"))
    with pytest.raises(CompileError, match=r"x{1000000}"):
        measure_cell(Cell({"file": str(source)}, 4, 4, 4, device="fragile"))


def test_the_time_limit_of_a_cell_that_failed_ends_no_later_one(tmp_path: Path) -> None:
    process, begin = worker(), time.monotonic()
    with pytest.raises(MmcoreError, match="the driver is confused"):
        measured(tmp_path, "raises")
    limit = max(0.1, time.monotonic() - begin)  # more than the second takes, which compiles nothing
    with pytest.raises(MmcoreError, match="the driver is confused"):
        measured(tmp_path, "raises", timeout=limit)
    time.sleep(limit + 1.2)  # the limit, and the second in which a device may stop a kernel itself
    assert worker() == process


def test_a_worker_imports_nothing_of_the_folder_and_prints_nothing_on_stdout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "queue.py").write_text("raise RuntimeError('this is not the standard library')\n")
    monkeypatch.chdir(tmp_path)
    end_workers()
    assert measured(tmp_path, "prints").verified
    printed = capfd.readouterr()
    end_workers()
    assert printed.out == ""
    assert "x" * 1000 in printed.err


@pytest.mark.parametrize(
    ("name", "violation"),
    [
        ("lazy", "launched again on the same inputs it takes 1.00 µs, but 100.00 µs on fresh ones: "
         "repeated launches do not do the whole work"),
        ("tires", "it was verified at first, and run again on other inputs it is wrong"),
        ("alternates", "it was verified at first, and run again on other inputs it is wrong"),
    ],
)  # fmt: skip
def test_launches_that_do_less_than_the_first_are_not_timed(tmp_path: Path, name: str, violation: str) -> None:
    result = measured(tmp_path, name, 4)
    assert not result.verified
    assert result.kernel_seconds is None
    assert result.failures()[0] == f"unrepeatable: {violation}"


def test_a_device_that_cannot_be_opened_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    end_workers()
    monkeypatch.setenv("FRAGILE_BROKEN", "1")
    with pytest.raises(NoDevice, match="the plugin that provides 'fragile' failed: SystemExit: no such card"):
        run("fragile:0", DESCRIBE)
    with pytest.raises(NoDevice, match="emulator:1 does not exist"):
        run("emulator:1", DESCRIBE)
    end_workers()


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    os.kill(worker(), signal.SIGKILL)
    with pytest.raises(DeviceLost, match="killed by SIGKILL"):
        run("fragile:0", DESCRIBE)
    assert measured(tmp_path, "right").verified


def test_an_interrupted_request_ends_its_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, next_message = worker(), WorkerProcess._next

    def interrupted(process: WorkerProcess, end: float | None, phase: str, timeout: float | None) -> dict[str, Any]:
        if phase == "verify":
            raise KeyboardInterrupt
        return next_message(process, end, phase, timeout)

    with monkeypatch.context() as patch:
        patch.setattr(WorkerProcess, "_next", interrupted)
        with pytest.raises(KeyboardInterrupt):
            measured(tmp_path, "hangs")
    assert eventually_gone(before)
    assert measured(tmp_path, "right").verified


@pytest.mark.parametrize("phases", [["verify"], ["plan"], ["open", "plan", "verify"]], ids="-".join)
def test_a_worker_that_reports_phases_without_end_is_stopped(
    phases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_client, "_GRACE_SECONDS", 0.0)
    talking = object.__new__(WorkerProcess)
    talking._connection, talking._patience = SimpleNamespace(sendall=len), 0.0  # type: ignore[assignment]
    talking._lines = (json.dumps({"phase": phase}).encode() for phase in itertools.cycle(phases))
    talking.end = lambda: None  # type: ignore[assignment]
    with pytest.raises(TimeLimit, match=r"had not ended after 0\.1 s"):
        talking.ask(DESCRIBE, [], 0.1)


def test_a_worker_that_does_not_report_its_time_limit_is_killed(tmp_path: Path) -> None:
    """Stop the process, like a thread that holds the interpreter's lock."""
    device = WorkerProcess("fragile:0")
    process = device.ask(DESCRIBE, [], None)["facts"]["process"]
    os.kill(process, signal.SIGSTOP)
    begin = time.monotonic()
    with pytest.raises(TimeLimit, match=r"had not ended after 0\.1 s"):
        device.ask("mmcore.executor.worker:measure_json", [cell(tmp_path, "right").to_json()], 0.1)
    assert time.monotonic() - begin < 10
    assert eventually_gone(process)


def test_the_worker_ends_with_the_process_that_uses_it() -> None:
    script = (
        "import time; from mmcore.executor import run\n"
        f"print(run('fragile:0', {DESCRIBE!r})['facts']['process'], flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": python_path()},
    ) as user:
        assert user.stdout is not None
        process = int(user.stdout.readline())
        assert not gone(process)
        user.kill()
    assert eventually_gone(process)


def test_the_worker_ends_with_that_process_when_its_answer_was_not_read() -> None:
    asking = WorkerProcess("emulator")
    request: dict[str, Any] = {"target": DESCRIBE, "arguments": [], "timeout": None}
    asking._connection.sendall(json.dumps(request).encode() + b"\n")
    assert select.select([asking._connection], [], [], 60)[0], "the first phase is reported, and is not read"
    asking._connection.close()
    assert asking._process.wait(60) == 0


def test_a_device_has_time_to_stop_a_kernel_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up: list[float] = []
    monkeypatch.setattr(worker_module, "_give_up", lambda connection, phase, limit, thread: given_up.append(limit))

    def stopped(*asked: object) -> str:
        time.sleep(0.3)
        return "stopped"

    monkeypatch.setattr(worker_module, "call", stopped)
    with open(os.devnull, "r+b", buffering=0) as connection:
        request = {"target": "module:function", "arguments": [], "timeout": 0.1}
        answer = worker_module._answer("fragile:0", request, connection)
    assert (answer, given_up) == ({"result": "stopped", "lost": False}, [])


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_message_is_sent_whole_however_little_a_connection_takes_at_a_time(step: int) -> None:
    sent = bytearray()

    def write(line: bytes) -> int:
        sent.extend(line[:step])
        return min(step, len(line))

    worker_module._send(SimpleNamespace(write=write), {"result": "m×n " * 50})  # type: ignore[arg-type]
    assert sent.endswith(b"\n")
    assert json.loads(sent) == {"result": "m×n " * 50}


def test_ctrl_c_in_the_terminal_is_for_the_command_alone() -> None:
    # What a shell starts in the background ignores it, and so do its children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    end_workers()
    try:
        process = worker()
        assert os.getpgid(process) != os.getpgrp()
        os.kill(process, signal.SIGINT)
        time.sleep(0.1)
        assert worker() == process
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_path_of_a_worker_is_the_commands_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here.py").write_text("from mmcore.executor.worker import describe\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    end_workers()
    try:
        assert run("fragile:0", "here:describe")["name"] == "fragile:0"
    finally:
        end_workers()


def test_calls_at_the_same_time_have_a_process_each(tmp_path: Path) -> None:
    first, results = worker(), list[Result]()
    busy = threading.Thread(target=lambda: results.append(measured(tmp_path, "hangs", timeout=3)))
    busy.start()
    while executor._idle["fragile:0"]:
        time.sleep(0.01)
    second = worker()
    assert second != first
    assert worker() == second
    busy.join()
    assert [result.timed_out for result in results] == [True]
    assert worker() == second


def test_a_forked_process_neither_has_nor_ends_its_parents_workers() -> None:
    number, device = worker(), WorkerProcess("fragile:0")
    assert device.alive
    child = os.fork()
    if not child:
        end_workers()
        os._exit(device.alive)
    assert os.waitpid(child, 0)[1] == 0
    assert worker() == number
    device.end()
    assert not device.alive


def test_the_time_limit_begins_when_the_device_is_open(scripted: Callable[..., WorkerProcess]) -> None:
    opens_slowly = "send(phase='open')\ntime.sleep(0.5)\nsend(phase='plan')\nsend(result=1)\nconnection.recv(1 << 16)"
    process = scripted(opens_slowly)
    assert process.ask("module:function", [], 0.05) == 1
    process.end()


def test_a_device_is_described_by_its_name_its_facts_and_its_peaks() -> None:
    described = run("fragile:0", DESCRIBE)
    assert described["identity"] == "fragile-number-0"
    assert described.keys() == {"name", "identity", "description", "supports_timing", "properties", "facts", "peaks"}
    assert (described["name"], described["supports_timing"]) == ("fragile:0", True)
    assert described["peaks"] == {"flops": {"float32": 1e15, "float64": 1e15}, "bytes_per_second": 1e12}
    assert run("emulator", DESCRIBE)["peaks"] is None


@table(
    "counts chosen",
    "slow=1,fast=2 fast:0; slow=1,fast=0 slow; fast=1,slow=1 fast:0; slow=1,own=1 slow; slow=0,own=1 none",
)
def test_auto_is_the_highest_priority(monkeypatch: pytest.MonkeyPatch, counts: str, chosen: str) -> None:
    providers = Registry()
    for kind, _, count in (word.partition("=") for word in counts.split(",")):
        provider: Any = SimpleNamespace(name=kind, supports_timing=kind != "slow", count=lambda count=count: int(count))
        provider.auto_priority = {"fast": 1, "slow": 0}.get(kind)
        providers.providers.enter(kind, provider, Origin(kind, "acme"))
    monkeypatch.setattr("mmcore.executor.choose_device.registry", lambda: providers)
    with nullcontext() if chosen != "none" else pytest.raises(NoDevice, match="no device was found; mmcore doctor"):
        assert device_name("auto") == chosen
    assert (device_name("slow"), device_name("slow:3")) == ("slow", "slow:3")
    for kind in set(providers.providers) - {"slow"}:
        assert (device_name(kind), device_name(f"{kind}:2")) == (f"{kind}:0", f"{kind}:2")

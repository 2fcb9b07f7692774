"""A kernel that brings its process down, hangs or lies costs its own cells, and nothing else."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmcore import DeviceError, DeviceLost, Kernel, MmcoreError, NoDevice
from mmcore.experiment import Experiment
from mmcore.devices.choose import open_device, open_in_process
from mmcore.devices.identity import identity
from mmcore.executor import IsolatedDevice
from mmcore.outcome import Outcome
from mmcore.runner import run_kernel
from tests import wrong_kernels
from tests.fragile_device import FragileDevice, FragileProvider


@pytest.fixture(scope="module")
def fragile() -> Iterator[IsolatedDevice]:
    device = IsolatedDevice(FragileProvider(), 0)
    yield device
    device.close()


@pytest.fixture(autouse=True)
def _no_limit(fragile: IsolatedDevice) -> Iterator[None]:
    yield
    fragile.deadline.set(None)


def kernel(folder: Path, name: str, **declared: Any) -> Kernel:
    """The right kernel in a .cu file of that name, which tells the device what to do."""
    written = wrong_kernels.kernel(folder, **declared)
    return type(written)(**{**vars(written), "source": written.source.rename(folder / f"{name}.cu")})


def run(device: Any, found: Kernel, size: int = 16) -> Outcome:
    return run_kernel(found, found.problem(size, size, size), found.block("16x8"), device)


def worker_of(device: IsolatedDevice) -> int:
    """The worker's process; a new one is started when there is none."""
    assert device.limits
    return int(device.facts["process"])


def test_a_device_is_known_by_its_own_identity_through_its_worker(fragile: IsolatedDevice) -> None:
    assert identity(fragile) == identity(FragileProvider().open(0))


def test_a_right_kernel_is_verified_and_timed_in_another_process(fragile: IsolatedDevice, tmp_path: Path) -> None:
    outcome = run(fragile, kernel(tmp_path, "right"))
    assert outcome.verified
    assert outcome.kernel_seconds == pytest.approx(1e-4, rel=0.02)
    assert outcome.end_to_end_seconds == pytest.approx(5e-4, rel=0.02)
    assert worker_of(fragile) != os.getpid()


def test_it_says_of_itself_what_the_device_says_in_process(fragile: IsolatedDevice) -> None:
    here = open_in_process("fragile", {"fragile": FragileProvider()})
    assert isinstance(here, FragileDevice)
    for name in ("name", "description", "supports_timing", "architecture", "peaks", "limits"):
        assert getattr(fragile, name) == getattr(here, name), name


def test_providers_that_ask_for_it_are_isolated() -> None:
    device = open_device("fragile:0", {"fragile": FragileProvider()})
    assert isinstance(device, IsolatedDevice)
    device.close()


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("segfaults", "process-death", "the process that ran it was killed by SIGSEGV"),
        ("exits", "process-death", "the process that ran it ended with status 3"),
        ("violations", "illegal-address", "the kernel accessed memory that is not there"),
        ("hangs", "timeout", "the kernel had not ended after 3 s"),
    ],
)
def test_the_cause_is_reported_and_the_next_kernel_has_a_new_process(
    fragile: IsolatedDevice, tmp_path: Path, name: str, kind: str, message: str
) -> None:
    before = worker_of(fragile)
    fragile.deadline.set(3)
    outcome = run(fragile, kernel(tmp_path, name))
    fragile.deadline.set(None)
    assert not outcome.verified
    assert outcome.verification is None
    assert [(violation.kind, violation.message, violation.fatal) for violation in outcome.violations] == [(kind, message, True)]
    assert gone(before)
    assert run(fragile, kernel(tmp_path, "right")).verified
    assert worker_of(fragile) != before


def test_what_hangs_when_it_is_timed_has_no_time(fragile: IsolatedDevice, tmp_path: Path) -> None:
    fragile.deadline.set(3)
    outcome = run(fragile, kernel(tmp_path, "hangs_when_timed"))
    assert not outcome.verified
    assert outcome.kernel_seconds is None
    assert "launched to be timed, timeout: the kernel had not ended after 3 s" in str(outcome.violations[0])


def test_memory_that_cannot_be_had_is_a_sentence(fragile: IsolatedDevice, tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="the 1052676 bytes of A cannot be allocated: out of memory"):
        run(fragile, kernel(tmp_path, "right", constraints=()), 512 + 1)
    assert run(fragile, kernel(tmp_path, "right")).verified


def test_any_other_error_is_a_sentence_too(fragile: IsolatedDevice, tmp_path: Path) -> None:
    with pytest.raises(MmcoreError, match="RuntimeError: the driver is confused"):
        run(fragile, kernel(tmp_path, "raises"))


def test_what_was_made_in_a_worker_that_is_no_more_cannot_be_used(fragile: IsolatedDevice, tmp_path: Path) -> None:
    found = kernel(tmp_path, "right")
    with Experiment(found, found.problem(8, 8, 8), found.block("16x8"), fragile) as experiment:
        os.kill(worker_of(fragile), signal.SIGKILL)
        with pytest.raises(DeviceLost, match="killed by SIGKILL"):
            experiment.verify()
        with pytest.raises(DeviceLost, match="the process in which this was made is no more"):
            experiment.prepared.buffers["A"].upload(np.zeros(1))
        with pytest.raises(DeviceLost, match="the process in which this was made is no more"):
            experiment.prepared.run()
    assert run(fragile, found).verified


def test_what_it_prints_is_no_output_of_ours(
    fragile: IsolatedDevice, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fragile.lose()
    assert run(fragile, kernel(tmp_path, "prints")).verified
    fragile.lose()
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "x" * 1000 in printed.err


def test_repeated_launches_that_do_less_work_are_not_timed(fragile: IsolatedDevice, tmp_path: Path) -> None:
    outcome = run(fragile, kernel(tmp_path, "lazy"))
    assert not outcome.verified
    assert outcome.kernel_seconds is None
    assert [str(violation) for violation in outcome.violations] == [
        "unrepeatable: launched again on the same inputs it takes 1.00 µs, but 100.00 µs on fresh ones: "
        "repeated launches do not do the whole work"
    ]


def test_what_is_right_only_at_first_is_wrong(fragile: IsolatedDevice, tmp_path: Path) -> None:
    outcome = run(fragile, kernel(tmp_path, "tires"), 4)
    assert not outcome.verified
    assert outcome.kernel_seconds is None
    complaints = outcome.complaints()
    assert complaints[0] == "unrepeatable: it was verified at first, and run again on other inputs it is wrong"
    assert complaints[-1] == "16 of the 16 elements compared are wrong"


def test_a_device_that_cannot_be_opened_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAGILE_BROKEN", "1")
    with pytest.raises(MmcoreError, match="ended with status 1"):
        open_device("fragile", {"fragile": FragileProvider()})
    with pytest.raises(NoDevice, match="emulator:1 does not exist"):
        IsolatedDevice(_emulators(), 1)


def test_the_worker_ends_with_the_process_that_uses_it(tmp_path: Path) -> None:
    script = (
        "import sys, time; from tests.fragile_device import FragileProvider\n"
        "from mmcore.executor import IsolatedDevice\n"
        "device = IsolatedDevice(FragileProvider(), 0)\n"
        "print(device.facts['process'], flush=True); time.sleep(60)"
    )
    root = Path(__file__).parent.parent
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=root) as user:
        assert user.stdout is not None
        process = int(user.stdout.readline())
        assert not gone(process)
        user.kill()
    end = time.monotonic() + 10
    while not gone(process) and time.monotonic() < end:
        time.sleep(0.05)
    assert gone(process)


def _emulators() -> Any:
    from mmcore_emulator import EmulatorProvider

    return EmulatorProvider()


def gone(process: int) -> bool:
    """Whether there is no such process, or only what is left of it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_worker_that_nobody_holds_any_more_ends() -> None:
    device = IsolatedDevice(FragileProvider(), 0)
    number = worker_of(device)
    del device
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_the_end_of_a_forked_process_leaves_the_worker_alone() -> None:
    device = IsolatedDevice(FragileProvider(), 0)
    number = worker_of(device)
    child = os.fork()
    if not child:
        device.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert worker_of(device) == number
    device.close()

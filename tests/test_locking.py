"""Locks between processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mmcore.errors import LockFailed
from mmcore.locks import Holder, Lock

HOLD = """
import sys
from mmcore.locks import Lock
lock = Lock("device-of-the-test")
holder = lock.try_to_take()
print(holder or "taken", flush=True)
sys.stdin.read()
"""


def other_process(**environment: str) -> subprocess.Popen[str]:
    """Takes the lock if it can, says so, and keeps it until its stdin ends."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.fixture
def lock() -> Lock:
    return Lock("device-of-the-test")


def test_two_processes_do_not_hold_it_at_once(lock: Lock) -> None:
    with other_process() as other:
        assert answer(other) == "taken"
        holder = lock.try_to_take()
        assert holder is not None
        assert holder.pid == str(other.pid)
        assert str(holder) == f"process {other.pid} (-c)"
        other.communicate()
    assert lock.try_to_take() is None
    lock.release()


def test_a_holder_that_is_killed_holds_it_no_more(lock: Lock) -> None:
    with other_process() as other:
        assert answer(other) == "taken"
        other.send_signal(signal.SIGKILL)
        other.communicate()
    assert lock.try_to_take() is None
    lock.release()


def test_who_waits_is_told_once_for_whom_and_gets_it_then(lock: Lock) -> None:
    told: list[Holder] = []
    with other_process() as other:
        assert answer(other) == "taken"

        def busy(holder: Holder) -> None:
            told.append(holder)
            other.communicate()

        lock.take(busy)
    lock.release()
    assert [holder.pid for holder in told] == [str(other.pid)]


def test_what_a_process_holds_its_children_may_use(lock: Lock) -> None:
    assert lock.try_to_take() is None
    try:
        with other_process() as child:
            assert answer(child) == "taken"
        with other_process(MMCORE_LOCK_HOLDERS="") as stranger:
            assert answer(stranger).startswith(f"process {os.getpid()} (")
    finally:
        lock.release()


def test_other_names_are_other_locks(lock: Lock) -> None:
    with other_process() as other:
        assert answer(other) == "taken"
        another = Lock("device-of-another-test")
        assert another.try_to_take() is None
        another.release()


def test_without_a_cache_locks_are_kept_with_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    lock = Lock("any")
    assert lock.try_to_take() is None
    lock.release()
    assert [path.name for path in (tmp_path / "temporary").glob("*/*")] == ["any"]


def test_where_no_lock_can_be_kept_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    with pytest.raises(LockFailed, match=r"no folder for locks: .*Not a directory.*; MMCORE_CACHE_DIR can name"):
        Lock("any")

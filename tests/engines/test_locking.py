"""Locks between processes."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mmcore_engines.file_locks import Holder, Lock, LockFailed

HOLD = """
import sys
from mmcore_engines.file_locks import Lock
lock = Lock({!r})
print(lock.try_to_take() or "taken", flush=True)
sys.stdin.read()
"""


def other_process(name: str = "device-of-the-test", **environment: str) -> subprocess.Popen[str]:
    """Start a process that tries to take a lock, reports it, and keeps it until its stdin ends."""
    words, pipe = [sys.executable, "-c", HOLD.format(name)], subprocess.PIPE
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=os.environ | environment)


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


def test_only_a_parents_own_number_lets_a_process_in(lock: Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    with other_process() as other:
        assert answer(other) == "taken"
        monkeypatch.setenv("MMCORE_LOCK_HOLDERS", f"1{other.pid} {other.pid}1")
        assert lock.try_to_take() is not None
        lock._holder.unlink()  # as before it is written
        assert str(lock.try_to_take()) == "another process"
        other.communicate()


def test_a_second_lock_does_not_end_the_use_of_a_parents(lock: Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    with other_process() as parent:
        assert answer(parent) == "taken"
        monkeypatch.setenv("MMCORE_LOCK_HOLDERS", str(parent.pid))
        second = Lock("another-device-of-the-test")
        assert second.try_to_take() is None
        assert lock.try_to_take() is None
        second.release()
        parent.communicate()


def test_a_holder_that_is_killed_holds_it_no_more(lock: Lock) -> None:
    with other_process() as other:
        assert answer(other) == "taken"
        other.send_signal(signal.SIGKILL)
        other.communicate()
    assert lock.try_to_take() is None
    lock.release()


def test_what_a_process_holds_its_children_may_use(lock: Lock) -> None:
    assert lock.try_to_take() is None
    try:
        with other_process() as child:
            assert answer(child) == "taken"
        with other_process(MMCORE_LOCK_HOLDERS="") as stranger:
            assert answer(stranger).startswith(f"process {os.getpid()} (")
    finally:
        lock.release()


def test_without_a_cache_locks_are_kept_with_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    lock = Lock("any")
    assert lock.try_to_take() is None
    lock.release()
    (folder,) = (tmp_path / "temporary").iterdir()
    assert [path.suffix for path in folder.iterdir()] == [".lock"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_similar_names_are_different_locks() -> None:
    first, second = Lock("/results/a b"), Lock("/results/a-b")
    assert (first.try_to_take(), second.try_to_take()) == (None, None)
    first.release()
    second.release()


@pytest.mark.parametrize("trap", ["a link", "of another user"])
def test_locks_are_kept_in_no_other_folder(trap: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    user = os.getuid() + (trap == "of another user")
    monkeypatch.setattr(os, "getuid", lambda: user)
    (tmp_path / "elsewhere").mkdir()
    if trap == "a link":
        for name in ("locks", f"mmcore-locks-{user}"):
            (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LockFailed, match="is a link, or another user's"):
        Lock("any")
    assert not list((tmp_path / "elsewhere").glob("*.lock"))


def test_a_link_in_the_place_of_a_lock_is_not_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path))
    lock = Lock("any")
    assert lock.try_to_take() is None
    lock.release()
    (file,) = (tmp_path / "locks").iterdir()
    file.unlink()
    file.symlink_to(tmp_path / "target")
    with pytest.raises(LockFailed, match="files cannot be locked under"):
        lock.try_to_take()
    assert not (tmp_path / "target").exists()


def test_without_any_folder_for_locks_the_error_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    with pytest.raises(LockFailed, match=r"no folder for locks: .*Not a directory.*; MMCORE_CACHE_DIR can name"):
        Lock("any")


def test_a_holder_without_a_name_has_the_lock_all_the_same(lock: Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    lock._holder.write_text("4711 of a run that was killed")
    monkeypatch.setattr("mmcore_engines.file_locks.replace", full)
    assert lock.try_to_take() is None
    try:
        with other_process(MMCORE_LOCK_HOLDERS="") as stranger:
            assert answer(stranger) == "another process"
    finally:
        lock.release()
    with other_process() as other:
        assert answer(other) == "taken"


def test_a_lock_without_room_is_a_temporary_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened = os.open

    def full(path: Path, flags: int, *mode: int, **options: int) -> int:
        if flags & os.O_CREAT and Path(path).is_relative_to(tmp_path / "cache"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return opened(path, flags, *mode, **options)

    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "open", full)
    lock = Lock("any")
    assert lock.try_to_take() is None
    lock.release()
    assert lock._holder.is_relative_to(tmp_path / f"mmcore-locks-{os.getuid()}")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_pipe_or_folder_instead_of_a_holders_name_does_not_block(lock: Lock, make: Callable[[Path], None]) -> None:
    lock._holder.unlink(missing_ok=True)
    make(lock._holder)
    try:
        assert lock.try_to_take() is None
    finally:
        lock.release()
        with contextlib.suppress(FileNotFoundError):
            lock._holder.rmdir()
    with other_process() as other:
        assert answer(other) == "taken"
        lock._holder.unlink()
        os.mkfifo(lock._holder)
        assert str(lock.try_to_take()) == "another process"
        other.communicate()
    lock._holder.unlink()


def test_a_folder_of_locks_becomes_the_users_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path))
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks").chmod(0o777)
    Lock("any")
    assert stat.S_IMODE((tmp_path / "locks").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["/opt/bin/mmcore", "run", "a b"], "mmcore run 'a b'"),
        (["/site/pytest/__main__.py", "bench/"], "pytest bench/"),
        (["/opt/bin/pytest", *["x" * 9] * 20], ("pytest " + "xxxxxxxxx " * 20)[:100]),
    ],
)
def test_a_holder_has_a_command(lock: Lock, monkeypatch: pytest.MonkeyPatch, words: list[str], command: str) -> None:
    monkeypatch.setattr(sys, "argv", words)
    assert lock.try_to_take() is None
    try:
        assert lock._holder.read_text() == f"{os.getpid()} {command}"
    finally:
        lock.release()


def test_waiting_reports_the_holder_once(lock: Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [Holder("1", "one"), Holder("1", "one"), Holder("2", "two"), None]
    reported: list[Holder] = []
    waited: list[float] = []
    monkeypatch.setattr(lock, "try_to_take", lambda: answers.pop(0))
    monkeypatch.setattr("mmcore_engines.file_locks.time.sleep", waited.append)
    lock.take(reported.append)
    assert (answers, reported, len(waited)) == ([], [Holder("1", "one")], 2)

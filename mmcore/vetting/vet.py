"""Which plugins must not be loaded, and why; what was found is remembered until their files change."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

from mmcore.cache import cache_directory

# What a record of the present form is known by.
_FORMAT = 3

#: How long loading one plugin may take.
SECONDS = 30.0
#: How long one that must not be loaded is remembered: the reason may lie outside its files.
REMEMBERED_SECONDS = 3600.0


def vet(entry_points: Sequence[EntryPoint]) -> dict[EntryPoint, str]:
    """The plugins among ``entry_points`` that must not be loaded, with the reason.

    Such a plugin ends or hangs the process that loads it, or replaces what mmcore, pytest, pytest-benchmark, numpy or
    the standard library are made of. One that merely raises, or declares nonsense, is none of these.
    """
    known = {each: _remembered(each) for each in entry_points}
    unknown = [each for each, reason in known.items() if reason is None]
    while unknown:
        for entry_point, reason in zip(unknown, _verdicts(unknown), strict=False):
            known[entry_point] = reason
            _remember(entry_point, reason)
        unknown = [each for each, reason in known.items() if reason is None]
    return {each: reason for each, reason in known.items() if reason}


def _verdicts(entry_points: Sequence[EntryPoint]) -> list[str]:
    """Why they are refused, empty for those that are well; of the first, and of as many more as one process loads."""
    asked = json.dumps([[each.name, each.value, each.group] for each in entry_points])
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers"
        answers.touch()
        end = _load(asked, answers)
        # The newline ends what was written whole.
        verdicts = answers.read_text(encoding="utf-8").split("\n")[:-1]
    if verdicts and (verdicts[-1] or len(verdicts) == len(entry_points) or end == _too_long()):
        return verdicts
    # The process ended in the middle of the next.
    return [*verdicts, end]


def _too_long() -> str:
    return f"loading it does not end within {SECONDS:g} s"


def _load(asked: str, answers: Path) -> str:
    """Have a process load the plugins; how it ended, where that was not as it should."""
    command = [sys.executable, "-P", "-m", "mmcore.vetting", str(answers)]
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    try:
        status = subprocess.run(
            command,
            input=asked.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            env={**os.environ, "PYTHONPATH": path},
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        return _too_long()
    if status < 0:
        return f"the process that loads it is killed by {signal.Signals(-status).name}"
    return f"it ends the process that loads it, with status {status}"


def _remembered(entry_point: EntryPoint) -> str | None:
    """Why it was refused, empty if it was found well; None if that is not known."""
    record = _record(entry_point)
    try:
        if record is None or not (reason := record.read_text(encoding="utf-8")).endswith("\n"):
            return None
        recent = time.time() - record.stat().st_mtime < REMEMBERED_SECONDS
    except (OSError, ValueError):
        return None
    return reason.rstrip("\n") if recent or not reason.strip() else None


def _remember(entry_point: EntryPoint, reason: str) -> None:
    record = _record(entry_point)
    if record is None:
        return
    # Without a place to remember it is tried again next time.
    with contextlib.suppress(OSError):
        record.parent.mkdir(parents=True, exist_ok=True)
        # The newline ends what was written whole.
        record.write_text(f"{reason}\n", encoding="utf-8")


def _record(entry_point: EntryPoint) -> Path | None:
    """The file that says that a plugin, as it is now, was found well; None where that cannot be known."""
    import mmcore

    try:
        files = [(str(path), stat.st_size, stat.st_mtime_ns) for path, stat in _files(entry_point)]
        folder = cache_directory() / "plugins"
    except (OSError, RuntimeError, ImportError, ValueError, AttributeError):
        return None
    what = [_FORMAT, mmcore.__version__, sys.version, entry_point.name, entry_point.value, files]
    return folder / hashlib.sha256(json.dumps(what).encode()).hexdigest()


def _files(entry_point: EntryPoint) -> Iterator[tuple[Path, os.stat_result]]:
    """The Python files of the package that a plugin lies in."""
    # Finding a top-level package runs nothing of it.
    spec = importlib.util.find_spec(entry_point.module.partition(".")[0])
    if spec is None:
        return
    folders = spec.submodule_search_locations
    paths = [path for folder in folders for path in sorted(Path(folder).rglob("*.py"))] if folders else [spec.origin]
    for path in paths:
        if path:
            yield Path(path), Path(path).stat()

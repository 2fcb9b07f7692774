"""Which plugins must not be loaded, and why; those that were found well are remembered until their files change."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

from mmcore.cache import cache_directory

#: How long loading one plugin may take.
SECONDS = 30.0


def vet(entry_points: Sequence[EntryPoint]) -> dict[EntryPoint, str]:
    """The plugins among ``entry_points`` that must not be loaded, with the reason.

    Such a plugin ends or hangs the process that loads it, or replaces what mmcore, pytest, pytest-benchmark or numpy
    are made of. One that merely raises, or declares nonsense, is none of these.
    """
    refused: dict[EntryPoint, str] = {}
    unknown = [each for each in entry_points if not _remembered(each)]
    while unknown:
        verdicts = _verdicts(unknown)
        for entry_point, reason in zip(unknown, verdicts, strict=False):
            if reason:
                refused[entry_point] = reason
            else:
                _remember(entry_point)
        unknown = unknown[len(verdicts) :]
    return refused


def _verdicts(entry_points: Sequence[EntryPoint]) -> list[str]:
    """Why they are refused, empty for those that are well; of the first, and of as many more as one process loads."""
    asked = json.dumps([[each.name, each.value, each.group] for each in entry_points])
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers"
        answers.touch()
        end = _load(asked, answers)
        verdicts = [str(json.loads(line)) for line in answers.read_text(encoding="utf-8").splitlines()]
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


def _remembered(entry_point: EntryPoint) -> bool:
    record = _record(entry_point)
    return record is not None and record.exists()


def _remember(entry_point: EntryPoint) -> None:
    record = _record(entry_point)
    if record is None:
        return
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.touch()
    except OSError:
        # Then it is tried again next time.
        return


def _record(entry_point: EntryPoint) -> Path | None:
    """The file that says that a plugin, as it is now, was found well; None where that cannot be known."""
    import mmcore

    try:
        files = [(str(path), stat.st_size, stat.st_mtime_ns) for path, stat in _files(entry_point)]
        folder = cache_directory() / "plugins"
    except (OSError, RuntimeError, ImportError, ValueError, AttributeError):
        return None
    what = [mmcore.__version__, sys.version, entry_point.name, entry_point.value, files]
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

"""pytest-benchmark's storage as series: one file is read at a time, and of each benchmark only the median is kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mmcore.cell import WAYS
from mmcore.errors import MmcoreError
from mmcore.messages import visible
from mmcore.result import SCHEMA
from mmcore_pytest.saved_results import KEY, is_ours, read_document
from mmcore_tools.history.measurements import Card, Measurement, Run, Subject

UNVERIFIED, UNTIMED, UNKNOWN = "not verified", "without device times", "of a version that this mmcore does not read"
"""Why a result has no place in a history."""

# Where a result says how it was measured.
_HOW = {"kernel": "caches", "end-to-end": "memory"}
# The folder that pytest-benchmark makes in its storage for a kind of machine: "Linux-CPython-3.12-64bit".
_MACHINE_FOLDER = re.compile(r".+-.+-[\d.]+-\d+bit")
_COMMIT_DIGITS = 8
# How far a host's clock may be ahead. A run dated later would be the newest until then.
_AHEAD = timedelta(days=1)
# What a device's facts say that may make a kernel slower or faster, and how it is called.
_VERSIONS = {
    "driver": "driver",
    "cuda": "CUDA",
    "nvrtc": "NVRTC",
    "mmcore": "mmcore",
    "clock_mhz": "highest clock, MHz",
}


class InvalidHistory(MmcoreError):
    """A folder or a file holds no results of mmcore's that can be read, or none of those asked for."""


@dataclass(frozen=True)
class History:
    """What a folder holds.

    Attributes:
        series: the measurements of each subject, in the order of their dates.
        wrong: the runs of each subject in which its product was not verified, by a device that times.
        files: how many files were used.
        left_out: how many results were not, by the reason.
        problems: what is wrong with files, a sentence each.
    """

    series: Mapping[Subject, Sequence[Measurement]]
    wrong: Mapping[Subject, Sequence[Run]]
    files: int
    left_out: Mapping[str, int]
    problems: Sequence[str]

    @property
    def what_was_left_out(self) -> str:
        """How many results, and why: "1 result not verified, 2 results without device times"; empty for none."""
        counts = self.left_out.items()
        return ", ".join(f"{count} result{'' if count == 1 else 's'} {reason}" for reason, count in counts)


@dataclass(frozen=True)
class _File:
    """What a file holds: its measurements, whose products were not verified in what run, a reason for each result left
    out, and what is wrong with benchmarks.
    """

    measured: Mapping[Subject, Measurement]
    wrong: Mapping[Subject, Run]
    left_out: Sequence[str]
    damage: Sequence[str]


def read(folder: Path) -> History:
    """The history that the .json files of a folder, and of the folders in it, hold; InvalidHistory for no folder.

    A file that is damaged, another program's or from the future is a problem, and the others count. A run that was
    saved twice counts once.
    """
    if not folder.is_dir():
        raise InvalidHistory(f"there is no folder {str(folder)!r}; pytest saves runs in the one of --benchmark-storage")
    series: dict[Subject, dict[tuple[datetime, str], Measurement]] = {}
    wrong: dict[Subject, list[Run]] = {}
    files, left_out, problems = 0, Counter[str](), []
    for path in sorted(path for path in folder.rglob("*.json") if path.is_file()):
        try:
            found = _read(path, _host_folder(path.relative_to(folder)))
        except InvalidHistory as problem:
            problems.append(str(problem))
            continue
        files += 1
        left_out.update(found.left_out)
        if found.damage:
            problems.append(f"{path}: damaged benchmarks are left out, {len(found.damage)} in all; {found.damage[0]}")
        for subject, measurement in found.measured.items():
            series.setdefault(subject, {})[measurement.run.date, measurement.run.host] = measurement
        for subject, run in found.wrong.items():
            wrong.setdefault(subject, []).append(run)
    ordered = {subject: [each for _, each in sorted(found.items())] for subject, found in series.items()}
    return History(ordered, wrong, files, left_out, problems)


def _host_folder(path: Path) -> str:
    """The first folder of a relative path where hosts have folders of their own; else empty."""
    folders = [name for name in path.parts[:-1] if not _MACHINE_FOLDER.fullmatch(name)]
    return _text(folders[0]) if folders else ""


def _read(path: Path, host: str) -> _File:
    document = _document(path)
    measured: dict[Subject, Measurement] = {}
    wrong: dict[Subject, Run] = {}
    left_out, damage = [], []
    try:
        card, run = _card(document), _run(document, host)
    except (ValueError, OverflowError, TypeError, AttributeError, KeyError) as error:
        raise InvalidHistory(f"{path} is damaged: {_reason(error)}") from None
    if run.date - datetime.now(UTC) > _AHEAD:
        raise InvalidHistory(f"{path} is left out: it is dated {run.day}, which is to come")
    for index, benchmark in enumerate(document["benchmarks"], 1):
        try:
            info = benchmark["extra_info"]
            if "kernel" not in info:  # another test of the same session
                continue
            if reason := _no_place(info):
                if reason == UNVERIFIED and info.get("emulation_ms") is None:
                    wrong[_subject(info, card)] = run
                left_out.append(reason)
            else:
                measured[_subject(info, card)] = _measurement(info, run)
        except (ValueError, TypeError, AttributeError, KeyError, MmcoreError) as error:
            damage.append(f"benchmark {index}: {_reason(error)}")
    return _File(measured, wrong, left_out, damage)


def _document(path: Path) -> dict[str, Any]:
    """A document of mmcore's with this version's names."""
    try:
        document = read_document(path)
    except OSError as error:
        raise InvalidHistory(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidHistory(f"{path} is damaged, or no JSON: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("benchmarks"), list) or not is_ours(document):
        raise InvalidHistory(f"{path} holds no results of mmcore's")
    return document


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error}"
    return "it is not in the form of mmcore's results" if isinstance(error, TypeError | AttributeError) else str(error)


def _card(document: Mapping[str, Any]) -> Card:
    facts = document["machine_info"][KEY]
    multiprocessors = facts.get("multiprocessors")
    return Card(_text(facts["name"]), 0 if multiprocessors is None else _whole(multiprocessors, "multiprocessors"))


def _run(document: Mapping[str, Any], host: str) -> Run:
    """A document's run; ``host`` is what the folder says, and where it says nothing, the document's own counts.

    Containers of different hosts may have one name, and those of one host many.
    """
    machine, commit = document["machine_info"], document.get("commit_info") or {}
    facts, date = machine[KEY], datetime.fromisoformat(_text(document["datetime"]))
    versions = {word: _text(str(facts[name])) for name, word in _VERSIONS.items() if facts.get(name) is not None}
    plugins = {_text(name): _text(version) for name, version in (facts.get("plugins") or {}).items()}
    plugins.pop("mmcore-cuda", None)
    identity = _text(commit["id"])[:_COMMIT_DIGITS] + "+" * bool(commit.get("dirty")) if commit.get("id") else ""
    return Run(
        date=date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC),
        host=host or (_text(machine["node"]) if machine.get("node") else ""),
        commit=identity,
        versions=versions | plugins,
    )


def _no_place(info: Mapping[str, Any]) -> str:
    """Why a result has no place in a history; empty where it has."""
    if info.get("schema", SCHEMA) not in range(1, SCHEMA + 1):
        return UNKNOWN
    if info.get("verified") is not True:
        return UNVERIFIED
    # Without a rate, the time is the emulation's own.
    return UNTIMED if info["gflops"] is None or info["median_ms"] is None else ""


def _subject(info: Mapping[str, Any], card: Card) -> Subject:
    measure = info["measure"]
    if measure not in WAYS:
        raise ValueError(f"'measure' is not {' or '.join(map(repr, WAYS))}")
    m, n, k = (_whole(info["problem"][name], name) for name in "mnk")
    way = f"{measure}-{_text(info[_HOW[measure]])}"
    return Subject(card, _text(info["kernel"]), m, n, k, _text(info["config_id"]), way)


def _measurement(info: Mapping[str, Any], run: Run) -> Measurement:
    conditions = info.get("conditions") or {}
    clock = conditions.get("clock_mhz")
    return Measurement(
        run,
        _number(info["median_ms"], "median_ms"),
        None if clock is None else _number(clock, "clock_mhz"),
        conditions.get("throttled") is True,
    )


def _text(value: object) -> str:
    """A text with control characters and lone surrogates written out, to be shown and drawn; ValueError for none."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} is not a text")
    return visible(value)


def _whole(value: object, name: str) -> int:
    if type(value) is not int or not 0 < value < 2**63:
        raise ValueError(f"{name!r} is not a whole number from 1")
    return value


def _number(value: Any, name: str) -> float:
    """A time in ms or a clock in MHz that a device may have; ValueError for any other value."""
    if type(value) not in (int, float) or not 1e-9 < value < 1e12:
        raise ValueError(f"{name!r} is not a positive number that can be measured")
    return float(value)

"""The reader of a folder of saved runs. It reads one file at a time and keeps each benchmark's median only."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from mmcore.cell import WAYS
from mmcore.messages import visible
from mmcore.result import SCHEMA
from mmcore_pytest.saved_results import KEY, is_ours
from mmcore_tools.saved import DAMAGE, HOW, InvalidResults, damage, one_of, saved_document, text, whole

USUAL_MEASURE = "kernel-warm"
UNVERIFIED, UNTIMED, UNKNOWN = "not verified", "without device times", "of a version that this mmcore does not read"
"""The reasons to leave a result out of a history."""

# pytest-benchmark's folder for a kind of machine: "Linux-CPython-3.12-64bit".
_MACHINE_FOLDER = re.compile(r".+-.+-[\d.]+-\d+bit")
_COMMIT_DIGITS = 8
# A host's clock may be ahead by as much. A run with a later date would stay the newest until then.
_AHEAD = timedelta(days=1)
# A device's facts that explain a change of speed, with their names in a report.
_VERSIONS = {
    "driver": "driver",
    "cuda": "CUDA",
    "nvrtc": "NVRTC",
    "mmcore": "mmcore",
    "clock_mhz": "highest clock, MHz",
}


class Card(NamedTuple):
    """A model of card: its name, and its number of multiprocessors, 0 if unknown."""

    name: str
    multiprocessors: int = 0

    def __str__(self) -> str:
        return f"{self.name} ({self.multiprocessors} multiprocessors)" if self.multiprocessors else self.name


class Subject(NamedTuple):
    """The subject of a series: a kernel in one config, for one product, measured in one way on one model of card.

    ``config`` and ``measure`` are parts of a test's id, such as "b16" and "kernel-warm".
    """

    card: Card
    kernel: str
    m: int
    n: int
    k: int
    config: str
    measure: str

    @property
    def size(self) -> str:
        return str(self.n) if self.m == self.n == self.k else f"{self.m}×{self.n}×{self.k}"

    @property
    def label(self) -> str:
        """The name of the series in a legend, with the measure unless it is the usual one."""
        measure = [] if self.measure == USUAL_MEASURE else [self.measure]
        return " ".join([self.kernel, self.size, self.config, *measure])


@dataclass(frozen=True, slots=True)
class Run:
    """A saved run."""

    date: datetime  # when it was saved, in UTC
    host: str  # the name of its host; empty if unknown
    commit: str  # the first digits of the commit's id, with "+" if there were uncommitted changes; empty if unknown
    versions: Mapping[str, str]  # of the driver, CUDA, NVRTC, mmcore, its plugins, and the card's highest clock

    @property
    def day(self) -> str:
        return self.date.date().isoformat()


@dataclass(frozen=True, slots=True)
class Measurement:
    """The time that one run measured for a subject."""

    run: Run
    ms: float  # the median of the rounds
    clock_mhz: float | None = None  # the SM clock during the measurement; None if unknown
    throttled: bool = False  # True if heat or the power supply held the clock back


class Unverified(NamedTuple):
    """A subject whose product was wrong in the newest run of a host."""

    subject: Subject
    run: Run

    def __str__(self) -> str:
        host = f"{self.run.host}, " if self.run.host else ""
        return f"{self.subject.label} ({host}{self.run.day})"


@dataclass
class History:
    """The runs of a folder."""

    series: dict[Subject, Sequence[Measurement]] = field(default_factory=dict)  # in the order of their dates
    wrong: dict[Subject, list[Run]] = field(default_factory=dict)  # by subjects whose product was wrong
    files: int = 0  # the number of files that were read
    left_out: Counter[str] = field(default_factory=Counter)  # the number of results without a place here, by the reason
    problems: list[str] = field(default_factory=list)  # a sentence about each damaged file

    @property
    def left_out_text(self) -> str:
        """The results without a place here, as in "1 result not verified, 2 results without device times"."""
        counts = self.left_out.items()
        return ", ".join(f"{count} result{'' if count == 1 else 's'} {reason}" for reason, count in counts)

    def unverified(self, lately: str) -> list[Unverified]:
        """Return the subjects that were wrong in a host's newest run of them, on the day ``lately`` or after."""
        found = []
        for subject, runs in self.wrong.items():
            verified = {each.run.host: each.run for each in self.series.get(subject, ())}
            newest = {run.host: run for run in sorted(runs, key=lambda run: run.date)}
            for host, run in newest.items():
                if run.day >= lately and (host not in verified or verified[host].date <= run.date):
                    found.append(Unverified(subject, run))
        return sorted(found, key=lambda each: (each.subject, each.run.host))


def read(folder: Path) -> History:
    """Return the history in all .json files under a folder. Raises InvalidResults if there is no such folder.

    Files that are damaged, dated in the future or saved by another program become problems. A run that was saved twice
    counts once.
    """
    if not folder.is_dir():
        raise InvalidResults(f"there is no folder {str(folder)!r}; pytest saves runs in the one of --benchmark-storage")
    history = History()
    series: dict[Subject, dict[tuple[datetime, str], Measurement]] = {}
    for path in sorted(path for path in folder.rglob("*.json") if path.is_file()):
        try:
            _read(path, _host_folder(path.relative_to(folder)), history, series)
        except InvalidResults as problem:
            history.problems.append(str(problem))
    history.series = {subject: [each for _, each in sorted(runs.items())] for subject, runs in series.items()}
    return history


def _host_folder(path: Path) -> str:
    """Return the first folder of a relative path if hosts have their own folders; else an empty text."""
    folders = [name for name in path.parts[:-1] if not _MACHINE_FOLDER.fullmatch(name)]
    return visible(folders[0]) if folders else ""


def _read(
    path: Path, host: str, history: History, series: dict[Subject, dict[tuple[datetime, str], Measurement]]
) -> None:
    """Add the results of a file. Raises InvalidResults if none of it can be used."""
    document = saved_document(path)
    if not is_ours(document):
        raise InvalidResults(f"{path} holds no results of mmcore's")
    try:
        card, run = _card(document), _run(document, host)
    except DAMAGE as error:
        raise InvalidResults(f"{path} is damaged: {damage(error)}") from None
    if run.date - datetime.now(UTC) > _AHEAD:
        raise InvalidResults(f"{path} is left out: its date, {run.day}, is in the future")
    history.files += 1
    damaged = []
    for index, benchmark in enumerate(document["benchmarks"], 1):
        try:
            info = benchmark["extra_info"]
            if "kernel" not in info:  # another test of the same session
                continue
            if not (reason := _left_out(info)):
                series.setdefault(_subject(info, card), {})[run.date, run.host] = _measurement(info, run)
                continue
            if reason == UNVERIFIED and info.get("emulation_ms") is None:
                history.wrong.setdefault(_subject(info, card), []).append(run)
            history.left_out[reason] += 1
        except DAMAGE as error:
            damaged.append(f"benchmark {index}: {damage(error)}")
    if damaged:
        history.problems.append(f"{path}: damaged benchmarks are left out, {len(damaged)} in all; {damaged[0]}")


def _card(document: Mapping[str, Any]) -> Card:
    facts = document["machine_info"][KEY]
    return Card(text(facts, "name"), 0 if facts.get("multiprocessors") is None else whole(facts, "multiprocessors"))


def _run(document: Mapping[str, Any], host: str) -> Run:
    """Return a document's run. The folder's name of the host comes before the document's.

    Containers of different hosts may have one name, and those of one host many.
    """
    machine, commit = document["machine_info"], document.get("commit_info") or {}
    facts, date = machine[KEY], datetime.fromisoformat(text(document, "datetime"))
    versions = {word: visible(str(facts[name])) for name, word in _VERSIONS.items() if facts.get(name) is not None}
    plugins = facts.get("plugins") or {}
    versions |= {visible(name): text(plugins, name) for name in plugins if name != "mmcore-cuda"}
    identity = text(commit, "id")[:_COMMIT_DIGITS] + "+" * bool(commit.get("dirty")) if commit.get("id") else ""
    host = host or (text(machine, "node") if machine.get("node") else "")
    return Run(date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC), host, identity, versions)


def _left_out(info: Mapping[str, Any]) -> str:
    """Return the reason if a result has no place in a history; else an empty text."""
    if info.get("schema", SCHEMA) not in range(1, SCHEMA + 1):
        return UNKNOWN
    if info.get("verified") is not True:
        return UNVERIFIED
    # A time without a rate is the emulator's own.
    return UNTIMED if info["gflops"] is None or info["median_ms"] is None else ""


def _subject(info: Mapping[str, Any], card: Card) -> Subject:
    measure = one_of(info, "measure", tuple(WAYS))
    m, n, k = (whole(info["problem"], name) for name in "mnk")
    way = f"{measure}-{text(info, HOW[measure])}"
    return Subject(card, text(info, "kernel"), m, n, k, text(info, "config_id"), way)


def _measurement(info: Mapping[str, Any], run: Run) -> Measurement:
    conditions = info.get("conditions") or {}
    clock = None if conditions.get("clock_mhz") is None else _positive(conditions, "clock_mhz")
    return Measurement(run, _positive(info, "median_ms"), clock, conditions.get("throttled") is True)


def _positive(values: Mapping[str, Any], name: str) -> float:
    """Return a time in ms or a clock in MHz. Raises ValueError for a value that no device can have."""
    value = values[name]
    if type(value) not in (int, float) or not 1e-9 < value < 1e12:
        raise ValueError(f"{name!r} is not a positive number that can be measured")
    return float(value)

"""Tuning: trials on an engine until the budget is spent, a final, and what is written down of it."""

from __future__ import annotations

import datetime
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mmcore
from mmcore.cell import LIBRARY, Cell, Timing
from mmcore.errors import MmcoreError
from mmcore.files import write as write_file
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.registry import registry
from mmcore.result import Result
from mmcore_cuda.tuned_configs.files import PROPERTIES, SCHEMA, Tuned, file_of, read
from mmcore_engines import Spread
from mmcore_engines.file_locks import Lock
from mmcore_engines.place import AHEAD
from mmcore_engines.spread import NotMeasured
from mmcore_tools.tune.finals import FINAL, TURNS
from mmcore_tools.tune.search import Search

TRIAL = Timing(max_seconds=0.05, min_rounds=5, max_rounds=50)
"""How long a trial is timed: enough to tell configs apart that differ by a few percent."""

_FINALISTS, _NEAR = 4, 1.05  # how many configs at most are in the final, and how much slower than the best at most


@dataclass
class Tuning:
    """The tuning of one kernel for one product.

    Attributes:
        kernel, problem, search: what is tuned, for what, and the search.
        trials: how many configs are tried at most, those of earlier runs included.
        winner: the fastest config's id, once the final has been.
        times: median seconds of those that were in the final, by id, the fastest first.
        beside: the winner, measured beside the library.
    """

    kernel: Kernel
    problem: Problem
    search: Search
    trials: int
    winner: str = ""
    times: dict[str, float] = field(default_factory=dict)
    beside: Result | None = None

    @property
    def label(self) -> str:
        return f"{self.kernel.name} {self.problem}"

    def cell(self, id: str, timing: Timing, **further: Any) -> Cell:
        """The cell of a config."""
        sizes, config = (self.problem.m, self.problem.n, self.problem.k), self.search.space.configs[id].to_json()
        name = registry().reference(self.kernel)
        return Cell(name, *sizes, config=config, timings=(timing,), **further)


def run_trials(tuning: Tuning, spread: Spread, end: float, timeout: float, told: Callable[[Tuning], None]) -> None:
    """Try configs until ``end`` (of :func:`time.monotonic`), or as many have been tried as asked for.

    Args:
        tuning: it is told what is found.
        spread: where the configs are measured.
        end: when no more are begun.
        timeout: seconds that each may take.
        told: is called when something is known.

    Raises:
        NotMeasured: no worker is left; the search does not learn from it.
    """
    search = tuning.search
    pending: dict[Future[Any], tuple[Any, int]] = {}  # each with its trial and its lane, a worker's group
    lanes: list[int] = []
    while True:
        told(tuning)
        lanes += [0] * (spread.workers - len(lanes))  # workers join while it goes on
        while len(pending) < len(lanes) * (1 + AHEAD):
            enough = time.monotonic() >= end or len(search.seconds) + len(pending) >= tuning.trials
            if (enough and not search.due) or (asked := search.ask()) is None:
                break
            trial, id = asked
            lane = lanes.index(min(lanes))
            lanes[lane] += 1
            pending[spread.add(tuning.cell(id, TRIAL, timeout=timeout), f"{tuning.label} {lane}")] = trial, lane
        if not pending:
            return
        done, _ = wait(pending, timeout=1.0, return_when=FIRST_COMPLETED)
        lost: BaseException | None = None
        for future in done:
            trial, lane = pending.pop(future)
            lanes[lane] -= 1
            if isinstance(error := future.exception(), NotMeasured):
                lost = error
            else:
                _tell(tuning, trial, future)
        if lost is not None:
            raise lost


def _tell(tuning: Tuning, trial: Any, future: Future[Any]) -> None:
    """Enter what came of a trial."""
    try:
        result: Result = future.result()
        wrong = "" if result.verified else "; ".join(result.failures())
        seconds = result.kernel_seconds
        late = result.timed_out
    except MmcoreError as error:
        wrong, seconds, late = str(error), None, False
    tuning.search.tell(trial, None if wrong else seconds, _in_a_line(wrong), late=late)


def _in_a_line(text: str) -> str:
    """The first line of a text, and the next where that announces one."""
    first, *rest = text.splitlines() or [""]
    return f"{first} {rest[0].strip()}" if first.endswith(":") and rest else first


def run_final(tuning: Tuning, spread: Spread, timeout: float) -> None:
    """Time the fastest configs in turns, and the winner, once more verified, beside the library.

    One that turns out to be wrong makes room for the next. MmcoreError where none is right.
    """
    search = tuning.search
    while search.best:
        fastest = search.seconds[search.best[0]] or 0.0
        finalists = [id for id in search.best[:_FINALISTS] if (search.seconds[id] or 0.0) <= _NEAR * fastest]
        tuning.times = _in_turns(tuning, finalists, spread, timeout)
        tuning.winner = next(iter(tuning.times))
        beside = tuning.cell(tuning.winner, FINAL, timeout=timeout, baseline=LIBRARY)
        tuning.beside = spread.add(beside, f"{tuning.label} final").result()
        if tuning.beside.verified and tuning.beside.kernel_seconds is not None:
            return
        why = _in_a_line("; ".join(tuning.beside.failures()) or "it could not be timed")
        search.withdraw(tuning.winner, why, late=tuning.beside.timed_out)
    reasons = "; ".join(dict.fromkeys(list(search.wrong.values())[:2])) or "no config was measured in time"
    raise MmcoreError(f"{tuning.label}: there is no right config: {reasons}")


def _in_turns(tuning: Tuning, finalists: Sequence[str], spread: Spread, timeout: float) -> dict[str, float]:
    """Seconds of the finalists, the fastest first; those of their trials where one of them stops the others."""
    first, *others = finalists
    configs = [tuning.search.space.configs[id].to_json() for id in others]
    cell = tuning.cell(first, FINAL, timeout=timeout)
    try:
        compared = spread.add(cell, f"{tuning.label} final", TURNS, [configs]).result()
    except NotMeasured:
        raise
    except MmcoreError:
        return {id: tuning.search.seconds[id] or 0.0 for id in finalists}
    medians = [statistics.median(each["time"]["rounds"]) for each in compared]
    return {id: seconds for seconds, id in sorted(zip(medians, finalists, strict=True))}


def tuned(tuning: Tuning, device: Mapping[str, Any]) -> Tuned:
    """What is written down of a tuning that is done; ``device`` is the worker's, described."""
    assert tuning.beside is not None
    search, result = tuning.search, tuning.beside
    seconds = result.kernel_seconds
    assert seconds is not None
    provenance = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "mmcore": mmcore.__version__,
        "kernel": result.distributions.get("kernel", ""),
        "driver": device["facts"].get("driver"),
        "clock_mhz": result.conditions.get("clock_mhz"),
        "configs": len(search.space.configs),
        "tried": len(search.seconds),
        "runners_up": [{"config": id, "slower": value / tuning.times[tuning.winner]} for id, value in _others(tuning)],
        "of_library": result.baseline and result.baseline.faster,
        "library": result.baseline and result.baseline.kernel,
    }
    problem, config = tuning.problem, search.space.configs[tuning.winner].to_json()
    sizes = problem.m, problem.n, problem.k
    properties = {name: device["properties"][name] for name in PROPERTIES}
    return Tuned(tuning.kernel.name, config, *sizes, seconds, card_of(device), "", provenance, properties)


def card_of(device: Mapping[str, Any]) -> str:
    """The model by which a tuned config of a device is known."""
    return str(device["properties"]["card"] or device["description"])


def _others(tuning: Tuning) -> Iterator[tuple[str, float]]:
    return (item for item in tuning.times.items() if item[0] != tuning.winner)


def writable(path: Path) -> list[Tuned]:
    """What a tuning file has that is to be added to; MmcoreError where it cannot be read or written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise MmcoreError(f"{path} cannot be written: {error.strerror}") from None
    return list(read(path, "")) if path.exists() else []


def write(found: Tuned, folder: Path) -> Path:
    """Write a tuned config to its card's file in a folder, in the place of an older one of the same kernel and product.

    Raises:
        MmcoreError: the file there is none of mmcore's, or the folder cannot be written to.
    """
    path = file_of(found.card, folder)
    lock = Lock(f"tuning-{path.resolve()}")
    lock.take(lambda holder: None)
    try:
        known = list(read(path, "")) if path.exists() else []
        of = (found.kernel, found.m, found.n, found.k)
        entries = [each for each in known if (each.kernel, each.m, each.n, each.k) != of]
        entries = sorted([*entries, found], key=lambda each: (each.kernel, each.m * each.n * each.k, each.m, each.n))
        if others := {each.card for each in known} - {found.card}:
            raise MmcoreError(f"{path} is of another card, {min(others)}")
        names = ("kernel", "config", "m", "n", "k", "seconds", "provenance")
        lines = ",\n".join(json.dumps({name: getattr(each, name) for name in names}) for each in entries)
        folder.mkdir(parents=True, exist_ok=True)
        head = json.dumps({"schema": SCHEMA, "card": found.card, "properties": found.properties})[:-1]
        write_file(path, f'{head}, "tuned": [\n{lines}\n]}}\n'.encode())
    except OSError as error:
        raise MmcoreError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        lock.release()
    return path

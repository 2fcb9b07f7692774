"""Tuning: trials on an engine until the budget is spent, a final, and the entry in a tuning file."""

from __future__ import annotations

import datetime
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
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
from mmcore_engines import Scheduler
from mmcore_engines.device_worker import AHEAD
from mmcore_engines.file_locks import Lock
from mmcore_engines.scheduler import NotMeasured
from mmcore_tools.tune.finals import FINAL, TURNS
from mmcore_tools.tune.search import Search

TRIAL = Timing(max_seconds=0.05, min_rounds=5, max_rounds=50)
"""The timing of a trial, long enough to distinguish configs that differ by a few percent."""

_FINALISTS, _NEAR = 4, 1.05  # the most configs in a final, and the largest ratio of their times


@dataclass
class Tuning:
    """The tuning of one kernel for one product."""

    kernel: Kernel
    problem: Problem
    search: Search
    trials: int  # the most configs to try, including those of earlier runs
    winner: str = ""  # the fastest config's id, after the final
    times: dict[str, float] = field(default_factory=dict)  # median seconds by id, the fastest first
    beside: Result | None = None  # the result of the winner, measured in turns with the library

    @property
    def label(self) -> str:
        return f"{self.kernel.name} {self.problem}"

    def cell(self, id: str, timing: Timing, **further: Any) -> Cell:
        sizes, config = (self.problem.m, self.problem.n, self.problem.k), self.search.space.configs[id].to_json()
        name = registry().reference(self.kernel)
        return Cell(name, *sizes, config=config, timings=(timing,), **further)


def run_trials(tuning: Tuning, spread: Scheduler, end: float, timeout: float, report: Callable[[Tuning], None]) -> None:
    """Measure configs on the workers until ``end`` or until ``tuning.trials`` have been tried.

    No trial begins after ``end`` of :func:`time.monotonic`; ``report`` is called before each trial and after each
    result. Raises NotMeasured, from which the search does not learn, if no worker is left.
    """
    search = tuning.search
    pending: dict[Future[Any], tuple[Any, int]] = {}  # the trial and the lane of each; a lane is a worker's group
    lanes: list[int] = []
    while True:
        report(tuning)
        lanes += [0] * (spread.workers - len(lanes))  # workers may join later
        while len(pending) < len(lanes) * (1 + AHEAD):
            enough = time.monotonic() >= end or len(search.seconds) + len(pending) >= tuning.trials
            if (enough and not search.due) or (proposal := search.ask()) is None:
                break
            trial, id = proposal
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
    try:
        result: Result = future.result()
        wrong = "" if result.verified else "; ".join(result.failures())
        seconds = result.kernel_seconds
        late = result.timed_out
    except MmcoreError as error:
        wrong, seconds, late = str(error), None, False
    tuning.search.tell(trial, None if wrong else seconds, _in_a_line(wrong), late=late)


def _in_a_line(text: str) -> str:
    """Return the first line of a text, with the next line if it ends in a colon."""
    first, *rest = text.splitlines() or [""]
    return f"{first} {rest[0].strip()}" if first.endswith(":") and rest else first


def run_final(tuning: Tuning, spread: Scheduler, timeout: float) -> None:
    """Time the fastest configs in turns, then verify the winner again and time it in turns with the library.

    A winner that turns out to be wrong is withdrawn, and the final is repeated. Raises MmcoreError if none is right.
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
    raise MmcoreError(f"{tuning.label}: no config is right: {reasons}")


def _in_turns(tuning: Tuning, finalists: Sequence[str], spread: Scheduler, timeout: float) -> dict[str, float]:
    """Return the seconds of the finalists, the fastest first; those of their trials if one of them fails."""
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
    """Return the entry of a finished tuning; ``device`` describes the worker's device."""
    assert tuning.beside is not None
    search, result = tuning.search, tuning.beside
    seconds, others, best = result.kernel_seconds, tuning.times, tuning.times[tuning.winner]
    assert seconds is not None
    provenance = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "mmcore": mmcore.__version__,
        "kernel": result.distributions.get("kernel", ""),
        "driver": device["facts"].get("driver"),
        "clock_mhz": result.conditions.get("clock_mhz"),
        "configs": len(search.space.configs),
        "tried": len(search.seconds),
        "runners_up": [{"config": id, "slower": value / best} for id, value in others.items() if id != tuning.winner],
        "of_library": result.baseline and result.baseline.faster,
        "library": result.baseline and result.baseline.kernel,
    }
    problem, config = tuning.problem, search.space.configs[tuning.winner].to_json()
    sizes = problem.m, problem.n, problem.k
    properties = {name: device["properties"][name] for name in PROPERTIES}
    return Tuned(tuning.kernel.name, config, *sizes, seconds, card_of(device), "", provenance, properties)


def card_of(device: Mapping[str, Any]) -> str:
    """Return the name of a device's model, which names its tuning file."""
    return str(device["properties"]["card"] or device["description"])


def writable(path: Path) -> list[Tuned]:
    """Return the entries of a tuning file. Raises MmcoreError if it cannot be read, or its folder not be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise MmcoreError(f"{path} cannot be written: {error.strerror}") from None
    return list(read(path, "")) if path.exists() else []


def write(found: Tuned, folder: Path) -> Path:
    """Write a tuned config to its card's file, where it replaces an older entry of the same kernel and product.

    Raises MmcoreError if the file is not a tuning file of this card, or cannot be written.
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

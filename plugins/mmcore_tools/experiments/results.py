"""The results of a preset: a journal of finished cells, and at the end one document in pytest-benchmark's form."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest_benchmark
from pytest_benchmark.stats import Stats

from mmcore.errors import ConstraintViolation, MmcoreError
from mmcore.files import read_lines, write
from mmcore.result import Result
from mmcore_engines.file_locks import Lock
from mmcore_pytest.collection import Benchmark
from mmcore_pytest.saved_results import KEY, describe, other_device, read_document

Record: TypeAlias = dict[str, Any]

_CELL_KEY = "cell_key"  # in the extra_info of a record
_json = functools.partial(json.dumps, allow_nan=False)


def benchmark_record(benchmark: Benchmark, result: Result, key: str) -> Record:
    """Return a benchmark in pytest-benchmark's form; the time of an untimed one is the host's."""
    time = next(iter(result.times), None)
    stats = cast(Any, Stats)()  # pytest-benchmark has no types for it
    stats.data = [result.host_seconds] if time is None else [*time.rounds]
    return {
        "group": f"{benchmark.group}, on {result.device_description}",
        "name": f"test_cell[{benchmark.id}]",
        "fullname": f"test_cells.py::test_cell[{benchmark.id}]",
        "params": benchmark.parameters,
        "param": benchmark.id,
        "extra_info": {**benchmark.extra_info(result), _CELL_KEY: key},
        "options": {"max_time": benchmark.timing.max_seconds, "min_rounds": benchmark.timing.min_rounds},
        "stats": {**stats.as_dict(), "iterations": 1 if time is None else time.iterations},
    }


def missing_record(benchmark: Benchmark, error: MmcoreError) -> tuple[str, Record]:
    """Return "refused" or "failed" and the record of a benchmark without a result."""
    kind, reason = "failed", str(error)
    if isinstance(error, ConstraintViolation):
        kind, reason = "refused", "; ".join(error.reasons)
    return kind, {
        "kernel": benchmark.kernel.name,
        "problem": {name: getattr(benchmark.problem, name) for name in "mnk"},
        "block": benchmark.config.block,
        "config": benchmark.config.to_json(),
        "config_id": benchmark.config.id,
        "measure": str(benchmark.timing),
        "reason": reason,
    }


def machine_info(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the device's facts and the versions of compilers and plugins."""
    info: dict[str, Any] = {"python_version": platform.python_version(), "system": platform.system()}
    describe(info, facts)
    return info


def document(about: Mapping[str, Any], machine: Mapping[str, Any], records: list[Record]) -> dict[str, Any]:
    """Return the document of all records, with facts about the preset and each record's share of its group's best."""
    best: dict[str, float] = {}
    for each in records:
        best[each["group"]] = min(each["stats"]["median"], best.get(each["group"], math.inf))
    for each in records:
        share = 100 * best[each["group"]] / each["stats"]["median"]
        each["extra_info"]["percent_of_best"] = None if each["extra_info"]["gflops"] is None else share
    return {
        "machine_info": machine,
        "commit_info": {},
        "datetime": datetime.now(UTC).isoformat(),
        "version": pytest_benchmark.__version__,
        KEY: about,
        "benchmarks": records,
    }


class Store:
    """The cells of one preset in a folder. ``results`` is the file of the finished document."""

    def __init__(self, folder: Path, name: str) -> None:
        self.results = folder / f"{name}.json"
        self._journal = folder / f"{name}.unfinished.jsonl"

    def forget(self) -> None:
        """Drop the journal, and rename the results to ``NAME.previous.json``."""
        self._journal.unlink(missing_ok=True)
        if self.results.exists():
            self.results.replace(self.results.with_suffix(".previous.json"))

    def measured(self, machine: Mapping[str, Any]) -> dict[str, Record]:
        """Return every finished cell by its key. Raises MmcoreError if the file holds no results of this device."""
        found, reason = {}, ""
        if self.results.exists():
            try:
                saved = read_document(self.results)
                str(saved[KEY]["experiment"] + saved["machine_info"][KEY]["name"])
                found, reason = _keyed(saved["benchmarks"]), other_device(machine, saved["machine_info"])
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                lacks = f"it has no {error}" if isinstance(error, KeyError) else error
                what = f"{self.results} is no result of mmcore experiment ({lacks})"
                raise MmcoreError(f"{what}; --fresh sets it aside and begins anew") from None
        if reason:
            what = f"{self.results} holds the results of another device: {reason}"
            raise MmcoreError(f"{what}; name another folder with --dir, or set them aside with --fresh")
        for line in read_lines(self._journal) if self._journal.exists() else ():
            # A killed run may leave part of a line; its cell is measured again.
            with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
                found |= _keyed([json.loads(line)])
        return found

    def add(self, record: Record) -> None:
        """Append a cell to the journal, and wait until it is on disk."""
        with self._journal.open("ab") as file:
            # A killed run may have left part of a line before it.
            file.write(b"\n" + _json(record).encode())
            file.flush()
            os.fsync(file.fileno())

    def finish(self, document: Mapping[str, Any]) -> None:
        """Write the document at once, and remove the journal."""
        head = _json({name: value for name, value in document.items() if name != "benchmarks"}).removesuffix("}")
        lines = ",\n  ".join(map(_json, document["benchmarks"]))
        write(self.results, f'{head}, "benchmarks": [\n  {lines}\n]}}\n'.encode())
        self._journal.unlink(missing_ok=True)


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[Store]:
    """Make a folder and yield the store of a preset there, locked against other processes.

    Raises MmcoreError if another process has it, or if a file cannot be written or read.
    """
    store = Store(folder, name)
    lock = Lock(f"results-{store.results.absolute()}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if holder := lock.try_to_take():
            raise MmcoreError(f"{holder} is writing {store.results}; wait for it, or name another folder with --dir")
        yield store
    except OSError as error:
        raise MmcoreError(f"{error.filename or folder} cannot be written or read: {error.strerror}") from None
    finally:
        lock.release()


def _keyed(records: Iterable[Record]) -> dict[str, Record]:
    """Return records by their keys. Raises TypeError, KeyError or ValueError for another value."""
    return {str(each["extra_info"][_CELL_KEY]): each for each in records if float(each["stats"]["median"]) >= 0}

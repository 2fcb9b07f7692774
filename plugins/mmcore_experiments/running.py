"""Running a preset: the cells that are not measured yet are measured one by one, and kept at once."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from mmcore.cell import Cell
from mmcore.deadline import USUAL_SECONDS
from mmcore.errors import ConstraintViolation, MmcoreError
from mmcore.executor import measure_cell, run
from mmcore.executor.choose import chosen, device_name
from mmcore.locks import Lock
from mmcore.pytest_plugin.cells import Benchmark
from mmcore.registry import registry
from mmcore.saved import other_device
from mmcore_experiments.document import Form, benchmark_record, document, machine_info, missing_record
from mmcore_experiments.preset import Preset
from mmcore_experiments.store import Record, opened


class Progress:
    """On a terminal one line that changes, elsewhere a line for each cell."""

    def __init__(self, device: str, cells: int, before: int) -> None:
        self._cells, self._done, self._before = cells, before, before
        self._begin, self._changing = monotonic(), sys.stderr.isatty()
        self.note(f"{device}, {cells} cells{f'; {before} of them measured before' if before else ''}")

    def cell(self, name: str, result: str) -> None:
        """One more is done."""
        self._done += 1
        each = (monotonic() - self._begin) / (self._done - self._before)
        left = timedelta(seconds=round(each * (self._cells - self._done)))
        line = f"[{self._done}/{self._cells}] {left} left; {name}: {result}"
        self.end()
        if self._changing:
            line = line[: shutil.get_terminal_size().columns - 1]
        print(line, end="" if self._changing else "\n", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Something else to know."""
        self.end()
        print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line that changes."""
        if self._changing:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class Finished(NamedTuple):
    """A preset that was run to its end: its results, their file, and how many cells had been measured before."""

    document: Mapping[str, Any]
    path: Path
    before: int


def run_preset(preset: Preset, *, quick: bool, device: str, folder: Path | None, fresh: bool) -> Finished:
    """Measure what of a preset is not measured yet, and write its results.

    Options are those of the command; ``folder`` is a device's own under ``experiments`` when None. What was measured
    before a KeyboardInterrupt is kept. Raises MmcoreError where the preset cannot be run.
    """
    form = Form.of(preset, quick, chosen(device)[0].supports_timing)
    if not form.timed and not quick:
        note = "the device supports no timing: this only counts, and --quick takes less than a minute"
        print(note, file=sys.stderr, flush=True)
    name = device_name(device)
    about = run(name, "mmcore.executor.worker:describe")
    what, machine = f"{name} ({about['description']})", machine_info(about["facts"])
    cells, missing = _planned(form, name)
    usual_folder = Path("experiments") / re.sub(r"[^a-z0-9]+", "-", about["facts"]["name"].lower()).strip("-")
    with opened(folder or usual_folder, form.name) as store, ExitStack() as held:
        if fresh:
            store.forget()
        if (saved := store.finished()) and (reason := other_device(machine, saved["machine_info"])):
            raise MmcoreError(
                f"{store.results} holds the results of another device: {reason}; name another folder with --dir, or "
                "set them aside with --fresh"
            )
        records = {key: record for key, record in store.measured().items() if key in cells}
        before = len(records)
        progress = Progress(what, len(cells), before)
        held.callback(progress.end)
        try:
            if form.timed and before < len(cells):
                lock = Lock(f"device-{about['identity']}")
                held.callback(lock.release)
                lock.take(lambda by: progress.note(f"{what} is being measured by {by}; waiting until it is free"))
            for key, (benchmark, cell) in cells.items():
                if key in records:
                    continue
                try:
                    result = measure_cell(cell)
                    if not result.verified:
                        raise MmcoreError("; ".join(result.failures()))
                except MmcoreError as error:
                    kind = "refused" if isinstance(error, ConstraintViolation) else "failed"
                    missing[kind].append(missing_record(benchmark, str(error)))
                    progress.cell(benchmark.id, f"{kind}: {str(error).splitlines()[0]}")
                else:
                    record = benchmark_record(benchmark, result, key)
                    store.add(record)
                    records[key] = record
                    progress.cell(benchmark.id, _line(record["extra_info"]))
        except KeyboardInterrupt:
            again = "the same command without --fresh" if fresh else "the same command"
            count = f"{len(records)} of {len(cells)} cells are measured and kept"
            progress.note(f"interrupted: {count}; {again} goes on from there")
            raise
        results = document(form, machine, [records[key] for key in cells if key in records], **missing)
        store.finish(results)
    return Finished(results, store.results, before)


def _planned(form: Form, device: str) -> tuple[dict[str, tuple[Benchmark, Cell]], dict[str, list[Record]]]:
    """The cells of a form by their keys, and what cannot be measured of it: "refused" or "failed", with the reason."""
    found = [
        (benchmark, benchmark.cell(device, USUAL_SECONDS, benchmark.timing))
        for benchmark in form.benchmarks(registry())
    ]
    if not form.timed:
        found = [(benchmark, replace(cell, timings=())) for benchmark, cell in found]
    keys = run(device, "mmcore_experiments.identity:cell_keys", [cell.to_json() for _, cell in found])
    cells: dict[str, tuple[Benchmark, Cell]] = {}
    missing: dict[str, list[Record]] = {"refused": [], "failed": []}
    for each, (kind, text) in zip(found, keys, strict=True):
        if kind == "key":
            cells[text] = each
        else:
            missing[kind].append(missing_record(each[0], text))
    return cells, missing


def _line(info: Mapping[str, Any]) -> str:
    if info["gflops"] is None:
        return "verified"
    return f"verified, {info['median_ms'] * 1e3:.2f} µs ±{info['spread_percent']:.2f} %, {info['gflops']:.3g} GFLOP/s"

"""The run of a preset: it measures cells without a result one by one, and keeps each result at once."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

from rich.progress import Progress, TextColumn

from mmcore.cell import Cell, Timing
from mmcore.cli.output import console
from mmcore.errors import MmcoreError
from mmcore.executor import measure_cell, run
from mmcore.executor.choose_device import chosen, device_name
from mmcore.kernel.properties import DeviceProperties
from mmcore.messages import say
from mmcore.registry import registry
from mmcore_cuda.tuned_configs.files import in_file_names
from mmcore_engines.file_locks import Lock
from mmcore_pytest.collection import Benchmark, tuned
from mmcore_tools.experiments.preset import Preset
from mmcore_tools.experiments.results import (
    Record,
    Store,
    benchmark_record,
    document,
    machine_info,
    missing_record,
    opened,
)

Finished: TypeAlias = tuple[Mapping[str, Any], Path, int]
"""The results of a finished preset, their file, and the number of cells that earlier runs measured."""

_Cells: TypeAlias = dict[str, tuple[Benchmark, Cell]]  # by key
_Missing: TypeAlias = dict[str, list[Record]]  # "refused" and "failed"


def run_preset(preset: Preset, *, quick: bool | None, device: str, folder: Path | None, fresh: bool) -> Finished:
    """Measure the cells of a preset that have no result yet, and write the results.

    The options are those of the command. If ``quick`` is None, a device without times runs the reduced form. The usual
    folder is the device's under ``experiments``. A KeyboardInterrupt
    loses no finished cell. Raises MmcoreError if the preset cannot be run.
    """
    name, timed = device_name(device), chosen(device)[0].supports_timing
    if quick is None and not timed:
        say("the device supports no timing: this only counts, in the reduced form; --full runs the whole experiment")
    quick = not timed if quick is None else quick
    found = run(name, "mmcore.executor.worker:describe")
    what, machine = f"{name} ({found['description']})", machine_info(found["facts"])
    usual_folder = Path("experiments") / in_file_names(found["facts"]["name"])
    form, lock = preset.form(quick=quick, timed=timed), Lock(f"device-{found['identity']}")
    cells, missing = _planned(form, name, DeviceProperties.from_json(found["properties"]), timed=timed)
    with opened(folder or usual_folder, f"{preset.name}-quick" if quick else preset.name) as store:
        if fresh:
            store.forget()
        records = {key: record for key, record in store.measured(machine).items() if key in cells}
        before = len(records)
        say(f"{what}, {len(cells)} cells{f'; {before} of them measured before' if before else ''}")
        try:
            if timed and before < len(cells):
                lock.take(lambda by: say(f"{what} is being measured by {by}; waiting until it is free"))
            _measure(cells, store, records, missing)
        except KeyboardInterrupt:
            again = "the same command without --fresh" if fresh else "the same command"
            count = f"{len(records)} of {len(cells)} cells are measured and kept"
            say(f"interrupted: {count}; {again} continues")
            raise
        finally:
            lock.release()
        left_out = [measure for measure in preset.measures if measure not in form.measures]
        about = {
            **form.to_json(),
            "experiment": preset.name,
            "quick": quick,
            "timed": timed,
            "left_out": [f"{' and '.join(left_out)}: the device supports no timing"] if left_out else [],
            "benchmark_options": {"max_time": preset.max_time, "min_rounds": preset.min_rounds},
            **missing,
        }
        results = document(about, machine, [records[key] for key in cells if key in records])
        store.finish(results)
    return results, store.results, before


def _benchmarks(preset: Preset, properties: DeviceProperties) -> Iterator[Benchmark]:
    """Yield every kernel, config, size and measure; the usual configs of a kernel include its tuned ones.

    Raises UnknownKernel, or InvalidConfig for a parameter that a kernel does not have.
    """
    length: dict[str, Any] = {"max_seconds": preset.max_time, "min_rounds": preset.min_rounds}
    timings = [Timing(what, how, **length) for what, _, how in (each.rpartition("-") for each in preset.measures)]
    for kernel in map(registry().kernel, preset.kernels):
        declared = [config for each in preset.parameters for config in kernel.matching_configs(**each)]
        configs = dict.fromkeys(declared or kernel.usual_configs)
        pairs = [(kernel.problem(*sizes), config) for config, sizes in itertools.product(configs, preset.problems)]
        several = [(*pair, "") for pair in pairs] if declared else tuned(kernel, pairs, lambda: properties)
        for (problem, config, origin), timing in itertools.product(several, timings):
            yield Benchmark(kernel, problem, config, timing, origin=origin)


def _planned(preset: Preset, device: str, properties: DeviceProperties, *, timed: bool) -> tuple[_Cells, _Missing]:
    """Return the cells of a preset, and records of the others, which cannot be launched."""
    cells: _Cells = {}
    missing: _Missing = {"refused": [], "failed": []}
    for benchmark in _benchmarks(preset, properties):
        compared = {"baseline": preset.baseline, "figures": preset.figures}
        cell = benchmark.cell(device, benchmark.timing, timeout=preset.timeout, **compared)
        cell = cell if timed else replace(cell, timings=())
        try:
            cells[run(device, "mmcore_tools.experiments.identity:cell_key", cell.to_json())] = benchmark, cell
        except MmcoreError as error:
            kind, record = missing_record(benchmark, error)
            missing[kind].append(record)
    return cells, missing


def _measure(cells: _Cells, store: Store, records: dict[str, Record], missing: _Missing) -> None:
    """Measure the cells without a record; each gets one, or is added to the missing ones with its reason.

    A missing baseline is reported at once, since without it a run of minutes may be of little use.
    """
    reported = {""}
    with _progress(len(cells), len(records)) as done:
        for key, (benchmark, cell) in cells.items():
            if key in records:
                continue
            try:
                result = measure_cell(cell)
                if not result.verified:
                    raise MmcoreError("; ".join(result.failures()))
            except MmcoreError as error:
                kind, record = missing_record(benchmark, error)
                missing[kind].append(record)
                outcome = f"{kind}: {record['reason'].splitlines()[0]}"
            else:
                record = benchmark_record(benchmark, result, key)
                store.add(record)
                records[key] = record
                outcome = _outcome(record["extra_info"])
                for compared in record["extra_info"]["compared"]:
                    if compared["reason"] not in reported:
                        reported.add(compared["reason"])
                        say(f"not compared: {compared['reason']}")
            done(f"{benchmark.id}: {outcome}")


def _outcome(info: Mapping[str, Any]) -> str:
    if info["gflops"] is None:
        return "verified"
    rate = f"verified, {info['median_ms'] * 1e3:.2f} µs ±{info['spread_percent']:.2f} %, {info['gflops']:.3g} GFLOP/s"
    percent = info["percent_of_baseline"]
    return rate if percent is None else f"{rate}, {percent:.0f} % of {info['baseline']}"


@contextlib.contextmanager
def _progress(cells: int, before: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that reports a finished cell: on a terminal in one changing line, elsewhere in a new line."""
    begin, numbers, terminal = monotonic(), itertools.count(before + 1), sys.stderr.isatty()
    column = TextColumn("{task.description}", markup=False)
    with Progress(column, console=console(), transient=True, disable=not terminal) as bar:
        task = bar.add_task("")

        def done(what: str) -> None:
            number = next(numbers)
            left = timedelta(seconds=round((monotonic() - begin) / (number - before) * (cells - number)))
            line = f"[{number}/{cells}] {left} left; {what}"
            if terminal:
                bar.update(task, description=line)
            else:
                say(line)

        yield done

"""``mmcore tune`` beside exhaustive search and Kernel Tuner.

``measure RESULTS.json KERNEL… --size N`` measures every config of each kernel by ``mmcore tune --all``, and then
searches as a user would; it needs a GPU. ``replay RESULTS.json`` needs none: it repeats the search with twenty seeds
and the measured times. With the package kernel-tuner it also runs Kernel Tuner's strategies in simulation mode, with
as many evaluations.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import mmcore
from bench.studies.study import facts_of, machine_info, write
from mmcore.kernel.properties import DeviceProperties
from mmcore_tools.tune.space import SearchSpace

SEEDS = range(20)
NEAR = 1.02
"""The largest time of a found config, by that of the fastest config of all."""

STRATEGIES = ("random_sample", "bayes_opt", "genetic_algorithm", "simulated_annealing", "greedy_mls")
"""Kernel Tuner's strategies that are replayed."""


def measure(path: Path, size: str, kernels: Sequence[str]) -> None:
    """Measure every config, and search; write the results after each kernel."""
    rows: list[dict[str, Any]] = json.loads(path.read_text())["kernels"] if path.exists() else []
    head = machine_info(facts_of("cuda"))
    for kernel in kernels:
        with tempfile.TemporaryDirectory() as folder:
            every = _tuned(kernel, size, folder, "--all", "--storage", f"{folder}/all.log")
            searched = _tuned(kernel, size, folder, "--seed", "1", "--storage", f"{folder}/searched.log")
        rows.append({"kernel": kernel, "size": size, "every": every, "searched": searched})
        write(path, head, kernels=rows)


def _tuned(kernel: str, size: str, folder: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "mmcore", "tune", kernel, "--size", size, "--json", "-o", folder, *options]
    (found,) = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {name: value for name, value in found.items() if name != "file"}


def replay(path: Path) -> None:
    """Add the replayed searches to the results: the time that each seed found, and the number of evaluations."""
    document = json.loads(path.read_text())
    for row in document["kernels"]:
        space, seconds = _measured(row)
        evaluations = math.ceil(len(seconds) / 3)
        row["replayed"] = {
            "evaluations": evaluations,
            "mmcore": [_search(space, seconds, evaluations, seed) for seed in SEEDS],
        }
        with contextlib.suppress(ImportError):
            for strategy in STRATEGIES:
                row["replayed"][strategy] = [_by_kernel_tuner(space, seconds, evaluations, strategy, s) for s in SEEDS]
        for name, found in row["replayed"].items():
            if isinstance(found, list):
                near = sum(each["slower"] <= NEAR for each in found)
                median = statistics.median(each["slower"] for each in found)
                print(row["kernel"], name, f"{near} of {len(found)} within 2 %, median {median:.4f}", flush=True)
    write(path, {"machine_info": document["machine_info"]}, kernels=document["kernels"])


def _measured(row: Mapping[str, Any]) -> tuple[SearchSpace, dict[str, float | None]]:
    """Return the search space of a kernel, and the time of each config; None for a config that failed."""
    kernel, size = mmcore.kernels()[row["kernel"]], int(row["size"])
    space = SearchSpace(kernel, kernel.problem(size, size, size), DeviceProperties())
    return space, {id: row["every"]["trials"].get(id) for id in space.configs}


def _search(space: SearchSpace, seconds: Mapping[str, float | None], evaluations: int, seed: int) -> dict[str, Any]:
    """Return the result of mmcore's search, with five configs at a time as in a worker."""
    import optuna

    from mmcore_tools.tune.search import Search

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    search = Search("replayed", space, optuna.storages.InMemoryStorage(), seed)
    pending: list[Any] = []
    while True:
        while len(pending) < 5 and len(search.seconds) + len(pending) < evaluations and (asked := search.ask()):
            pending.append(asked)
        if not pending:
            break
        trial, id = pending.pop(0)
        search.tell(trial, seconds[id])
    return _found((search.seconds[id] for id in search.seconds), seconds)


def _by_kernel_tuner(
    space: SearchSpace, seconds: Mapping[str, float | None], evaluations: int, strategy: str, seed: int
) -> dict[str, Any]:
    """Return the result of a strategy of Kernel Tuner's with as many evaluations."""
    import kernel_tuner

    parameters = {name: list(values) for name, values in space.parameters.items()}
    host_times = ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time")

    def entry(id: str, value: float | None) -> dict[str, Any]:
        measured = {"time": "RuntimeFailedConfig" if value is None else value, "times": [value or 0], "timestamp": ""}
        return {**space.point(id), **measured, **dict.fromkeys(host_times, 0)}

    def allowed(point: Any) -> bool:
        return space.at(point) is not None

    cache = {",".join(map(str, space.point(id).values())): entry(id, value) for id, value in seconds.items()}
    about = {"device_name": "replayed", "kernel_name": "f", "problem_size": [1], "objective": "time"}
    keys = {"tune_params_keys": list(parameters), "tune_params": parameters}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = Path(folder, "cache.json")
        file.write_text(json.dumps({**about, **keys, "cache": cache}))
        found, _ = kernel_tuner.tune_kernel(
            "f", "__global__ void f() {}", 1, [], parameters, restrictions=[allowed],
            strategy=strategy, strategy_options={"max_fevals": evaluations}, simulation_mode=True, cache=str(file),
            seed=seed, lang="CUDA",
        )  # fmt: skip
    return _found((each["time"] if isinstance(each["time"], float) else None for each in found), seconds)


def _found(tried: Iterator[float | None], seconds: Mapping[str, float | None]) -> dict[str, Any]:
    least = min(value for value in seconds.values() if value is not None)
    times = list(tried)
    best = min(value for value in times if value is not None)
    near = next((count for count, value in enumerate(times, 1) if value is not None and value <= NEAR * least), None)
    return {"slower": best / least, "near_after": near, "evaluated": len(times)}


def main(
    command: Literal["measure", "replay"], results: Path, kernels: Sequence[str] = (), *, size: str = "2048"
) -> None:
    """Measure kernels at a size, or replay."""
    if command == "measure":
        measure(results, size, kernels)
    else:
        replay(results)

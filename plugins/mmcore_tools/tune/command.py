"""The command ``mmcore tune``: search, final, and the file that ``matmul``, ``run`` and ``bench`` read."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mmcore.cli.options import device_option, number_type, size_type, sizes_type, timeout_option
from mmcore.cli.output import console, json_option, loaded_registry, render, write_json
from mmcore.deadline import parse_seconds
from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.properties import DeviceProperties
from mmcore.kernel_reference import is_file
from mmcore.messages import say
from mmcore.registry import registry
from mmcore_cuda.tuned_configs.files import Tuned, file_of, own_folder

if TYPE_CHECKING:
    from mmcore_tools.tune.tuning import Tuning

_LEAST_TRIALS = 20  # a sampler learns nothing from fewer


@click.command()
@click.argument("kernels", metavar="KERNEL...", nargs=-1, required=True)
@click.option("--size", "sizes", multiple=True, required=True, type=sizes_type, metavar="N", help="N, or MxNxK.")
@click.option("--budget", default="10m", type=parse_seconds, metavar="T", show_default=True, help="For each search.")
@click.option("--trials", type=size_type, metavar="N", help="Configs tried at most; a third by default.")
@click.option("--all", "exhaustive", is_flag=True, help="Try every config, however long it takes.")
@device_option("auto, cuda:1, all, ...")
@click.option("--engine", default="processes", metavar="NAME", show_default=True, help="processes, ray, ...")
@click.option("--engine-address", default="", metavar="WHERE", help="Of Ray: auto, HOST:PORT or ray://HOST:PORT.")
@timeout_option("each config")
@click.option("--seed", type=number_type(0, 2**32 - 1), metavar="S", help="Seed of the sampler; fresh by default.")
@click.option("--storage", default="", metavar="FILE|URL", help="Optuna's storage; usually a file beside the result.")
@click.option("-o", "--output", type=Path, metavar="DIR", help="Where the result goes; usually with your settings.")
@json_option
def tune(
    kernels: Sequence[str],
    sizes: Sequence[tuple[int, int, int]],
    budget: float,
    trials: int | None,
    exhaustive: bool,
    device: str,
    engine: str,
    engine_address: str,
    timeout: float,
    seed: int | None,
    storage: str,
    output: Path | None,
    as_json: bool,
) -> int:
    """Find a kernel's fastest config on a GPU.

    Without a GPU, mmcore compare KERNEL --config … --config … predicts the times of two configs.

    Configs that constraints or the device's limits forbid are never launched. The others are verified before they are
    timed, and in the end the fastest take turns. The best is written to a file for the card's model, where matmul, run
    and mmcore bench look for it. After an interruption the same command continues.
    """
    selected, _ = loaded_registry().matching(kernels)
    from mmcore_engines import Request, Scheduler, connect
    from mmcore_engines.scheduler import NotMeasured

    folder = output or own_folder()
    spread = Scheduler(connect(engine, Request(device, engine_address)), say)
    started: list[Tuning] = []
    tunings: list[Tuning] = []  # the successful ones
    failed = False
    paths: list[Path] = []
    try:
        described = spread.start().result()
        if not described["supports_timing"]:
            why = f"{described['name']} supports no timing, so no config is faster than another there"
            word = kernels[0] if is_file(kernels[0]) else selected[0].name
            predicting = f"mmcore compare {word} --config … --config …"
            raise MmcoreError(f"{why}; tuning needs a GPU, while {predicting} predicts times without one")
        # These need Optuna, which is of no use without such a device.
        from mmcore_tools.tune import search as searching
        from mmcore_tools.tune.report import document, table
        from mmcore_tools.tune.tuning import card_of, run_final, run_trials, tuned, writable, write

        studies = searching.storage(storage, folder)
        written = writable(file_of(card_of(described), folder))  # fails before the search, not after it
        spread.begin()
        for kernel, size in itertools.product(selected, sizes):
            try:
                limit = None if exhaustive else trials or 0
                tuning = _tuning(kernel, size, described, written, studies, seed, limit)
                started.append(tuning)
                end = time.monotonic() + (math.inf if exhaustive else budget)
                with _progress(end) as report:
                    run_trials(tuning, spread, end, timeout, report)
                run_final(tuning, spread, timeout)
            except NotMeasured:
                raise
            except OSError as error:  # Optuna's storage failed
                raise MmcoreError(f"the search can no longer be kept: {error.strerror}") from error
            except MmcoreError as error:
                if len(selected) * len(sizes) == 1:
                    raise
                failed = True
                say(f"error: {error}")
            else:
                paths.append(write(tuned(tuning, described), folder))
                tunings.append(tuning)
    except KeyboardInterrupt:
        count = sum(len(each.search.seconds) for each in started)
        say(f"interrupted: {count} configs are measured and kept; the same command continues")
        raise
    finally:
        spread.close()
    if as_json:
        write_json(document(tunings, paths))
    elif tunings:
        render(*table(tunings, paths, described))
    return 2 if failed else 0


def _tuning(
    kernel: Kernel,
    size: tuple[int, int, int],
    described: Mapping[str, Any],
    written: Sequence[Tuned],
    studies: Any,
    seed: int | None,
    trials: int | None,
) -> Tuning:
    """Return a tuning that has not begun, with at most so many trials: 0 for a third of the configs, None for all."""
    from mmcore_tools.tune.search import Search
    from mmcore_tools.tune.space import SearchSpace
    from mmcore_tools.tune.tuning import Tuning

    problem = kernel.problem(*size)
    space = SearchSpace(kernel, problem, DeviceProperties.from_json(described["properties"]), written)
    count = len(space.configs)
    most = count if trials is None else trials or max(_LEAST_TRIALS, math.ceil(count / 3))
    # A change of the source, its package, the driver or the configs begins another study.
    facts = {name: value for name, value in described["facts"].items() if name in ("name", "driver")}
    package = registry().provenance(kernel.name, registry().kernels)
    identity = json.dumps([facts, package, kernel.source_text(), sorted(space.configs)], sort_keys=True, default=str)
    digest = hashlib.sha256(identity.encode()).hexdigest()[:8]
    name = f"{kernel.name} {problem} {described['description']} {digest}"
    return Tuning(kernel, problem, Search(name, space, studies, seed), min(most, count))


@contextmanager
def _progress(end: float) -> Iterator[Callable[[Tuning], None]]:
    """Yield a function that shows a search's progress on a terminal, in one line that changes."""
    from rich.progress import BarColumn, Progress, TextColumn

    terminal = console()
    columns = TextColumn("{task.description}", markup=False), BarColumn(20), TextColumn("{task.fields[state]}")
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        task = bar.add_task("", state="")

        def report(tuning: Tuning) -> None:
            search = tuning.search
            fastest = search.seconds[search.best[0]] if search.best else None
            best = f"best {fastest * 1e6:.2f} µs" if fastest else "none is right yet"
            left = max(0, end - time.monotonic())
            rest = "" if left == math.inf else f", {timedelta(seconds=round(left))} left at most"
            state = f"{len(search.seconds)} of {tuning.trials} tried, {best}{rest}"
            completed = len(search.seconds)
            bar.update(task, description=tuning.label, state=state, completed=completed, total=tuning.trials)

        yield report

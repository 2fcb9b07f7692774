"""``mmcore tune``: search, final, and the file that ``matmul``, ``run`` and ``bench`` read."""

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
from typing import Any

import click

from mmcore.cli.options import device_option, number_type, size_type, sizes_type, timeout_option
from mmcore.cli.output import console, json_option, loaded_registry, render, write_json
from mmcore.deadline import parse_seconds
from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import Kernel
from mmcore.messages import say
from mmcore.registry import registry
from mmcore_cuda.tuned_configs.files import Tuned, file_of, own_folder
from mmcore_tools.plots.files import PICTURES, require_matplotlib

_LEAST_TRIALS = 20  # below that a sampler has nothing to learn from


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
@click.option("--sampler", type=click.Choice(["tpe", "random"]), default="tpe", show_default=True, help="Optuna's.")
@click.option("--seed", type=number_type(0, 2**32 - 1), metavar="S", help="Seed of the sampler; fresh by default.")
@click.option("--storage", default="", metavar="FILE|URL", help="Optuna's storage; usually a file beside the result.")
@click.option("-o", "--output", type=Path, metavar="DIR", help="Where the result goes; usually with your settings.")
@click.option("--plot", type=Path, metavar="FILE", help="Draw the search; ends in .png or .svg.")
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
    sampler: str,
    seed: int | None,
    storage: str,
    output: Path | None,
    plot: Path | None,
    as_json: bool,
) -> int:
    """Find a kernel's fastest config.

    Configs that constraints or the device's limits forbid are never launched; each of the others is verified before it
    is timed, and the fastest take turns in the end. The best goes into a file for each card model, by which matmul, run
    and pytest bench take it where nobody names another. After an interruption the same command goes on.
    """
    if plot is not None:
        if plot.suffix.lower() not in PICTURES:
            raise click.UsageError(f"{str(plot)!r} does not end in .png or .svg")
        if not plot.absolute().parent.is_dir():
            raise click.UsageError(f"there is no folder {plot.parent} for --plot")
        require_matplotlib()  # now, and not when all is tuned
    found, _ = loaded_registry().matching(kernels)
    from mmcore_engines import Request, Spread, connect
    from mmcore_engines.spread import NotMeasured
    from mmcore_tools.tune import search as searching
    from mmcore_tools.tune.report import document, table
    from mmcore_tools.tune.tuning import Tuning, card_of, run_final, run_trials, tuned, writable, write

    folder = output or own_folder()
    kept = searching.storage(storage, folder)
    spread = Spread(connect(engine, Request(device, engine_address)), say)
    begun: list[Tuning] = []
    tunings: list[Tuning] = []  # those that have found something
    failed = False
    paths: list[Path] = []
    try:
        described = spread.start().result()
        if not described["supports_timing"]:
            raise MmcoreError(f"{described['name']} supports no timing, so no config is faster than another there")
        path = file_of(card_of(described), folder)
        written = writable(path)  # what cannot be added to now, cannot when all is tuned
        spread.begin()
        for kernel, size in itertools.product(found, sizes):
            try:
                tuning = _tuning(
                    kernel, size, described, written, kept, (sampler, seed), None if exhaustive else trials or 0
                )
                begun.append(tuning)
                end = time.monotonic() + (math.inf if exhaustive else budget)
                with _progress(end) as told:
                    run_trials(tuning, spread, end, timeout, told)
                run_final(tuning, spread, timeout)
            except NotMeasured:
                raise
            except OSError as error:  # of Optuna's storage
                raise MmcoreError(f"the search can no longer be kept: {error.strerror}") from error
            except MmcoreError as error:
                if len(found) * len(sizes) == 1:
                    raise
                failed = True
                say(f"error: {error}")
            else:
                paths.append(write(tuned(tuning, described), folder))
                tunings.append(tuning)
    except KeyboardInterrupt:
        count = sum(len(each.search.seconds) for each in begun)
        say(f"interrupted: {count} configs are measured and kept; the same command goes on from there")
        raise
    finally:
        spread.close()
    if plot is not None and tunings:
        from mmcore_tools.tune.picture import draw

        draw(tunings, described, plot)
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
    kept: Any,
    sampler: tuple[str, int | None],
    trials: int | None,
) -> Any:
    """A tuning that is to be begun; ``trials`` is the most, 0 for a third of the configs, None for all."""
    from mmcore.kernel.properties import DeviceProperties
    from mmcore_tools.tune.search import Search
    from mmcore_tools.tune.space import SearchSpace
    from mmcore_tools.tune.tuning import Tuning

    problem = kernel.problem(*size)
    space = SearchSpace(kernel, problem, DeviceProperties.from_json(described["properties"]), written)
    several = len(space.configs)
    most = several if trials is None else trials or max(_LEAST_TRIALS, math.ceil(several / 3))
    # Other code, of the kernel's source or of the package that brings it, another driver or other configs make another
    # study.
    facts = {name: value for name, value in described["facts"].items() if name in ("name", "driver")}
    package = registry().provenance(kernel.name, registry().kernels)
    known_by = json.dumps([facts, package, kernel.source_text(), sorted(space.configs)], sort_keys=True, default=str)
    digest = hashlib.sha256(known_by.encode()).hexdigest()[:8]
    name = f"{kernel.name} {problem} {described['description']} {digest}"
    return Tuning(kernel, problem, Search(name, space, kept, *sampler), min(most, several))


@contextmanager
def _progress(end: float) -> Iterator[Callable[[Any], None]]:
    """Says how far a search is, on a terminal: in one line that changes."""
    from rich.progress import BarColumn, Progress, TextColumn

    terminal = console()
    columns = TextColumn("{task.description}", markup=False), BarColumn(20), TextColumn("{task.fields[state]}")
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        task = bar.add_task("", state="")

        def told(tuning: Any) -> None:
            search = tuning.search
            best = f"best {search.seconds[search.best[0]] * 1e6:.2f} µs" if search.best else "none is right yet"
            left = max(0, end - time.monotonic())
            rest = "" if left == math.inf else f", {timedelta(seconds=round(left))} left at most"
            state = f"{len(search.seconds)} of {tuning.trials} tried, {best}{rest}"
            done = {"completed": len(search.seconds), "total": tuning.trials}
            bar.update(task, description=tuning.label, state=state, **done)

        yield told

"""``mmcore experiment``: a lecture's experiment, measured on the device at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mmcore.cli.commandline import INTERRUPTED
from mmcore.cli.output import json_option, loaded_registry, render, write_json


@click.command()
@click.argument("name", required=False)
@click.option("--list", "lists", is_flag=True, help="List the experiments.")
@click.option("--quick", is_flag=True, help="The reduced form, in under a minute on an emulator.")
@click.option("--device", metavar="D", help="auto (the default), cuda, cuda:1, emulator, ...")
@click.option(
    *("-o", "--dir", "folder"),
    type=Path,
    metavar="DIR",
    help="Folder for the results; experiments/ and the device's name by default.",
)
@click.option("--fresh", is_flag=True, help="Measure again what is measured already.")
@json_option
def experiment(name: str | None, lists: bool, as_json: bool, **asked: Any) -> int:
    """Run a lecture's experiment.

    It is a declared sweep over kernels, sizes, blocks and ways of measuring. What is measured is kept: after an
    interruption the same command goes on where it was.
    """
    if lists:
        if name is not None or any(asked.values()):
            raise click.UsageError("--list goes alone, or with --json")
        return _list(as_json)
    if name is None:
        raise click.UsageError("name an experiment; mmcore experiment --list shows what there is")
    return _run(name, as_json, **asked)


def _list(as_json: bool) -> int:
    from mmcore_experiments.report import listing, summary

    found = loaded_registry().sweeps.values()
    if as_json:
        write_json([summary(registered) for registered in found])
    else:
        render(*listing([registered.sweep for registered in found]))
    return 0


def _run(name: str, as_json: bool, *, quick: bool, device: str | None, folder: Path | None, fresh: bool) -> int:
    sweep = loaded_registry().sweep(name)
    from mmcore_experiments.progress import progress
    from mmcore_experiments.report import came_of, report
    from mmcore_experiments.running import Interrupted, run_sweep

    try:
        with progress(name) as watcher:
            finished = run_sweep(
                sweep, quick=quick, device=device or "auto", folder=folder, fresh=fresh, watcher=watcher
            )
    except Interrupted as interruption:
        click.echo(str(interruption), err=True)
        return INTERRUPTED
    if as_json:
        write_json(came_of(finished))
    else:
        render(*report(finished))
    return 1 if finished.document["mmcore"]["failed"] else 0

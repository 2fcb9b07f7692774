"""The command ``mmcore experiment``, which lists presets and runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mmcore.cli.options import complete_device
from mmcore.cli.output import json_option, loaded_registry, render, write_json
from mmcore.messages import say
from mmcore_tools.experiments.preset import presets


@click.command()
@click.argument("name", required=False)
@click.option("--list", "lists", is_flag=True, help="List the presets.")
@click.option(
    "--quick/--full", default=None, help="The reduced form, the default without a GPU, or the whole experiment."
)
@click.option("--device", metavar="D", help="auto (the default), cuda, emulator, ...", shell_complete=complete_device)
@click.option("-o", "--dir", "folder", type=Path, metavar="DIR", help="By default experiments/ and the device.")
@click.option("--fresh", is_flag=True, help="Measure every cell again.")
@json_option
def experiment(name: str | None, lists: bool, as_json: bool, **options: Any) -> int:
    """Run a lecture's experiment, as a preset declares it.

    Every kernel is measured at every size in every config. Results are kept: after an interruption the same command
    continues.
    """
    if lists and (name is not None or any(options.values())):
        raise click.UsageError("--list takes no other option than --json")
    if name is None and not lists:
        raise click.UsageError("name a preset; mmcore experiment --list shows them all")
    registry = loaded_registry()
    found = presets(registry)
    for duplicate in sorted(found.duplicates):
        say(f"warning: {found.conflict(duplicate)}")
    from mmcore_tools.experiments.report import listing, outcome, report, summary

    if name is None:
        write_json([*map(summary, found.values())]) if as_json else render(listing(found.values()))
        return 0
    preset = found.named(name, registry.failed)
    from mmcore_tools.experiments.running import run_preset

    finished = run_preset(preset, **{**options, "device": options["device"] or "auto"})
    write_json(outcome(*finished)) if as_json else render(*report(*finished))
    return 1 if finished[0]["mmcore"]["failed"] else 0

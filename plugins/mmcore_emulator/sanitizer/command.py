"""``mmcore check``: what a kernel does that it must not, with every access watched."""

from __future__ import annotations

from typing import Any

import click

from mmcore.cli.options import device_option, launch_options, requested_cell, timeout_option
from mmcore.cli.output import json_option, loaded_registry, render, write_json

USUAL_SIZE = 128
"""Large enough for several blocks along each axis; what goes wrong at 640 goes wrong here."""


@click.command()
@click.argument("kernel")
@launch_options(USUAL_SIZE)
@device_option("auto: the emulator.")
@timeout_option("everything together")
@json_option
def check(kernel: str, device: str, as_json: bool, **asked: Any) -> int:
    """Look for races, stray accesses and divergent barriers."""
    from mmcore_emulator.api import checked
    from mmcore_emulator.sanitizer.report import report

    found = loaded_registry().kernel(kernel)
    result = checked(requested_cell(found, device, asked, USUAL_SIZE))
    if as_json:
        write_json(result.to_json())
    else:
        render(*report(result, found, auto=device == "auto"))
    return 1 if result.violations else 0

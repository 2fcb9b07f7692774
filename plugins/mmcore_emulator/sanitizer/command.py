"""``mmcore check``: what a kernel does that it must not, with every access watched."""

from __future__ import annotations

from typing import Any

import click

from mmcore.cli.options import launch_options, timeout_option, with_usual_size
from mmcore.cli.output import json_option, loaded_registry, render, write_json

USUAL_SIZE = 128
"""Large enough for several blocks along each axis; what goes wrong at 640 goes wrong here."""


@click.command()
@click.argument("kernel")
@launch_options(USUAL_SIZE)
@click.option(
    "--device", default="auto", metavar="D", show_default=True, help="auto: the first that looks for hazards."
)
@timeout_option("everything together")
@json_option
def check(kernel: str, device: str, as_json: bool, **asked: Any) -> int:
    """Look for races, stray accesses and divergent barriers."""
    request = with_usual_size(loaded_registry().kernel(kernel), asked, USUAL_SIZE)
    from mmcore_emulator.api import check as check_kernel
    from mmcore_emulator.sanitizer.report import report

    found = check_kernel(kernel, device=device, **request)
    if as_json:
        write_json(found.to_json())
    else:
        render(*report(found, chosen=device == "auto"))
    return 1 if found.findings else 0

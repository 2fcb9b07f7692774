"""``mmcore run``: run a kernel, verify its product and report it the way the lecture does."""

from __future__ import annotations

from typing import Any

import click

from mmcore.cell import BRIEFLY, WAYS, Timing
from mmcore.cli.options import USUAL_SIZE, device_option, launch_options, requested_cell, timeout_option
from mmcore.cli.output import json_option, loaded_registry, render, write_json
from mmcore.executor import measure_cell


@click.command()
@click.argument("kernel")
@launch_options(USUAL_SIZE)
@device_option()
@click.option("--memory", type=click.Choice(WAYS["end-to-end"]), default="pageable", help="Host memory of copies.")
@timeout_option("everything together")
@json_option
def run(kernel: str, device: str, memory: str, as_json: bool, **asked: Any) -> int:
    """Run a kernel on random inputs, verify its product, time it."""
    from mmcore.devices.choose import chosen

    found = loaded_registry().kernel(kernel)
    timed = chosen(device)[0].supports_timing
    timings = (Timing("kernel", "warm", **BRIEFLY), Timing("end-to-end", memory, **BRIEFLY)) if timed else ()
    result = measure_cell(requested_cell(found, device, asked, USUAL_SIZE, timings=timings))
    if as_json:
        write_json(result.to_json())
    else:
        from mmcore.cli.report import report

        render(*report(result, found, auto=device == "auto"))
    return 0 if result.verified else 2 if result.timed_out else 1

"""``mmcore profile``: how much work a kernel does, and what each of its accesses costs."""

from __future__ import annotations

from typing import Any

import click

from mmcore.cli.options import USUAL_SIZE, device_option, launch_options, requested_cell, timeout_option
from mmcore.cli.output import json_option, loaded_registry, render, write_json


@click.command()
@click.argument("kernel")
@launch_options(USUAL_SIZE)
@device_option("auto: the emulator.")
@click.option("--by-line", is_flag=True, help="Say which line of the source does what.")
@click.option("--source", is_flag=True, help="Show the source with what each line does beside it.")
@click.option(
    "--coalescing",
    type=click.Choice(["sectors", "cc1x"]),
    default="sectors",
    show_default=True,
    help="What a warp's loads come to: sectors of 32 bytes, or compute capability 1.2's transactions.",
)
@timeout_option("everything together")
@json_option
def profile(kernel: str, device: str, by_line: bool, source: bool, coalescing: str, as_json: bool, **asked: Any) -> int:
    """Count a kernel's instructions, memory accesses and conflicts."""
    from mmcore_emulator.api import profiled
    from mmcore_emulator.profiler.report import LineTable, report, source_table

    found = loaded_registry().kernel(kernel)
    result = profiled(requested_cell(found, device, asked, USUAL_SIZE))
    if as_json:
        write_json(result.to_json())
    else:
        parts = report(result, coalescing, auto=device == "auto")
        if by_line:
            parts += ["", LineTable(result, found, coalescing)]
        if source:
            parts += ["", source_table(result, found)]
        render(*parts)
    return 1 if result.violations else 0

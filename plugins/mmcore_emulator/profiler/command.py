"""``mmcore profile``: how much work a kernel does, and what each of its accesses costs."""

from __future__ import annotations

from typing import Any

import click

from mmcore.cli.kernels import USUAL_SIZE
from mmcore.cli.options import launch_options, timeout_option, with_usual_size
from mmcore.cli.output import json_option, loaded_registry, render, write_json


@click.command()
@click.argument("kernel")
@launch_options(USUAL_SIZE)
@click.option("--device", default="auto", metavar="D", show_default=True, help="auto: the first that counts.")
@click.option("--with", "tool", type=click.Choice(["ncu"]), help="Have NVIDIA's ncu count, on a GPU.")
@click.option("--exact", is_flag=True, help="Run every block, even where a sample of them would do.")
@click.option("--by-line", is_flag=True, help="Say which line of the source does what.")
@click.option(
    "--coalescing",
    type=click.Choice(["sectors", "cc1x"]),
    default="sectors",
    show_default=True,
    help="What a warp's loads come to: sectors of 32 bytes, or compute capability 1.2's transactions.",
)
@timeout_option("counting on an emulator")
@json_option
def profile(
    kernel: str,
    device: str,
    tool: str | None,
    exact: bool,
    by_line: bool,
    coalescing: str,
    as_json: bool,
    **asked: Any,
) -> int:
    """Count a kernel's instructions, memory accesses and conflicts."""
    if tool and (exact or by_line or coalescing != "sectors"):
        raise click.UsageError("--exact, --by-line and --coalescing are the emulator's; ncu counts on a GPU, in all")
    request = with_usual_size(loaded_registry().kernel(kernel), asked, USUAL_SIZE)
    from mmcore_emulator.api import profile as profile_kernel
    from mmcore_emulator.profiler.report import LineTable, report

    found = profile_kernel(kernel, device=device, exact=exact, ncu=tool == "ncu", **request)
    if as_json:
        write_json(found.to_json())
    else:
        parts = report(found, coalescing, chosen=device == "auto")
        render(*parts, *(("", LineTable(found, coalescing)) if by_line else ()))
    return 1 if found.violations else 0

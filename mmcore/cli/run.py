"""``mmcore run``: run a kernel, verify its product and report it the way the lecture does."""

from __future__ import annotations

from typing import Any

import click

from mmcore.cli.kernels import USUAL_SIZE
from mmcore.cli.options import launch_options, timeout_option, with_usual_size
from mmcore.cli.output import json_option, loaded_registry, render, write_json
from mmcore.launching.stopwatch import MEMORIES


@click.command()
@click.argument("kernel")
@launch_options(USUAL_SIZE)
@click.option("--device", default="auto", metavar="D", show_default=True, help="auto, cuda, cuda:1, emulator, ...")
@click.option("--memory", type=click.Choice(MEMORIES), default=MEMORIES[0], help="Host memory of copies.")
@timeout_option("everything together")
@json_option
def run(kernel: str, device: str, memory: str, as_json: bool, **asked: Any) -> int:
    """Run a kernel on random inputs, verify its product, time it."""
    request = with_usual_size(loaded_registry().kernel(kernel), asked, USUAL_SIZE)
    from mmcore.api import run as run_kernel
    from mmcore.cli.report import report

    outcome = run_kernel(kernel, device=device, memory=memory, **request)
    if as_json:
        write_json(outcome.to_json())
    else:
        render(*report(outcome, chosen=device == "auto"))
    return 0 if outcome.verified else 1

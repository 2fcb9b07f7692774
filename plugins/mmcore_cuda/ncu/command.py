"""``mmcore ncu``: the counters of a kernel on a GPU."""

from __future__ import annotations

from typing import Any

import click

from mmcore.cli.kernel_param import KernelParam
from mmcore.cli.options import USUAL_SIZE, device_option, launch_options, requested_cell, timeout_option
from mmcore.cli.output import json_option, loaded_registry, quiet_option, render, write_json
from mmcore.kernel_reference import KernelReference
from mmcore.messages import say


@click.command()
@click.argument("kernel", type=KernelParam())
@launch_options(USUAL_SIZE)
@device_option("auto: the first GPU.")
@timeout_option("everything together")
@quiet_option
@json_option
def ncu(kernel: KernelReference, device: str, quiet: bool, as_json: bool, **asked: Any) -> int:
    """Have NVIDIA's ncu count a kernel's work on a GPU."""
    from mmcore_cuda.ncu.ncu import profiles_by_ncu, unknown_metrics
    from mmcore_emulator.adapter.profile_command import counts, facts

    declared = loaded_registry().kernel(kernel)
    (profile,) = profiles_by_ncu([requested_cell(declared, device, asked, USUAL_SIZE)])
    if unknown := unknown_metrics(profile):
        say(f"warning: ncu does not know {', '.join(unknown)}")
    if as_json:
        write_json(profile.to_json())
    else:
        heading = [] if quiet else facts(profile, auto=device == "auto")
        render(*heading, *counts(profile, "sectors"))
    return 1 if profile.violations else 0

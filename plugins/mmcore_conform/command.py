"""``mmcore conform``: whether kernels keep what their declarations promise, tried case by case."""

from __future__ import annotations

from typing import Any

import click

from mmcore.cli.options import timeout_option
from mmcore.cli.output import json_option, loaded_registry, render, write_json
from mmcore.errors import UnknownKernel


@click.command()
@click.argument("kernels", metavar="KERNEL...", nargs=-1, required=True)
@click.option("--device", default="auto", metavar="D", show_default=True, help="auto, cuda, cuda:1, emulator, ...")
@click.option("--seed", type=click.IntRange(0), metavar="S", help="Seed of the random inputs; fresh by default.")
@timeout_option("each case")
@json_option
def conform(kernels: tuple[str, ...], device: str, seed: int | None, timeout: float, as_json: bool) -> int:
    """Try whether kernels keep what they declare.

    A KERNEL is a name or a pattern such as 'acme.*', which leaves out kernels with known violations.
    """
    found, faulty = loaded_registry().matching(kernels)
    if faulty:
        click.echo(f"left out for their known violations unless named: {', '.join(each.name for each in faulty)}", err=True)
    if not found:
        raise UnknownKernel("no other kernel matches")
    from mmcore.api import device as opened
    from mmcore_conform.report import report
    from mmcore_conform.conform import conform_kernel, watching_device

    runner = opened(device)
    watcher = watching_device(runner)
    documents: list[dict[str, Any]] = []
    conforms = True
    for kernel in found:
        conformance = conform_kernel(kernel, runner, watcher, seed=seed, seconds=timeout)
        conforms &= conformance.conforms
        if as_json:
            documents.append(conformance.to_json())
        else:
            # One after the other: a kernel takes seconds.
            render(*([] if kernel is found[0] else [""]), *report(conformance))
    if as_json:
        write_json(documents)
    return 0 if conforms else 1

"""``mmcore conform``: whether kernels keep what their declarations promise, tested case by case."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import click

from mmcore.cli.options import device_option, timeout_option
from mmcore.cli.output import json_option, loaded_registry, render, write_json
from mmcore.errors import UnknownKernel
from mmcore_conform.conformance import Conformance, Progress, conform_kernel
from mmcore_conform.report import report


@click.command()
@click.argument("kernels", metavar="KERNEL...", nargs=-1, required=True)
@device_option()
@click.option("--seed", type=click.IntRange(0), metavar="S", help="Seed of the random inputs; fresh by default.")
@timeout_option("each case")
@click.option("-v", "--verbose", is_flag=True, help="Print every case.")
@click.option("-q", "--quiet", is_flag=True, help="Print a line for each kernel, and no progress.")
@json_option
def conform(
    kernels: tuple[str, ...], device: str, seed: int | None, timeout: float, verbose: bool, quiet: bool, as_json: bool
) -> int:
    """Test whether kernels keep what they declare.

    A KERNEL is a name or a pattern such as 'acme.*', which leaves out kernels with known bugs.
    """
    found, buggy = loaded_registry().matching(kernels)
    if buggy:
        click.echo(f"left out for their known bugs unless named: {', '.join(each.name for each in buggy)}", err=True)
    if not found:
        raise UnknownKernel("no other kernel matches")
    made: list[Conformance] = []
    for kernel in found:
        with _progress(kernel.name, shown=not quiet and sys.stderr.isatty()) as progress:
            made.append(conform_kernel(kernel.name, device, seed=seed, timeout=timeout, progress=progress))
        if not as_json:
            render(*([""] if len(made) > 1 and not quiet else []), *report(made[-1], quiet=quiet, verbose=verbose))
    if as_json:
        write_json([each.to_json() for each in made])
    if any(each.failures for each in made):
        return 1
    return 0 if all(each.conforms for each in made) else 2


@contextlib.contextmanager
def _progress(kernel: str, *, shown: bool) -> Iterator[Progress]:
    """A bar on a terminal's stderr that says what is being tested."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True, disable=not shown) as bar:
        task = bar.add_task(kernel)
        yield lambda what, done, total: bar.update(task, description=f"{kernel}: {what}", completed=done, total=total)

"""``mmcore run``: run a kernel, verify its product and report it the way the lecture does."""

from __future__ import annotations

import click

from mmcore.cli.kernels import usual_size
from mmcore.cli.output import json_option, loaded_registry, render, write_json

_LARGEST_INT = 2**31 - 1


def _size(text: str) -> int:
    """A number of rows, columns or elements, which kernels take as a C int."""
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= _LARGEST_INT):
        raise click.BadParameter(f"{text!r} is not a whole number from 1 to {_LARGEST_INT}")
    return int(text)


@click.command()
@click.argument("kernel")
@click.option("--size", type=_size, metavar="N", help="m = n = k; 640, or the next that the kernel allows, by default.")
@click.option("-m", type=_size, metavar="M", help="Rows of A and C.")
@click.option("-n", type=_size, metavar="N", help="Columns of B and C.")
@click.option("-k", type=_size, metavar="K", help="Columns of A, rows of B.")
@click.option("--block", metavar="BX[xBY]", help="Threads per block; 32 is 32x32 unless the kernel's blocks are flat.")
@click.option("--device", default="auto", metavar="D", show_default=True, help="auto, cuda, cuda:1, emulator, ...")
@click.option("--memory", type=click.Choice(["pageable", "pinned"]), default="pageable", help="Host memory of copies.")
@click.option("--seed", type=click.IntRange(0), metavar="S", help="Seed of the random inputs; fresh by default.")
@click.option("--force", is_flag=True, help="Launch against the kernel's constraints, to see what happens.")
@click.option("--lda", type=_size, metavar="N", help="Elements from one row of A to the next.")
@click.option("--ldb", type=_size, metavar="N", help="Elements from one row of B to the next.")
@click.option("--ldc", type=_size, metavar="N", help="Elements from one row of C to the next.")
@json_option
def run(
    kernel: str,
    size: int | None,
    m: int | None,
    n: int | None,
    k: int | None,
    block: str | None,
    device: str,
    memory: str,
    seed: int | None,
    force: bool,
    lda: int | None,
    ldb: int | None,
    ldc: int | None,
    as_json: bool,
) -> int:
    """Run a kernel on random inputs, verify its product, time it."""
    found = loaded_registry().kernel(kernel)
    if (size, m, n, k) == (None, None, None, None):
        size = usual_size(found, None if block is None else found.block(block))
    from mmcore.api import run as run_kernel
    from mmcore.cli.report import report

    outcome = run_kernel(
        kernel,
        size,
        m=m,
        n=n,
        k=k,
        block=block,
        device=device,
        memory=memory,
        seed=seed,
        force=force,
        lda=lda or 0,
        ldb=ldb or 0,
        ldc=ldc or 0,
    )
    if as_json:
        write_json(outcome.to_json())
    else:
        render(*report(outcome, chosen=device == "auto"))
    return 0 if outcome.verified else 1

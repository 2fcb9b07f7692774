"""``mmcore run``: run a kernel, verify its product and report it the way the lecture does."""

from __future__ import annotations

import click

from mmcore.cli.kernels import usual_size
from mmcore.cli.options import problem_options, size_type
from mmcore.cli.output import json_option, loaded_registry, render, write_json


@click.command()
@click.argument("kernel")
@problem_options
@click.option("--block", metavar="BX[xBY]", help="Threads per block; 32 is 32x32 unless the kernel's blocks are flat.")
@click.option("--device", default="auto", metavar="D", show_default=True, help="auto, cuda, cuda:1, emulator, ...")
@click.option("--memory", type=click.Choice(["pageable", "pinned"]), default="pageable", help="Host memory of copies.")
@click.option("--seed", type=click.IntRange(0), metavar="S", help="Seed of the random inputs; fresh by default.")
@click.option("--force", is_flag=True, help="Launch against the kernel's constraints, to see what happens.")
@click.option("--lda", type=size_type, metavar="N", help="Elements from one row of A to the next.")
@click.option("--ldb", type=size_type, metavar="N", help="Elements from one row of B to the next.")
@click.option("--ldc", type=size_type, metavar="N", help="Elements from one row of C to the next.")
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

"""``mmcore explain``: pictures of the threads that hold matrices, and of the sectors and banks that lanes access."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
from rich.console import RenderableType

from mmcore.cli.kernel_param import KernelParam
from mmcore.cli.options import launch_options, requested_cell, timeout_option
from mmcore.cli.output import json_option, loaded_registry, quiet_option, render, write_json
from mmcore.errors import MmcoreError
from mmcore.files import write
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import KernelReference
from mmcore_emulator.adapter.api import explained
from mmcore_emulator.adapter.explanation import Explanation
from mmcore_emulator.adapter.launch_facts import source_line
from mmcore_emulator.adapter.profile_command import table_of_counts
from mmcore_emulator.explain.picture import svg_of
from mmcore_emulator.profiler.counters import Line

USUAL_SIZE = 64
"""Enough for every line of a kernel to be executed; which banks a warp touches seldom depends on the size."""


@click.command()
@click.argument("kernel", type=KernelParam())
@click.option("--line", metavar="N", help="Draw what this line does; N of the kernel's file, or FILE:N.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Draw into a file: the line, or all.")
@launch_options(USUAL_SIZE)
@timeout_option("everything together")
@quiet_option
@json_option
def explain(
    kernel: KernelReference, line: str | None, svg: Path | None, quiet: bool, as_json: bool, **options: object
) -> int:
    """Draw who holds which element, which sectors and banks."""
    declaration = loaded_registry().kernel(kernel)
    explanation = explained(requested_cell(declaration, "emulator", options, USUAL_SIZE))
    lines = list(explanation.sights) if line is None else [explanation.line_named(line)]
    if svg is not None:
        _write_svg(svg, explanation, lines)
    if as_json:
        write_json(explanation.to_json())
    elif line is not None:
        texts = [f"\n\n{picture.text()}" for picture in explanation.pictures(lines[0])]
        render(*_heading(explanation, declaration, lines[0]), *texts)
    else:
        launched = explanation.profile.launched
        heading = [] if quiet else [f"{launched.kernel}: {launched.title}\n", f"{launched.product}\n"]
        render(*heading, *_list(explanation, declaration))
    return 1 if explanation.profile.violations else 0


def _write_svg(path: Path, explanation: Explanation, lines: list[Line]) -> None:
    pictures = [
        replace(picture, title=f"{line.source}:{line.number}, {picture.title}")
        for line in lines
        for picture in explanation.pictures(line)
    ]
    try:
        write(path, svg_of(pictures).encode())
    except OSError as error:
        raise MmcoreError(f"{path} cannot be written: {error.strerror}") from None


def _list(explanation: Explanation, kernel: Kernel) -> list[RenderableType]:
    """Return a table of the lines that have pictures."""
    profile = explanation.profile
    violations = ["", *map(str, profile.violations)] if profile.violations else []
    if not explanation.sights:
        return ["No line accesses global or shared memory, or multiplies on tensor cores.", *violations]
    table = table_of_counts("sectors", "conflicts", "wavefronts", "line")
    table.add_column("", overflow="fold")
    for line in explanation.sights:
        counters = profile.lines[line]
        of_line = counters.global_sectors, counters.shared_bank_conflicts, counters.shared_wavefronts
        counts = [f"{count:,}" for count in of_line]
        name = str(line.number) if line.source == kernel.source.name else f"{line.source}:{line.number}"
        table.add_row(*counts, name, source_line(kernel, *line) or "")
    return [table, *violations]


def _heading(explanation: Explanation, kernel: Kernel, line: Line) -> list[RenderableType]:
    """Return the line, and its counts."""
    counters = explanation.profile.lines[line]
    counts = {product.name: count for product, count in sorted(counters.products.items())}
    counts |= {"sectors": counters.global_sectors, "wavefronts": counters.shared_wavefronts}
    counts |= {"bank conflicts": counters.shared_bank_conflicts}
    text = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    return [f"{line.source}:{line.number}  {source_line(kernel, *line) or ''}", *filter(None, [text])]

"""The command ``mmcore plot``: it draws saved results as a figure, or as a page with all figures and numbers."""

from __future__ import annotations

from pathlib import Path

import click

from mmcore.cli.options import size_type
from mmcore.cli.output import json_option, loaded_registry, write, write_json
from mmcore_tools.plots.files import PICTURES, require_matplotlib, save, write_file
from mmcore_tools.plots.results import chosen
from mmcore_tools.saved import InvalidResults


@click.command()
@click.argument("results", metavar="RESULTS...", nargs=-1, required=True, type=Path)
@click.option("-o", "--output", required=True, type=Path, metavar="FILE", help="Ends in .png, .svg or .html.")
@click.option(
    "--figure", "kind", metavar="F", default="", help="sizes, remainders, transfers, blocks, ladder, bars, roofline."
)
@click.option(
    "--size", type=size_type, metavar="N", help="The n of a ladder, bars or a roofline; usually that of most kernels."
)
@click.option("--kernel", "kernels", multiple=True, metavar="K", help="Only these kernels: a name, or 'upc.*'.")
@click.option("--block", "blocks", multiple=True, metavar="B", help="Only these blocks: 16, or 256x1.")
@click.option("--config", "parameters", multiple=True, metavar="NAME=VALUE", help="Only these configs, as in BM=128.")
@json_option
def plot(
    results: tuple[Path, ...], output: Path, kind: str, size: int | None, as_json: bool, **wanted: tuple[str, ...]
) -> int:
    """Draw saved results.

    RESULTS are files that pytest-benchmark wrote. A .png or .svg holds one figure, the experiment's own unless --figure
    names another; a .html is a page that holds all, with the numbers.
    """
    if (suffix := output.suffix.lower()) not in (*PICTURES, ".html"):
        raise click.UsageError(f"{str(output)!r} does not end in .png, .svg or .html")
    if suffix == ".html" and (size is not None or kind):
        raise click.UsageError("a page holds all figures; leave --figure and --size out")
    loaded_registry()
    require_matplotlib()
    from mmcore_tools.plots.figures import figure, usual_kind
    from mmcore_tools.plots.page import page
    from mmcore_tools.plots.reading import read

    configs = [*(f"b={block.lower().replace('x', '×')}" for block in wanted["blocks"]), *wanted["parameters"]]
    found = [chosen(each, wanted["kernels"], configs) for each in read(results)]
    if suffix == ".html":
        nbytes, drawn = write_file(output, page(found).encode()), "a page of"
    elif len(found) > 1:
        what = f"these files are of {len(found)} experiments or devices"
        raise InvalidResults(f"{what}, and a picture is of one; a .html has all")
    else:
        kind = kind or usual_kind(found[0])
        nbytes, drawn = save(figure(found[0], kind, size), output), f"{kind}, from"
    cells = sum(len(each.entries) for each in found)
    devices = list(dict.fromkeys(each.device for each in found))
    if as_json:
        write_json({"file": str(output), "bytes": nbytes, "cells": cells, "devices": devices})
    else:
        write(f"{output}: {drawn} {cells} results on {' and '.join(devices)}")
    return 0

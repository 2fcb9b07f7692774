"""``mmcore report``: one HTML page with everything about a kernel, to send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mmcore.cli.kernel_param import KernelsParam
from mmcore.cli.options import USUAL_SIZE, device_option, launch_options, timeout_option
from mmcore.cli.output import json_option, loaded_registry, quiet_option, write, write_json
from mmcore.deadline import whole
from mmcore.executor.choose_device import chosen
from mmcore.kernel_reference import KernelReference
from mmcore.registry import registry
from mmcore.result_view import verdict
from mmcore_performance.card_option import card_option
from mmcore_performance.cards import cards
from mmcore_tools.plots.files import write_file
from mmcore_tools.report.gathering import COUNTED_SIZE, gathered
from mmcore_tools.report.page import page


@click.command()
@click.argument("kernel", type=KernelsParam())
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Ends in .html.")
@launch_options(USUAL_SIZE, COUNTED_SIZE)
@device_option()
@card_option()
@timeout_option("everything together")
@quiet_option
@json_option
def report(
    kernel: tuple[KernelReference, ...],
    output: Path,
    device: str,
    card: str,
    timeout: float,
    quiet: bool,
    as_json: bool,
    **asked: Any,
) -> int:
    """Write a page about a kernel: verdict, reasons, source.

    The page is one file that loads nothing from elsewhere. It has the verdict of mmcore run, the reasons of mmcore why,
    the counts of mmcore profile beside each line, and the pictures of mmcore explain.
    """
    if output.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"{str(output)!r} does not end in .html")
    loaded_registry()
    usual = USUAL_SIZE if chosen(device)[0].supports_timing else COUNTED_SIZE
    several = []
    with whole(timeout):
        for reference in kernel:
            several.append(gathered(registry().kernel(reference), device, cards()[card], asked, usual))
    nbytes = write_file(output, page(several).encode())
    answers = {each.kernel.name: verdict(each.result, each.kernel) for each in several}
    if as_json:
        results = [each.result.to_json() for each in several]
        write_json({"file": str(output), "bytes": nbytes, "results": results})
    else:
        write("\n".join(f"{output}: {name}: {words}" for name, words in answers.items()))
    wrong = [each for each in several if not each.result.verified]
    return 0 if not wrong else 2 if all(each.result.timed_out for each in wrong) else 1

"""``mmcore compare``: whether a change helped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from mmcore.cli.commandline import suggested
from mmcore.cli.kernel_param import KernelParam, given_file_facts
from mmcore.cli.options import USUAL_SIZE, device_option, problem_options, seed_type, timeout_option
from mmcore.cli.output import json_option, loaded_registry, quiet_option, render, write_json
from mmcore.deadline import whole
from mmcore.errors import TimeLimit
from mmcore.executor.choose_device import chosen
from mmcore.kernel.configs import parse_config
from mmcore.messages import say
from mmcore.registry import registry
from mmcore_performance.card_option import card_option
from mmcore_performance.cards import cards
from mmcore_tools.compare.libraries import refuse_libraries
from mmcore_tools.compare.measuring import UNTIMED_SIZE, compared
from mmcore_tools.compare.operands import errors_labelled, two_sides
from mmcore_tools.compare.report import faults, report, reservations, sentence, to_json, view

_LONGER = 4  # times as long, the time limit of a command that is suggested after one that was too short


class _Operand(KernelParam):
    """A word that names a kernel, which is read later, together with its config."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value


@click.command()
@click.argument("kernels", metavar="A [B]", type=_Operand(), nargs=-1, required=True)
@click.option(
    "--config",
    "settings",
    multiple=True,
    type=parse_config,
    metavar="NAME=VALUE,…",
    help="A whole config, such as block=16x16,BM=128; twice for A and B.",
)
@problem_options(USUAL_SIZE, UNTIMED_SIZE)
@click.option("--seed", type=seed_type, metavar="S", help="Seed of the inputs; fresh by default.")
@device_option()
@card_option()
@click.option(
    "--reasons/--no-reasons",
    default=True,
    show_default=True,
    help="Also the emulator's reasons, with predicted times, or on a GPU its counts.",
)
@timeout_option("everything together")
@click.option("--fail-if-slower", is_flag=True, help="Exit with 1 if B is slower, or without a GPU predicted so.")
@quiet_option
@json_option
def compare(
    kernels: tuple[str, ...],
    settings: tuple[Mapping[str, Any], ...],
    device: str,
    card: str,
    reasons: bool,
    timeout: float,
    fail_if_slower: bool,
    quiet: bool,
    as_json: bool,
    **asked: Any,
) -> int:
    """Verify two kernels, and say which is faster.

    A and B are kernels or files, also of a revision: tiled.cu@HEAD tiled.cu. FILE::FUNCTION names one kernel of a
    file. One kernel with two --config, and one file with two kernels, are two sides as well. Without a GPU, counts and
    predicted times are compared, and a large product is verified at a small size. If the times do not decide, the
    answer says so.
    """
    loaded_registry()
    sides = two_sides(kernels, settings, given_file_facts())
    timed = chosen(device)[0].supports_timing
    usual = USUAL_SIZE if timed else UNTIMED_SIZE
    if not timed:
        refuse_libraries(sides, cards()[card])
    more = f"--timeout {_LONGER * timeout:g}"
    try:
        with whole(timeout), errors_labelled(sides):
            comparison = compared(sides, device, cards()[card], {**asked, "timeout": timeout}, usual, reasons=reasons)
    except TimeLimit as limit:
        limit.options = (more,)
        raise
    if as_json:
        write_json(to_json(comparison))
    else:
        for side, result in zip(sides, comparison.results, strict=True):
            if not result.verified and not quiet and (file := registry().files.get(side.kernel.name)):
                say(file.inferred)
        parts = [] if quiet else report(comparison)
        parts += reservations(comparison) if quiet and comparison.right else faults(comparison)
        if size := comparison.right_at:
            parts += [f"hint: both are right at {size.replace('x', '×')}", f"  {suggested(f'--size {size}')}"]
        if comparison.needs_time:
            lacks = "counts and predicted times" if comparison.unfinished else "predicted times"
            parts += [f"hint: more time gives {lacks}", f"  {suggested(more)}"]
        render(*parts, sentence(comparison), view=view(comparison))
    if not comparison.right:
        return 2 if all(result.verified or result.timed_out for result in comparison.results) else 1
    return 2 if comparison.unfinished else 1 if fail_if_slower and comparison.slower else 0

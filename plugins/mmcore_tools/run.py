"""``mmcore run``: run a kernel, verify its product and report it the way the lecture does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from mmcore.cell import INPUTS, LIBRARY, WAYS, brief_timings
from mmcore.cli.kernel_param import KernelParam
from mmcore.cli.options import USUAL_SIZE, device_option, launch_options, requested_cell, sized, timeout_option
from mmcore.cli.output import (
    fields,
    in_turn,
    json_option,
    loaded_registry,
    parameters,
    quiet_option,
    render,
    write_json,
)
from mmcore.cli.source_quote import quoted
from mmcore.executor import measure_cell
from mmcore.executor.choose_device import chosen
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.sizes import size_text
from mmcore.kernel_reference import KernelReference
from mmcore.planning.plan import DEFAULT
from mmcore.registry import registry
from mmcore.result import Result
from mmcore.verdict import judged, places
from mmcore_tools.hookspecs import texts

if TYPE_CHECKING:
    from rich.console import RenderableType

_UNTIMED_SIZE = 128
"""The default size where no time is taken, because further sizes are tried."""


@click.command()
@click.argument("kernel", type=KernelParam())
@launch_options(USUAL_SIZE)
@device_option()
@click.option("--memory", type=click.Choice(WAYS["end-to-end"]), default="pageable", help="Host memory of copies.")
@click.option("--baseline", default=LIBRARY, metavar="GLOB", show_default=True, help="Kernels to take turns with.")
@click.option("--against", default="", metavar="REV|DIR", help="Version of the source to take turns with.")
@timeout_option("everything together")
@click.option("--inputs", type=click.Choice(INPUTS), default="usual", help="Numbers of usual or of all exponents.")
@click.option("--hazards/--no-hazards", default=True, help="Look for hazards, and at further sizes.", show_default=True)
@quiet_option
@json_option
def run(
    kernel: KernelReference,
    device: str,
    memory: str,
    baseline: str,
    hazards: bool,
    quiet: bool,
    as_json: bool,
    **asked: Any,
) -> int:
    """Run a kernel, verify its product, and time it.

    Without a size, a fault at a size that the kernel's code asks for fails the test. With a size, it is a warning.
    """
    declaration = loaded_registry().kernel(kernel)
    against = registry().source_revision(declaration, asked.pop("against"))
    compared = {"baseline": "" if baseline == "none" else baseline, "against": against}
    usual = USUAL_SIZE if not hazards or chosen(device)[0].supports_timing else _UNTIMED_SIZE
    cell = requested_cell(declaration, device, asked, usual, timings=brief_timings(memory), **compared)
    result = measure_cell(cell)
    if hazards:
        result = judged(result, declaration, "size" if sized(asked) else "all")
    if as_json:
        write_json(result.to_json())
    else:
        hints = _hints(result)
        render(*(_answer(result, hints) if quiet else report(result, declaration, hints, auto=device == "auto")))
    return 0 if result.verified else 2 if result.timed_out else 1


def _hints(result: Result) -> list[str]:
    """Return plugins' hints on a result, which may run the kernel in other ways to find them."""
    return [hint for hints in registry().answers("mmcore_hints", texts, result=result) for hint in hints]


def report(result: Result, kernel: Kernel, hints: Sequence[str] = (), *, auto: bool) -> list[RenderableType]:
    """Return the launch, times, verification and answer of a result. ``auto``: mmcore chose the device."""
    description = f": {result.device_description}" if result.device_description else ""
    forced = "; ".join(result.violated_constraints) or "against nothing: its constraints hold"
    rows = [
        ("device", f"{result.device}{' (chosen by auto)' if auto else ''}{description}"),
        ("problem", _problem(result, kernel)),
        ("forced", forced if result.cell.force else ""),
        ("config", _config(result)),
        ("block", in_turn([launch.block for launch in result.launched], "thread")),
        ("grid", in_turn([launch.grid for launch in result.launched], "block")),
        ("registers", f"{result.registers or 'an unknown number'} per thread" if result.launched else ""),
        ("shared memory", f"{result.shared_bytes} bytes per block" if result.launched else ""),
        ("host memory", next((time.timing.how for time in result.times if time.timing.what == "end-to-end"), "")),
        ("kernel time", _time(result, result.kernel_seconds)),
        ("end-to-end time", _time(result, result.end_to_end_seconds)),
        ("speed", "\n".join(map(str, result.compared))),
        ("conditions", conditions(result.conditions)),
        ("inputs", result.cell.inputs.replace(INPUTS[0], "")),
        ("seed", "" if result.cell.seed is None else str(result.cell.seed)),
        ("verification", _verification(result)),
        ("hazards", result.hazards),
        ("proof", result.proof),
        ("also tried", "\n".join(f"{size_text(tried)}: {tried['why']}" for tried in result.sizes)),
        ("not executed", places(result.not_executed)),
    ]
    return [f"{kernel.name}: {kernel.title}\n", fields(rows), "", *_answer(result, hints, kernel)]


def conditions(values: Mapping[str, Any]) -> str:
    """Return the clock, power and temperature during the timing, and the reasons that lowered the clock."""
    if not values:
        return ""
    held = f", held back by {', '.join(values['clock_reasons']).replace('_', ' ')}" if values["clock_reasons"] else ""
    return f"{values['clock_mhz']:.0f} MHz, {values['power_w']:.0f} W, {values['temperature_c']:.0f} °C{held}"


def _answer(result: Result, hints: Sequence[str], kernel: Kernel | None = None) -> list[RenderableType]:
    """Return the faults, with the lines of a ``kernel``, and the answer in two words."""
    from rich.text import Text

    answer = Text("TEST PASS", "bold green") if result.verified else Text("TEST FAIL", "bold red")
    if result.timed_out:
        answer = Text("NOT FINISHED: --timeout sets the limit", "bold yellow")
    quotes = [[] if kernel is None or violation.fatal else quoted(kernel, violation) for violation in result.violations]
    wrong = result.failures()
    lines = [line for text, quote in zip(wrong, quotes, strict=False) for line in (text, *quote)]
    return [*lines, *wrong[len(quotes) :], *(f"warning: {each}" for each in result.warnings), *hints, answer]


def _config(result: Result) -> str:
    """Return the parameters except the block, and the origin of the config unless the user named it."""
    text = parameters(result.config)
    if not result.config_origin or not (text or result.config_origin != DEFAULT):
        return text
    return f"{text}\n{result.config_origin}".lstrip()


def _problem(result: Result, kernel: Kernel) -> str:
    cell = result.cell
    line = f"{kernel.operation}, m×n×k = {cell.m}×{cell.n}×{cell.k}, {kernel.types}"
    if cell.lda or cell.ldb or cell.ldc:
        how = "as they lie" if result.strided else "packed, as the kernel takes no leading dimensions"
        problem = cell.problem(kernel)
        line += f"; lda, ldb, ldc = {problem.lda}, {problem.ldb}, {problem.ldc}, {how}"
    return line


def _verification(result: Result) -> str:
    if result.timed_out:
        return "none: the time limit was reached"
    if result.verification is None:
        return "none: the violation left no product"
    if not result.verification.verified:
        return result.verification.method  # the first wrong element follows
    largest = f"largest error {result.verification.max_error:.3g}"
    return f"{result.verification.method}; {'numbers of all exponents' if result.cell.inputs == 'wide' else largest}"


def _time(result: Result, seconds: float | None) -> str:
    gflops = result.rate(seconds)
    if seconds is not None and gflops is not None:
        return f"{seconds * 1e3:.4f} ms, {gflops:.{1 if gflops >= 10 else 4}f} GFLOP/s"
    return "none: the device supports no timing" if result.verified else "none: only a verified product is timed"

"""``mmcore run``: run a kernel, verify its product and report it the way the lecture does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mmcore.cell import INPUTS, LIBRARY, WAYS, brief_timings
from mmcore.cli.answers import Answer, answered
from mmcore.cli.kernel_param import KernelsParam
from mmcore.cli.options import USUAL_SIZE, device_option, launch_options, requested_cell, sized, timeout_option
from mmcore.cli.output import fields, json_option, loaded_registry, quiet_option
from mmcore.cli.source_quote import folded, quoted
from mmcore.executor import measure_cell
from mmcore.executor.choose_device import chosen
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import KernelReference
from mmcore.messages import say
from mmcore.plugins import texts
from mmcore.registry import registry
from mmcore.result import Result
from mmcore.result_view import facts, result_view, verdict, warnings_beside
from mmcore.verdict import judged

if TYPE_CHECKING:
    from rich.console import RenderableType

_UNTIMED_SIZE = 128
"""The default size where no time is taken, because further sizes are tried."""


@click.command()
@click.argument("kernel", type=KernelsParam())
@launch_options(USUAL_SIZE, _UNTIMED_SIZE)
@device_option()
@click.option("--memory", type=click.Choice(WAYS["end-to-end"]), default="pageable", help="Host memory of copies.")
@click.option("--baseline", default=LIBRARY, metavar="GLOB", show_default=True, help="Kernels to take turns with.")
@click.option("--against", default="", metavar="REV|DIR", help="Version of the source to take turns with.")
@timeout_option("everything together")
@click.option("--inputs", type=click.Choice(INPUTS), default="usual", help="Numbers of usual or of all exponents.")
@click.option("--hazards/--no-hazards", default=True, help="Look for hazards, and at further sizes.", show_default=True)
@click.option("--hints/--no-hints", "hinted", default=None, help="Try changes of a wrong kernel; not with --json.")
@quiet_option
@json_option
def run(
    kernel: tuple[KernelReference, ...],
    device: str,
    memory: str,
    baseline: str,
    against: str,
    hazards: bool,
    hinted: bool | None,
    quiet: bool,
    as_json: bool,
    **asked: Any,
) -> int:
    """Run a kernel, verify its product, and time it.

    Of a file, each kernel that may be a matrix product is run. Without a size, a fault at a size that the kernel's code
    asks for fails the test. With a size, it is a warning.
    """
    loaded_registry()
    wants_hints = not as_json if hinted is None else hinted
    usual = USUAL_SIZE if not hazards or chosen(device)[0].supports_timing else _UNTIMED_SIZE
    context = click.get_current_context()
    if baseline != "none" and context.get_parameter_source("baseline") is ParameterSource.COMMANDLINE:
        _say_if_untimed(baseline, device)

    def about(reference: KernelReference) -> Answer:
        declaration = registry().kernel(reference)
        revision = registry().source_revision(declaration, against)
        compared = {"baseline": "" if baseline == "none" else baseline, "against": revision}
        cell = requested_cell(declaration, device, asked, usual, timings=brief_timings(memory), **compared)
        result = measure_cell(cell)
        of_size, of_program = ("size", "all") if hazards else ("product", "program")
        result = judged(result, declaration, of_size if sized(asked) else of_program)
        if wants_hints and not (result.verified or quiet or as_json) and sys.stderr.isatty():
            say(f"{verdict(result, declaration)}: trying changes that make it right; --no-hints skips this")
        hints = _hints(result) if wants_hints else []
        wanted = hazards and result.verified and not (quiet or as_json)
        remarks = [*(_sentences("mmcore_remarks", result) if wanted else ()), *hints]
        shown = details(result, remarks, declaration)
        return Answer(
            0 if result.verified else 2 if result.timed_out else 1,
            verdict(result, declaration),
            {**result.to_json(), **({"hints": hints} if wants_hints else {})},
            heading(result, declaration, auto=device == "auto"),
            shown,
            [*details(result, hints)[:-1], shown[-1]],
            result_view(result, remarks, declaration),
        )

    return answered(kernel, about, asked["timeout"], quiet=quiet, as_json=as_json)


def _say_if_untimed(baseline: str, device: str) -> None:
    """Say that a baseline is not compared, if the device takes no times."""
    provider = chosen(device)[0]
    if not provider.supports_timing:
        lacks = f"the device {provider.name} takes no times"
        say(f"{baseline} is not compared: {lacks}; without a GPU, mmcore compare predicts those of two kernels")


def _hints(result: Result) -> list[str]:
    """Return the hints for a result; the result is not lost if the search for them is interrupted."""
    try:
        return _sentences("mmcore_hints", result)
    except KeyboardInterrupt:
        return ["hint: the search for changes was interrupted"]


def _sentences(hook: str, result: Result) -> list[str]:
    """Return plugins' sentences on a result, which may run the kernel in other ways to find them."""
    return [sentence for several in registry().answers(hook, texts, result=result) for sentence in several]


def heading(result: Result, kernel: Kernel, *, auto: bool) -> list[RenderableType]:
    """Return the kernel, the launch, the times and the verification of a result. ``auto``: mmcore chose the device."""
    return [f"{kernel.name}: {kernel.title}\n", fields(facts(result, kernel, auto=auto)), ""]


def details(result: Result, hints: Sequence[str], kernel: Kernel | None = None) -> list[RenderableType]:
    """Return the faults, with the lines of a ``kernel``, and the answer in two words."""
    from rich.text import Text

    colour = "green" if result.verified else "yellow" if result.timed_out else "red"
    answer = Text(verdict(result, kernel), f"bold {colour}")
    lines: list[str] = []
    for violation, repeated in folded(result.violations):
        quote = [] if kernel is None or violation.fatal else quoted(kernel, violation)
        lines += [str(violation), *quote, *([f"  {repeated}"] if repeated else [])]
    return [
        *lines,
        *result.failures()[len(result.violations) :],
        *(f"warning: {each}" for each in warnings_beside(answer.plain, result)),
        *hints,
        answer,
    ]

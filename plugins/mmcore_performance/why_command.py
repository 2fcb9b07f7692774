"""``mmcore why``: the reasons why a kernel is slow, without a GPU."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from mmcore.cli.answers import Answer, answered
from mmcore.cli.kernel_param import KernelsParam
from mmcore.cli.options import launch_options, requested_cell, timeout_option
from mmcore.cli.output import fields, json_option, loaded_registry, quiet_option
from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.sizes import size_text
from mmcore.kernel_reference import KernelReference
from mmcore.registry import registry
from mmcore.verdict import places
from mmcore.view import View, source_of
from mmcore_emulator.adapter.api import checked
from mmcore_emulator.adapter.launch_facts import command_of_all_sizes, launch_command
from mmcore_performance.card_option import card_option
from mmcore_performance.cards import cards
from mmcore_performance.prediction import WAITS
from mmcore_performance.stopped import stopped
from mmcore_performance.why import UNITS, Why, explained_time, next_part, sentence, source_lines

USUAL_SIZE = 1024
_SHOWN = 3
_NONE = "no waste found"
_MOST_WORK = 1e8  # of a check for hazards: ten seconds


@click.command()
@click.argument("kernel", type=KernelsParam())
@launch_options(USUAL_SIZE)
@card_option("The card to explain.")
@timeout_option("everything together")
@quiet_option
@json_option
def why(kernel: tuple[KernelReference, ...], card: str, quiet: bool, as_json: bool, **options: Any) -> int:
    """Say why a kernel is slow: at most three reasons.

    A small product is run on the emulator; no GPU is needed. The shares of the time are estimates.
    """
    loaded_registry()

    def about(reference: KernelReference) -> Answer:
        declaration = registry().kernel(reference)
        found = _checked(explained_time(requested_cell(declaration, "emulator", options, USUAL_SIZE), cards()[card]))
        heading: list[RenderableType] = [f"{found.kernel}: {found.title}\n", fields(_with_others(found)), ""]
        brief = [_brief(found, declaration), *([others] if (others := _others(found)) else [])]
        return Answer(
            1 if _fault(found) else 0,
            summary(found),
            found.to_json(),
            heading,
            details(found, declaration),
            brief,
            view(found, declaration),
        )

    return answered(kernel, about, options["timeout"], quiet=quiet, as_json=as_json)


def _checked(found: Why) -> Why:
    """Return an answer with the hazards of a right small product, which leave it no time if they stop the kernel."""
    if found.right and found.ran is not None:
        with contextlib.suppress(MmcoreError):  # without a sanitizer's answer in time, there is none
            check = checked(found.ran, remember=True, quiet=True, most_work=_MOST_WORK, wrong=False)
            end = stopped(found.ran, check.violations)
            timed = replace(found, predicted=None, unpredicted=end) if end else found
            return replace(timed, violations=check.violations)
    return found


def _fault(found: Why) -> str:
    """Return that a kernel is wrong or has a hazard, with the command that shows it; empty if neither is known."""
    if found.right and not found.violations:
        return ""
    hazard = next(iter(found.violations), None)
    place = f" at {hazard.source}:{hazard.line}" if hazard and hazard.line else ""
    what = f"{hazard.kind}{place}" if hazard else "it is wrong"
    if found.ran is None:
        return what
    shown = launch_command("check" if hazard else "run", replace(found.ran, seed=None))
    return f"{what}, which comes first: {shown}"


def facts(found: Why) -> list[tuple[str, str]]:
    """Return the product, its predicted time on the card, what limits it, and what was not looked at."""
    size = "×".join(map(str, found.problem.values()))
    limiter = found.predicted.limiter if found.predicted else ""
    answer = [("problem", f"m×n×k = {size}"), ("predicted", predicted(found)), ("limited by", limiter)]
    return [*answer, ("looked at", _looked(found))]


def _looked(found: Why) -> str:
    """Return the size of the small product that left code out, with its lines; empty if it left none out."""
    if found.ran is None or not found.not_executed:
        return ""
    return f"{size_text(vars(found.ran))}, which does not execute {places(found.not_executed)}"


def _with_others(found: Why) -> list[tuple[str, str]]:
    """Return the facts, with the command that verifies a file's kernel at other sizes."""
    if found.ran is None or not (others := _others(found)):
        return facts(found)
    return [*facts(found)[:-1], ("looked at", f"{_looked(found) or size_text(vars(found.ran))}; {others}")]


def _others(found: Why) -> str:
    """Return that a file's kernel is right at a small size alone, with the command for others; empty if it is wrong."""
    if found.ran is None or isinstance(found.ran.kernel, str) or _fault(found):
        return ""
    return f"not verified at other sizes: {command_of_all_sizes('run', found.ran)}"


def predicted(found: Why) -> str:
    """Return the interval of the predicted time in words, or why there is none."""
    time = found.predicted
    if time is None:
        return f"none: {found.unpredicted}"
    return f"{time_text(time.low)} to {time_text(time.high)} on an NVIDIA {found.card} (not measured)"


def time_text(seconds: float) -> str:
    """Return seconds in the unit that fits, to two digits."""
    factor, unit = (1.0, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    return f"{float(f'{seconds * factor:.2g}'):,g} {unit}"


def details(found: Why, kernel: Kernel) -> list[RenderableType]:
    """Return the first reasons, each with its line and what to try."""
    fault = _fault(found)
    parts: list[RenderableType] = [Text(fault, "bold red"), ""] if fault else []
    if not found.reasons:
        return [Text(summary(found), "bold")]
    for number, reason in enumerate(found.reasons[:_SHOWN], start=1):
        quote = source_lines(reason, kernel)
        parts += [f"{number}. {sentence(reason, kernel, next_part(reason))}", *quote, f"   try: {reason.advice}", ""]
    return parts[:-1]


def view(found: Why, kernel: Kernel) -> View:
    """Return the view of the reasons."""
    messages = [
        f"{sentence(reason, kernel, next_part(reason))}; try: {reason.advice}" for reason in found.reasons[:_SHOWN]
    ]
    file, text = source_of(found.kernel)
    return View(
        summary(found),
        False if _fault(found) else None,
        found.kernel,
        facts(found),
        messages or [summary(found)],
        file,
        text,
    )


def _brief(found: Why, kernel: Kernel) -> str:
    lines = [f"{sentence(reason, kernel, next_part(reason))}; {reason.advice}" for reason in found.reasons[:_SHOWN]]
    return "\n".join(filter(None, [_fault(found), *lines])) or summary(found)


def summary(found: Why) -> str:
    """Return the first reason in a few words, or what limits a kernel without waste."""
    if fault := _fault(found):
        return fault
    if found.reasons:
        return found.reasons[0].kind
    if found.predicted is None:
        return _NONE
    limiter, share = found.predicted.limiter, found.predicted.share
    waste = "the waits are the waste" if limiter == UNITS[WAITS] else _NONE
    reached = "" if share is None else f", of whose peak it is predicted to reach {100 * share:.0f} %"
    return f"{waste}; it is limited by {limiter}{reached}{'; try ' * bool(found.advice)}{found.advice}"

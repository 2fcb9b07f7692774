"""``mmcore why``: the reasons why a kernel is slow, without a GPU."""

from __future__ import annotations

from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from mmcore.cli.answers import Answer, answered
from mmcore.cli.kernel_param import KernelsParam
from mmcore.cli.options import launch_options, requested_cell, timeout_option
from mmcore.cli.output import fields, json_option, loaded_registry, quiet_option
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import KernelReference
from mmcore.registry import registry
from mmcore.view import View, source_of
from mmcore_performance.cards import cards
from mmcore_performance.why import Why, explained_time, sentence, source_lines

USUAL_SIZE = 1024
_SHOWN = 3
_NONE = "no waste found"
_WRONG = "it is wrong, which comes first: see mmcore run"


@click.command()
@click.argument("kernel", type=KernelsParam())
@launch_options(USUAL_SIZE)
@click.option("--card", type=click.Choice([*cards()]), default="H200", show_default=True, help="The card to explain.")
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
        found = explained_time(requested_cell(declaration, "emulator", options, USUAL_SIZE), cards()[card])
        heading: list[RenderableType] = [f"{found.kernel}: {found.title}\n", fields(facts(found)), ""]
        brief = [_brief(found, declaration)]
        return Answer(
            0 if found.right else 1,
            _words(found),
            found.to_json(),
            heading,
            details(found, declaration),
            brief,
            view(found, declaration),
        )

    return answered(kernel, about, options["timeout"], quiet=quiet, as_json=as_json)


def facts(found: Why) -> list[tuple[str, str]]:
    """Return the product, its predicted time on the card and what limits it."""
    size = "×".join(map(str, found.problem.values()))
    limiter = found.predicted.limiter if found.predicted else ""
    return [("problem", f"m×n×k = {size}"), ("predicted", predicted(found)), ("limited by", limiter)]


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
    parts: list[RenderableType] = [] if found.right else [Text(_WRONG, "bold red"), ""]
    if not found.reasons:
        return [Text(_words(found), "bold")]
    for number, reason in enumerate(found.reasons[:_SHOWN], start=1):
        quote = source_lines(reason, kernel)
        parts += [f"{number}. {sentence(reason, kernel)}", *quote, f"   try: {reason.advice}", ""]
    return parts[:-1]


def view(found: Why, kernel: Kernel) -> View:
    """Return the view of the reasons."""
    messages = [f"{sentence(reason, kernel)}; try: {reason.advice}" for reason in found.reasons[:_SHOWN]]
    file, text = source_of(found.kernel)
    return View(
        _words(found),
        None if found.right else False,
        found.kernel,
        facts(found),
        messages or [_words(found)],
        file,
        text,
    )


def _brief(found: Why, kernel: Kernel) -> str:
    lines = [f"{sentence(reason, kernel)}; {reason.advice}" for reason in found.reasons[:_SHOWN]]
    return "\n".join(lines if found.right else [_WRONG, *lines]) or _words(found)


def _words(found: Why) -> str:
    """Return the answer in a few words."""
    if not found.right:
        return _WRONG
    if found.reasons:
        return found.reasons[0].kind
    return f"{_NONE}; it is limited by {found.predicted.limiter}" if found.predicted else _NONE

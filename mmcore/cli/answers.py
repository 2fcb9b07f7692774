"""A command's answer about one kernel, or about each kernel of a file, with a table of the answers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from mmcore.cli.commandline import suggested
from mmcore.cli.output import render, write_json
from mmcore.deadline import whole
from mmcore.errors import MmcoreError
from mmcore.kernel_reference import KernelReference
from mmcore.messages import say
from mmcore.registry import registry
from mmcore.view import View

if TYPE_CHECKING:
    from rich.console import RenderableType

COULD_NOT_RUN = "could not run"


@dataclass(frozen=True)
class Answer:
    """A command's answer about a kernel.

    Attributes:
        status: the exit status: 0 = right, 1 = wrong, 2 = could not run.
        words: the answer in a few words.
        document: the answer as JSON.
        facts: the launch and the like.
        details: the faults with their source lines, and the answer.
        brief: the faults and the answer alone.
        view: the answer as a notebook shows it.
    """

    status: int
    words: str
    document: Any
    facts: Sequence[RenderableType]
    details: Sequence[RenderableType]
    brief: Sequence[RenderableType]
    view: View


def answered(
    references: Sequence[KernelReference],
    answer: Callable[[KernelReference], Answer],
    timeout: float,
    *,
    quiet: bool,
    as_json: bool,
) -> int:
    """Write a command's answer about a kernel, or about each of several. Return the exit status.

    All of it is meant to take at most ``timeout`` seconds; files with eight kernels exceeded 100 by up to 16.
    Each of several kernels has that time, unless the limit was given.
    Their status is 1 if one is wrong, and 2 if none could be run; else it is the largest status of a kernel that ran.
    """
    if len(references) > 1:
        return _each(references, answer, timeout, quiet=quiet, as_json=as_json)
    try:
        with whole(timeout):
            only = answer(references[0])
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted: no verdict") from None
    if as_json:
        write_json(only.document)
    else:
        render(*(only.brief if quiet else [*only.facts, *only.details]), view=only.view)
    return only.status


def _each(
    references: Sequence[KernelReference],
    answer: Callable[[KernelReference], Answer],
    timeout: float,
    *,
    quiet: bool,
    as_json: bool,
) -> int:
    """Write an answer about each kernel under its name, and a table; each gets the same share of the time."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    answers = list[Answer]()
    refused: dict[str, str] = {}
    source = click.get_current_context().get_parameter_source("timeout")
    end = time.monotonic() + timeout * (1 if source is ParameterSource.COMMANDLINE else len(references))
    for count, reference in enumerate(references):
        name = reference["entry"] if isinstance(reference, Mapping) else reference
        if not as_json:
            render(*([""] if answers else []), Text(name, "bold"))
        try:
            with whole((end - time.monotonic()) / (len(references) - count)):
                made = answer(reference)
            if made.status and not quiet:
                say(registry().files[registry().kernel(reference).name].inferred)
        except MmcoreError as error:
            made = _refusal(name, error, refused)
        answers.append(made)
        table.add_row(name, made.words.partition(":")[0])
        if not as_json:
            render(*(made.brief if quiet else made.details), view=made.view)
    if as_json:
        write_json([each.document for each in answers])
    else:
        render("", table)
    statuses = {each.status for each in answers if each.words != COULD_NOT_RUN} or {2}
    return 1 if 1 in statuses else max(statuses)


def _refusal(name: str, error: MmcoreError, before: dict[str, str]) -> Answer:
    """Return the answer about a kernel that could not be run; a reason given ``before`` names that kernel."""
    reason = re.sub(rf"^file\.[\w.]*\.{re.escape(name.lower())}: ", "", str(error))
    commands = [suggested(f"--entry {name} {option}") for option in error.options]
    same = before.setdefault(reason, name)
    text = f"Error: {reason if same == name else f'the same as of {same}'}"
    lines = [text, *(f"  {command}" for command in commands)]
    document = {"entry": name, "error": reason, "commands": commands}
    return Answer(
        2, COULD_NOT_RUN, document, (), lines, lines, View("ERROR", False, f"{name}: {reason.splitlines()[0]}")
    )

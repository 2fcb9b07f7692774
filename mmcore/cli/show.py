"""``mmcore show``: one kernel, with its rule, an example and its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mmcore.cli import launch_rule
from mmcore.cli.kernels import argument_text, blocks, sentences, summary
from mmcore.cli.output import fields, json_option, loaded_registry, on_terminal, render, write_json
from mmcore.registry import Registered

if TYPE_CHECKING:
    from rich.console import RenderableType


@click.command()
@click.argument("kernel")
@json_option
def show(kernel: str, as_json: bool) -> int:
    """Show a kernel: where it comes from, its rule, its source."""
    registry = loaded_registry()
    found = registry.kernel(kernel)
    registered = registry.kernels[kernel]
    source_text = found.source_text()
    if as_json:
        write_json(_document(registered, source_text))
    else:
        render(
            f"{found.name}: {found.title}\n",
            fields(_facts(registered)),
            "\nlaunch rule:\n",
            _listing(launch_rule.source(found), "python"),
            f"\n{found.source}:\n",
            _listing(source_text, "cuda"),
        )
    return 0


def _document(registered: Registered, source_text: str) -> dict[str, object]:
    kernel = registered.kernel
    return summary(registered) | {
        "entry": kernel.entry,
        "arguments": [argument_text(argument) for argument in kernel.arguments],
        "accumulator": kernel.accumulator,
        "output": kernel.output,
        "launch_rule": launch_rule.source(kernel),
        "source_text": source_text,
    }


def _facts(registered: Registered) -> list[tuple[str, str]]:
    kernel = registered.kernel
    arguments = ", ".join(argument_text(argument) for argument in kernel.arguments)
    return [
        ("lecture", kernel.lecture),
        ("operation", kernel.operation),
        ("types", f"{kernel.dtype} in, summed in {kernel.accumulator}, {kernel.output} out"),
        ("entry", f"{kernel.entry}({arguments})"),
        ("blocks", blocks(kernel)),
        ("needs", "\n".join(sentences(kernel))),
        ("known faults", "\n".join(kernel.known_faults)),
        ("rule in words", launch_rule.in_words(kernel)),
        ("for example", "\n".join(launch_rule.examples(kernel))),
        ("plugin", f"{registered.plugin} of {registered.distribution}"),
    ]


def _listing(code: str, language: str) -> RenderableType:
    """Numbered lines: coloured, and wrapped to its width, on a terminal; as they are elsewhere."""
    if not on_terminal():
        lines = code.splitlines()
        return "\n".join(f"{number:>{len(str(len(lines)))}}  {line}" for number, line in enumerate(lines, start=1))
    from rich.syntax import Syntax

    return Syntax(code.rstrip(), language, theme="ansi_dark", line_numbers=True, word_wrap=True)

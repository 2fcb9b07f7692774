"""The output of commands: warnings of plugins, and a document, text or tables."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

import click

from mmcore.kernel.geometry import Dim3
from mmcore.messages import say, visible
from mmcore.registry import Registry, registry

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.segment import Segment
    from rich.table import Table
    from rich.text import Text

    from mmcore.view import View

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
# Eager, because a file that is quietly read prints no inferred values.
quiet_option = click.option(
    "-q", "--quiet", is_flag=True, is_eager=True, help="Print the answer alone, and what is wrong."
)
_MOST_LAUNCHES = 8
_redirected = contextlib.ExitStack()


def loaded_registry() -> Registry:
    """Return the registry, and write a warning to stderr for each plugin that failed."""
    for warning in registry().warnings():
        say(f"warning: {warning}")
    return registry()


def keep_stdout_for_json() -> contextlib.ExitStack:
    """Send what plugins print, past ``sys.stdout`` too, to stderr until :func:`write_json`, or until this is closed."""
    with contextlib.suppress(OSError):  # a stream that is closed
        kept = os.dup(1)
        _redirected.callback(os.close, kept)
        _redirected.callback(os.dup2, kept, 1)
        os.dup2(2, 1)
    _redirected.enter_context(contextlib.redirect_stdout(sys.stderr))
    return _redirected


def write_json(document: Any) -> None:
    """Write one JSON document to stdout, in ASCII, for every terminal. Raises ValueError for NaN and infinity."""
    import json

    text = json.dumps(document, indent=2, allow_nan=False).replace("\x7f", "\\u007f")
    _redirected.close()
    write(text)


def write(text: str) -> None:
    """Write text and a newline to stdout."""
    click.echo(visible(text))


def on_terminal() -> bool:
    """Return whether stdout is a terminal. Elsewhere, nothing is coloured, wrapped or shortened."""
    return sys.stdout is not None and sys.stdout.isatty()


class Views(list["View"]):
    """The views of what a command writes, for a caller that passes it as the context's object."""


def render(*parts: RenderableType, view: View | None = None) -> None:
    """Write rich's rendering of some parts to stdout; a notebook shows a ``view`` of the same instead."""
    context = click.get_current_context(silent=True)
    if view and context and (views := context.find_object(Views)) is not None:
        views.append(view)
    click.echo(rendered(*parts, terminal=on_terminal()))  # a terminal is to obey rich's colours


def rendered(*parts: RenderableType, terminal: bool) -> str:
    """Return rich's rendering of some parts: coloured and as wide as the terminal, or plain and as wide as needed."""
    text, width = io.StringIO(), None if terminal else 10_000
    output = console(text, width=width, force_terminal=terminal)
    for part in parts:
        output.print(part)
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip("\n").split("\n"))


def console(file: IO[str] | None = None, **options: Any) -> Console:
    """Return rich's console, on stderr where no file is given, with every text that it renders made visible."""
    from rich.console import Console

    class Careful(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(visible(text), **options)

        def render(self, *arguments: Any, **options: Any) -> Iterator[Segment]:
            for segment in super().render(*arguments, **options):
                yield segment if segment.control else segment._replace(text=visible(segment.text))

    # In a notebook, rich would send each line to the page instead of the file.
    return Careful(
        file=file, stderr=file is None, markup=False, emoji=False, highlight=False, force_jupyter=False, **options
    )


def fields(rows: Iterable[tuple[str, str]]) -> Table:
    """Return a table with names on the left and values on the right; rows without a value are skipped."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in rows:
        if value:
            table.add_row(name, value)
    return table


def indented(text: str) -> RenderableType:
    """Return a sentence with two columns of space before each of its lines on a terminal."""
    from rich.padding import Padding

    return Padding(text, (0, 0, 0, 2))


def parameters(config: Mapping[str, Any]) -> str:
    """Return a config's parameters except the block: "BM=128, BN=64"."""
    return ", ".join(f"{name}={value}" for name, value in config.items() if name != "block")


def in_turn(extents: list[Dim3], what: str) -> str:
    """Return the blocks or grids of the first launches, and the number of further ones."""
    shown = [f"{each} ({each.size} {what}{'' if each.size == 1 else 's'})" for each in extents[:_MOST_LAUNCHES]]
    more = [f"{len(extents) - _MOST_LAUNCHES} more"] if len(extents) > _MOST_LAUNCHES else []
    return ", then ".join([*shown, *more])

"""What every command does the same way: load the plugins, and write a document, text or tables."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from mmcore.kernel.geometry import Dim3
from mmcore.registry import Registry, registry

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
_MOST_LAUNCHES = 8
_redirected = contextlib.ExitStack()


# What a terminal obeys, or shows in another order: control characters but for line ends and tabs, and those of
# bidirectional text.
_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Text from a plugin, a source or a file, with what a terminal would obey written out: "\\x1b"."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def say(text: str) -> None:
    """Write a line to stderr."""
    click.echo(visible(text), err=True)


def loaded_registry() -> Registry:
    """The registry; what is wrong with the plugins goes to stderr, one warning each."""
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

    text = json.dumps(document, indent=2, allow_nan=False)
    _redirected.close()
    write(text)


def write(text: str) -> None:
    """Write text and a newline to stdout; the program ends quietly when nobody reads it any more."""
    try:
        click.echo(text)
    except OSError as error:
        # What is still buffered must go somewhere, or the interpreter complains when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise click.exceptions.Exit(141) from None  # 128 + SIGPIPE, as the shell has it
        raise click.ClickException(f"the output cannot be written: {error.strerror}") from None


def on_terminal() -> bool:
    """Whether stdout is a terminal: where it is none, nothing is coloured, wrapped or shortened."""
    return sys.stdout is not None and sys.stdout.isatty()


def render(*parts: RenderableType) -> None:
    """Write rich's rendering of some parts to stdout."""
    write(rendered(*parts, terminal=on_terminal()))


def rendered(*parts: RenderableType, terminal: bool) -> str:
    """Rich's rendering of some parts: as wide as the terminal and in colour, or as wide as it takes and plain."""
    from rich.console import Console
    from rich.text import Text

    class Careful(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(visible(text), **options)

    text, width = io.StringIO(), None if terminal else 10_000
    console = Careful(file=text, width=width, force_terminal=terminal, markup=False, emoji=False, highlight=False)
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip("\n").split("\n"))


def fields(rows: Iterable[tuple[str, str]]) -> Table:
    """Names on the left, values on the right; rows without a value are left out."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in rows:
        if value:
            table.add_row(name, value)
    return table


def parameters(config: Mapping[str, Any]) -> str:
    """A config's parameters besides the block: "BM=128, BN=64"."""
    return ", ".join(f"{name}={value}" for name, value in config.items() if name != "block")


def in_turn(extents: list[Dim3], what: str) -> str:
    """The blocks or grids of a few launches; of many, how many more there are."""
    said = [f"{each} ({each.size} {what}{'' if each.size == 1 else 's'})" for each in extents[:_MOST_LAUNCHES]]
    more = [f"{len(extents) - _MOST_LAUNCHES} more"] if len(extents) > _MOST_LAUNCHES else []
    return ", then ".join([*said, *more])

"""Options that several commands take: which product, and what their numbers may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_LARGEST_INT = 2**31 - 1
_USUAL = "m = n = k; 640, or the next that the kernel allows, by default."
_Command = TypeVar("_Command", bound=Callable[..., Any])


def size_type(text: str) -> int:
    """A number of rows, columns or elements, which kernels take as a C int."""
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= _LARGEST_INT):
        raise click.BadParameter(f"{text!r} is not a whole number from 1 to {_LARGEST_INT}")
    return int(text)


def problem_options(command: _Command) -> _Command:
    """Add ``--size``, ``-m``, ``-n`` and ``-k``."""
    for option in (
        click.option("-k", type=size_type, metavar="K", help="Columns of A, rows of B."),
        click.option("-n", type=size_type, metavar="N", help="Columns of B and C."),
        click.option("-m", type=size_type, metavar="M", help="Rows of A and C."),
        click.option("--size", type=size_type, metavar="N", help=_USUAL),
    ):
        command = option(command)
    return command

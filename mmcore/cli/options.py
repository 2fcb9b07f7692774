"""What the user says of a product and of the launches that make it, the same for every command that takes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from mmcore.cli.kernels import usual_size
from mmcore.errors import MmcoreError
from mmcore.launching.deadline import USUAL_SECONDS, parse_seconds
from mmcore.planning.kernel import Kernel

_LARGEST_INT = 2**31 - 1
_Command = TypeVar("_Command", bound=Callable[..., Any])
_Option = Callable[[Any], Any]


def size_type(text: str) -> int:
    """A number of rows, columns or elements, which kernels take as a C int."""
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= _LARGEST_INT):
        raise click.BadParameter(f"{text!r} is not a whole number from 1 to {_LARGEST_INT}")
    return int(text)


def _seconds_type(text: str | float) -> float:
    """A time limit."""
    try:
        return parse_seconds(str(text))
    except MmcoreError as error:
        raise click.BadParameter(str(error)) from None


def size_option(usual: int) -> Callable[[_Command], _Command]:
    """``--size``, which is ``usual`` or the next that the kernel allows where the user gives none."""
    text = f"m = n = k; {usual}, or the next that the kernel allows, by default."
    return click.option("--size", type=size_type, metavar="N", help=text)


block_option = click.option(
    "--block", metavar="BX[xBY]", help="Threads per block; 32 is 32x32 unless the kernel's blocks are flat."
)
_SIZES: tuple[_Option, ...] = (
    click.option("-m", type=size_type, metavar="M", help="Rows of A and C."),
    click.option("-n", type=size_type, metavar="N", help="Columns of B and C."),
    click.option("-k", type=size_type, metavar="K", help="Columns of A, rows of B."),
)
_LAUNCH: tuple[_Option, ...] = (
    block_option,
    click.option("--seed", type=click.IntRange(0), metavar="S", help="Seed of the random inputs; fresh by default."),
    click.option("--force", is_flag=True, help="Launch against the kernel's constraints, to see what happens."),
    click.option("--lda", type=size_type, metavar="N", help="Elements from one row of A to the next."),
    click.option("--ldb", type=size_type, metavar="N", help="Elements from one row of B to the next."),
    click.option("--ldc", type=size_type, metavar="N", help="Elements from one row of C to the next."),
)


def timeout_option(what: str) -> Callable[[_Command], _Command]:
    """``--timeout``, in seconds, for ``what``."""
    text = f"Seconds that {what} may take; {USUAL_SECONDS:g} by default."
    return click.option("--timeout", type=_seconds_type, default=USUAL_SECONDS, metavar="S", help=text)


def problem_options(usual: int) -> Callable[[_Command], _Command]:
    """Give a command ``--size``, ``-m``, ``-n`` and ``-k``."""
    return _all_of((size_option(usual), *_SIZES))


def launch_options(usual: int) -> Callable[[_Command], _Command]:
    """Give a command all of a launch's options; it gets their values as keyword arguments of :func:`mmcore.run`."""
    return _all_of((size_option(usual), *_SIZES, *_LAUNCH))


def _all_of(options: Sequence[_Option]) -> Callable[[_Command], _Command]:
    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def with_usual_size(kernel: Kernel, asked: dict[str, Any], usual: int) -> dict[str, Any]:
    """What was asked for, without what was not, and with the usual size where no size was."""
    asked = {name: value for name, value in asked.items() if value is not None}
    if not asked.keys().isdisjoint(("size", "m", "n", "k")):
        return asked
    block = asked.get("block")
    return asked | {"size": usual_size(kernel, None if block is None else kernel.block(block), usual)}

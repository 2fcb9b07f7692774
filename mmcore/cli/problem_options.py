"""What the user says of the launch, the same for every command that makes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from mmcore.cli.kernels import usual_size
from mmcore.planning.kernel import Kernel

_LARGEST_INT = 2**31 - 1
_F = TypeVar("_F", bound=Callable[..., Any])


def size(text: str) -> int:
    """A number of rows, columns or elements, which kernels take as a C int."""
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= _LARGEST_INT):
        raise click.BadParameter(f"{text!r} is not a whole number from 1 to {_LARGEST_INT}")
    return int(text)


def size_option(usual: int) -> Callable[[_F], _F]:
    """``--size``, which is ``usual`` or the next that the kernel allows where the user gives none."""
    text = f"m = n = k; {usual}, or the next that the kernel allows, by default."
    return click.option("--size", type=size, metavar="N", help=text)


block_option = click.option(
    "--block", metavar="BX[xBY]", help="Threads per block; 32 is 32x32 unless the kernel's blocks are flat."
)
_OPTIONS = (
    click.option("-m", type=size, metavar="M", help="Rows of A and C."),
    click.option("-n", type=size, metavar="N", help="Columns of B and C."),
    click.option("-k", type=size, metavar="K", help="Columns of A, rows of B."),
    block_option,
    click.option("--seed", type=click.IntRange(0), metavar="S", help="Seed of the random inputs; fresh by default."),
    click.option("--force", is_flag=True, help="Launch against the kernel's constraints, to see what happens."),
    click.option("--lda", type=size, metavar="N", help="Elements from one row of A to the next."),
    click.option("--ldb", type=size, metavar="N", help="Elements from one row of B to the next."),
    click.option("--ldc", type=size, metavar="N", help="Elements from one row of C to the next."),
)


def problem_options(usual: int) -> Callable[[_F], _F]:
    """Give a command the options above; it gets their values as keyword arguments of :func:`mmcore.run`."""

    def decorate(command: _F) -> _F:
        for option in reversed((size_option(usual), *_OPTIONS)):
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

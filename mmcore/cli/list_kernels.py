"""``mmcore list-kernels``: which kernels there are. It imports neither CUDA nor numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from mmcore.cli.kernels import blocks, sentences, summary, typed_operation
from mmcore.cli.output import json_option, loaded_registry, on_terminal, render, write, write_json
from mmcore.errors import MmcoreError
from mmcore.kernel.dtypes import dtype_named
from mmcore.kernel.declaration import Kernel
from mmcore.registry import Registered

if TYPE_CHECKING:
    from rich.table import Table


@click.command("list-kernels")
@click.option("--lecture", metavar="L", help="Only a lecture's: the first part of the name, or words of its title.")
@click.option("--dtype", metavar="D", help="Only those of an element type, such as float32, or f32 for short.")
@json_option
def list_kernels(lecture: str | None, dtype: str | None, as_json: bool) -> int:
    """List the kernels: what each does and what it needs."""
    found = list(loaded_registry().kernels.values())
    if lecture is not None:
        found = _from_lecture(found, lecture)
    if dtype is not None:
        found = _of_dtype(found, dtype_named(dtype).name)
    if as_json:
        write_json([summary(registered) for registered in found])
    elif on_terminal():
        render(_list([registered.kernel for registered in found]))
    else:
        write(_rows([registered.kernel for registered in found]))
    return 0


def _from_lecture(found: Sequence[Registered], lecture: str) -> list[Registered]:
    wanted = lecture.casefold()
    chosen = [each for each in found if wanted == _family(each.kernel) or wanted in each.kernel.lecture.casefold()]
    if not chosen:
        families = ", ".join(dict.fromkeys(_family(each.kernel) for each in found))
        raise MmcoreError(f"no kernel is from a lecture {lecture!r}; there are {families or 'no kernels at all'}")
    return chosen


def _family(kernel: Kernel) -> str:
    return kernel.name.partition(".")[0]


def _of_dtype(found: Sequence[Registered], dtype: str) -> list[Registered]:
    chosen = [each for each in found if each.kernel.dtype == dtype]
    if not chosen:
        dtypes = ", ".join(dict.fromkeys(each.kernel.dtype for each in found))
        raise MmcoreError(f"none of these kernels takes {dtype}; they take {dtypes or 'nothing: there are none'}")
    return chosen


def _title(kernel: Kernel) -> str:
    return f"{kernel.title} [known violations]" if kernel.known_bugs else kernel.title


def _needs(kernel: Kernel) -> str:
    return "; ".join(sentences(kernel))


def _rows(kernels: Sequence[Kernel]) -> str:
    """One line for each kernel, so that grep finds all there is to it. (Importing rich takes as long as mmcore.)"""
    cells = ((each.name, _title(each), typed_operation(each), blocks(each), _needs(each)) for each in kernels)
    rows = [("kernel", "what it does", "operation", "blocks", "needs"), *cells]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _list(kernels: Sequence[Kernel]) -> Table:
    """The same for a terminal, where nothing may be cut: operation, blocks and needs stand below the title."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for kernel in kernels:
        table.add_row(kernel.name, _title(kernel))
        table.add_row("", f"{typed_operation(kernel)} in blocks of {blocks(kernel)}")
        table.add_row("", Text(f"needs: {_needs(kernel) or 'nothing'}", style="dim"))
    return table

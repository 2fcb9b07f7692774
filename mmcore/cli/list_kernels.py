"""``mmcore list-kernels``: which kernels there are. It imports neither CUDA nor numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from mmcore.cli.kernels import blocks, sentences, summary, typed_operation
from mmcore.cli.output import json_option, loaded_registry, render, write_json
from mmcore.errors import MmcoreError
from mmcore.planning.dtypes import dtype_named
from mmcore.planning.kernel import Kernel
from mmcore.registry import Registered

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table

_COLUMNS_FOR_A_ROW_EACH = 140


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
    else:
        render(_Listing([registered.kernel for registered in found]))
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
    return f"{kernel.title} [known faults]" if kernel.known_faults else kernel.title


class _Listing:
    """The kernels, arranged for the width at hand."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self._kernels = kernels

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield (_wide if options.max_width >= _COLUMNS_FOR_A_ROW_EACH else _narrow)(self._kernels)


def _wide(kernels: Sequence[Kernel]) -> Table:
    """One row for each kernel. Off the terminal there is width enough for grep to find whole rows."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("kernel", no_wrap=True, style="bold")
    table.add_column("what it does")
    table.add_column("operation", no_wrap=True)
    table.add_column("blocks")
    table.add_column("needs")
    for kernel in kernels:
        needs = "; ".join(sentences(kernel))
        table.add_row(kernel.name, _title(kernel), typed_operation(kernel), blocks(kernel), needs)
    return table


def _narrow(kernels: Sequence[Kernel]) -> Table:
    """The same for a terminal too narrow for five columns: operation, blocks and needs stand below the title."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for kernel in kernels:
        table.add_row(kernel.name, _title(kernel))
        table.add_row("", f"{typed_operation(kernel)} in blocks of {blocks(kernel)}")
        table.add_row("", Text(f"needs: {'; '.join(sentences(kernel)) or 'nothing'}", style="dim"))
    return table

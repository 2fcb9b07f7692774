"""What ``mmcore occupancy`` prints: the lecture's table, one column for each kind of block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mmcore.cli.output import fields
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.declaration import Kernel
from mmcore.planning.capabilities import multiprocessor
from mmcore_occupancy.theoretical import Occupancy
from mmcore.kernel.problem import Problem

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_COLUMNS = 4
"""Beside the names of the rows, as many columns as a terminal of 80 characters has room for."""

_ROWS: dict[str, Callable[[Occupancy], object]] = {
    "threads per block": lambda found: found.threads_per_block,
    "warps per block": lambda found: found.warps_per_block,
    "registers per thread": lambda found: found.registers_per_thread,
    "registers per block": lambda found: found.registers_per_block,
    "shared bytes per block": lambda found: found.shared_per_block,
    "blocks by warps": lambda found: found.limit_warps,
    "blocks by registers": lambda found: found.limit_registers,
    "blocks by shared memory": lambda found: found.limit_shared,
    "blocks by hardware": lambda found: found.limit_blocks,
}
_ACTIVE: dict[str, Callable[[Occupancy], object]] = {
    "active blocks": lambda found: found.active_blocks,
    "active warps": lambda found: found.active_warps,
    "active threads": lambda found: found.active_threads,
    "occupancy": lambda found: f"{100 * found.occupancy:.4g} %",
}


@dataclass(frozen=True)
class Column:
    """One kind of block.

    Attributes:
        block: its shape.
        occupancy: what a multiprocessor holds of it.
        problem: the product it is launched for; None for bare numbers.
        grid: the grid it is launched in; None for bare numbers.
        entry: the kernel function; empty for bare numbers.
        architecture: what registers and shared memory were compiled for ("sm_90"); empty where they were given.
    """

    block: Dim3
    occupancy: Occupancy
    problem: Problem | None = None
    grid: Dim3 | None = None
    entry: str = ""
    architecture: str = ""

    @property
    def in_grid(self) -> Occupancy:
        """The occupancy in a grid of this size, which may have fewer blocks than fit."""
        return self.occupancy.in_grid(self.grid.size) if self.grid else self.occupancy

    def to_json(self) -> dict[str, Any]:
        """The column by name, null where a bare number has none."""
        problem, grid, here = self.problem, self.grid, self.in_grid
        return {
            "problem": {"m": problem.m, "n": problem.n, "k": problem.k} if problem else None,
            "block": list(self.block),
            "grid": list(grid) if grid else None,
            "entry": self.entry or None,
            "architecture": self.architecture or None,
            **self.occupancy.to_json(),
            "in_grid": {
                "active_blocks": here.active_blocks,
                "active_warps": here.active_warps,
                "active_threads": here.active_threads,
                "occupancy": here.occupancy,
            },
        }


@dataclass(frozen=True)
class Report:
    """The whole answer.

    Attributes:
        kernel: the kernel; None for bare numbers.
        capability: the compute capability it is about, (major, minor).
        columns: what can be launched.
        refused: the kernel's declared blocks that cannot, with the reasons.
        device: the device, in words; empty for a mere compute capability.
    """

    kernel: Kernel | None
    capability: tuple[int, int]
    columns: tuple[Column, ...]
    refused: tuple[tuple[Dim3, tuple[str, ...]], ...] = ()
    device: str = ""

    def to_json(self) -> dict[str, Any]:
        """The first column, which is the default block's, and all of them under ``blocks``."""
        documents = [column.to_json() for column in self.columns]
        return {
            "kernel": self.kernel.name if self.kernel else None,
            "device": self.device.partition(" ")[0] or None,
            **documents[0],
            "blocks": documents,
            "refused": [{"block": list(block), "reasons": list(reasons)} for block, reasons in self.refused],
        }

    def parts(self) -> list[RenderableType]:
        """The same to read."""
        title = [f"{self.kernel.name}: {self.kernel.title}\n"] if self.kernel else []
        return [*title, fields(self._facts()), "", *self._tables(), *self._sentences()]

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("device", self.device),
            ("compute capability", multiprocessor(self.capability).name),
            ("compiled for", self._code()),
            ("problem", "\n".join(self._problems())),
        ]

    def _code(self) -> str:
        architecture = self.columns[0].architecture
        name = multiprocessor(self.capability).name
        if architecture.rstrip("af") in ("", f"sm_{name.replace('.', '')}"):
            return architecture
        said = f"{architecture}, not {name}, whose own code may take other registers"
        if self.capability < (2, 0):
            said += "; the parameters, which 1.x keeps in shared memory, are not counted"
        return said

    def _problems(self) -> list[str]:
        blocks: dict[Problem, list[str]] = {}
        for column in self.columns:
            if column.problem:
                blocks.setdefault(column.problem, []).append(str(column.block))
        return [f"{problem} in blocks of {', '.join(dict.fromkeys(shapes))}" for problem, shapes in blocks.items()]

    def _tables(self) -> list[RenderableType]:
        tables: list[RenderableType] = []
        for first in range(0, len(self.columns), _COLUMNS):
            tables += [_table(self.columns[first : first + _COLUMNS]), ""]
        return tables

    def _sentences(self) -> list[str]:
        said = [f"{column.block}: {column.occupancy.advice}" for column in self.columns]
        small = [
            f"{column.block}: {column.in_grid.advice}" for column in self.columns if column.in_grid != column.occupancy
        ]
        refused = [f"{block} is refused: {'; '.join(reasons)}" for block, reasons in self.refused]
        return [*said, *small, *refused]


def _table(columns: tuple[Column, ...]) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    for _ in columns:
        table.add_column(justify="right", overflow="fold")
    table.add_row("block", *(str(column.block) for column in columns))
    if len({column.entry for column in columns}) > len({column.block for column in columns}):
        table.add_row("function", *(column.entry for column in columns))
    for name, value in (_ROWS | _ACTIVE).items():
        table.add_row(name, *(str(value(column.occupancy)) for column in columns))
    if any(column.in_grid != column.occupancy for column in columns):
        for name, value in _ACTIVE.items():
            table.add_row(f"{name} in the grid", *(str(value(column.in_grid)) for column in columns))
    return table

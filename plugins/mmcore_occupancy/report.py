"""What ``mmcore occupancy`` prints: the lecture's table, one column for each config."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mmcore.cli.output import fields
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.problem import Problem
from mmcore_occupancy.capabilities import multiprocessor
from mmcore_occupancy.theoretical import Occupancy

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_COLUMNS = 4
"""Beside the names of the rows, as many columns as a terminal of 80 characters has room for."""

_ROWS = {
    "threads per block": "threads_per_block",
    "warps per block": "warps_per_block",
    "registers per thread": "registers_per_thread",
    "registers per block": "registers_per_block",
    "shared bytes per block": "shared_per_block",
    "blocks by warps": "limit_warps",
    "blocks by registers": "limit_registers",
    "blocks by shared memory": "limit_shared",
    "blocks by hardware": "limit_blocks",
}
_ACTIVE = ("active blocks", "active warps", "active threads")
_IN_GRID = (*(name.replace(" ", "_") for name in _ACTIVE), "occupancy")


@dataclass(frozen=True)
class Column:
    """One launch of one config.

    Attributes:
        block: threads per block.
        occupancy: what a multiprocessor can keep active of it.
        config, problem, grid: what is launched; None for bare numbers.
        entry: the kernel function; empty for bare numbers.
        architecture: what registers and shared memory were compiled for ("sm_90"); empty where they were given.
    """

    block: Dim3
    occupancy: Occupancy
    config: Config | None = None
    problem: Problem | None = None
    grid: Dim3 | None = None
    entry: str = ""
    architecture: str = ""

    @property
    def label(self) -> str:
        """The config, or the block of bare numbers, as the column is headed."""
        return _label(self.config) if self.config else str(self.block)

    @property
    def in_grid(self) -> Occupancy:
        """The occupancy in a grid of this size, which may have fewer blocks than fit."""
        return self.occupancy.in_grid(self.grid.size) if self.grid else self.occupancy

    def to_json(self) -> dict[str, Any]:
        """The column by name, null where bare numbers have none."""
        problem, here = self.problem, self.in_grid
        return {
            "problem": {"m": problem.m, "n": problem.n, "k": problem.k} if problem else None,
            "config": self.config.to_json() if self.config else None,
            "block": list(self.block),
            "grid": list(self.grid) if self.grid else None,
            "entry": self.entry or None,
            "architecture": self.architecture or None,
            **self.occupancy.to_json(),
            "in_grid": {name: getattr(here, name) for name in _IN_GRID},
        }


@dataclass(frozen=True)
class Report:
    """The whole answer: a column for each launch, and the configs that constraints refuse.

    Attributes:
        kernel: None for bare numbers.
        device: in words; empty for a mere compute capability.
    """

    kernel: Kernel | None
    capability: tuple[int, int]
    columns: tuple[Column, ...]
    refused: tuple[tuple[Config, tuple[str, ...]], ...] = ()
    device: str = ""

    def to_json(self) -> dict[str, Any]:
        """The first column, which is the default config's, and all of them under ``configs``."""
        documents = [column.to_json() for column in self.columns]
        return {
            "kernel": self.kernel.name if self.kernel else None,
            "device": self.device.partition(" ")[0] or None,
            **documents[0],
            "configs": documents,
            "refused": [{"config": config.to_json(), "reasons": [*reasons]} for config, reasons in self.refused],
        }

    def parts(self) -> list[RenderableType]:
        """The same to read."""
        facts = [("device", self.device), ("compute capability", multiprocessor(self.capability).name)]
        facts += [("compiled for", self._code()), ("problem", "\n".join(self._problems()))]
        title = [f"{self.kernel.name}: {self.kernel.title}\n"] if self.kernel else []
        starts = range(0, len(self.columns), _COLUMNS)
        tables = [part for first in starts for part in (_table(self.columns[first : first + _COLUMNS]), "")]
        return [*title, fields(facts), "", *tables, *self._sentences()]

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
        labels: dict[str, dict[str, None]] = {}
        for column in self.columns:
            labels.setdefault(str(column.problem or ""), {})[column.label] = None
        return [f"{problem} in {', '.join(several)}" for problem, several in labels.items() if problem]

    def _sentences(self) -> list[str]:
        said = [f"{column.label}: {column.occupancy.advice}" for column in self.columns]
        small = [f"{each.label}: {each.in_grid.advice}" for each in self.columns if each.in_grid != each.occupancy]
        refused = [f"{_label(config)} is refused: {'; '.join(reasons)}" for config, reasons in self.refused]
        return [*said, *small, *refused]


def _table(columns: tuple[Column, ...]) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    for _ in columns:
        table.add_column(justify="right", overflow="fold")
    heading = "block" if all(column.label == str(column.block) for column in columns) else "config"
    table.add_row(heading, *(column.label for column in columns))
    if len({column.entry for column in columns}) > len({column.label for column in columns}):
        table.add_row("function", *(column.entry for column in columns))
    for name, attribute in _ROWS.items():
        table.add_row(name, *(str(getattr(column.occupancy, attribute)) for column in columns))
    _add_active(table, [column.occupancy for column in columns])
    if any(column.in_grid != column.occupancy for column in columns):
        _add_active(table, [column.in_grid for column in columns], " in the grid")
    return table


def _add_active(table: Table, found: list[Occupancy], where: str = "") -> None:
    for name in _ACTIVE:
        table.add_row(f"{name}{where}", *(str(getattr(each, name.replace(" ", "_"))) for each in found))
    table.add_row(f"occupancy{where}", *(f"{100 * each.occupancy:.4g} %" for each in found))


def _label(config: Config) -> str:
    """The config in a few characters: its block where that says everything, else its id."""
    return str(config.block) if config.id == f"b{config.block_text}" else config.id

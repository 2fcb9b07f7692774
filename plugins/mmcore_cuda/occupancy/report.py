"""The report of ``mmcore occupancy``: the lecture's table, with one column for each launch of each config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from rich.console import RenderableType
from rich.table import Table

from mmcore.cli.output import fields
from mmcore.kernel.configs import Config
from mmcore.kernel.geometry import Dim3

_COLUMNS = 4
"""Columns beside the names of the rows that fit a terminal of 80 characters."""

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
_LOCAL_MEMORY = {
    "local_bytes": "local bytes per thread",
    "spill_store_bytes": "spill stores, bytes per thread",
    "spill_load_bytes": "spill loads, bytes per thread",
}
_Json: TypeAlias = Mapping[str, Any]


def facts(document: _Json, title: str, device: str) -> list[RenderableType]:
    """Return the kernel's title, the device in words and the problems of a document; title and device may be empty."""
    columns: Sequence[_Json] = document["configs"]
    labels: dict[str, dict[str, None]] = {}
    for column in columns:
        if column["problem"]:
            problem = "×".join(map(str, column["problem"].values()))
            labels.setdefault(problem, {})[_label(column)] = None
    problems = "\n".join(f"{problem} in {', '.join(several)}" for problem, several in labels.items())
    rows = [("device", device), ("compute capability", document["capability"])]
    rows += [("compiled for", _code(document)), ("problem", problems)]
    return [*([f"{document['kernel']}: {title}\n"] if title else []), fields(rows), ""]


def tables(document: _Json) -> list[RenderableType]:
    """Return the tables of a document's configs, with advice, and the refused configs."""
    columns: Sequence[_Json] = document["configs"]
    starts = range(0, len(columns), _COLUMNS)
    return [
        *(part for start in starts for part in (_table(columns[start : start + _COLUMNS]), "")),
        *(f"{_label(each)}: {each['advice']}" for each in columns),
        *(f"{_label(each)}: {each['in_grid']['advice']}" for each in columns if _grid_binds(each)),
        *(f"{_label(each)} is refused: {'; '.join(each['reasons'])}" for each in document["refused"]),
    ]


def _code(column: _Json) -> str:
    """Return the architecture that was compiled for, with a warning if that is another compute capability."""
    architecture, capability = column["architecture"] or "", column["capability"]
    if architecture.rstrip("af") in ("", f"sm_{capability.replace('.', '')}"):
        return str(architecture)
    text = f"{architecture}, not {capability}, whose own code may take other registers"
    if capability.startswith("1."):
        text += "; the parameters, which 1.x keeps in shared memory, are not counted"
    return text


def _table(columns: Sequence[_Json]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    for _ in columns:
        table.add_column(justify="right", overflow="fold")
    labels, entries = [*map(_label, columns)], [column["entry"] or "" for column in columns]
    table.add_row("block" if labels == [str(Dim3(*column["block"])) for column in columns] else "config", *labels)
    if len(set(entries)) > len(set(labels)):
        table.add_row("function", *entries)
    for name, key in _ROWS.items():
        table.add_row(name, *(str(column[key]) for column in columns))
    for key, name in _LOCAL_MEMORY.items():
        if any(column[key] for column in columns):
            table.add_row(name, *("unknown" if column[key] is None else str(column[key]) for column in columns))
    _add_active(table, columns)
    if any(map(_grid_binds, columns)):
        _add_active(table, [column["in_grid"] for column in columns], " in the grid")
    return table


def _add_active(table: Table, columns: Sequence[_Json], where: str = "") -> None:
    for what in ("blocks", "warps", "threads"):
        table.add_row(f"active {what}{where}", *(str(each[f"active_{what}"]) for each in columns))
    table.add_row(f"occupancy{where}", *(f"{100 * each['occupancy']:.4g} %" for each in columns))


def _grid_binds(column: _Json) -> bool:
    return bool(column["in_grid"]["binding"] == ["grid"])


def _label(column: _Json) -> str:
    """Return a short name of a config: its block if that is everything, else its id."""
    config = Config(column["config"] or column)
    return str(config.block) if column["config_id"] in (None, f"b{config.block_text}") else str(column["config_id"])

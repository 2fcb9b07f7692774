"""Counting the cells of the study on the emulator."""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

from bench.studies.prediction.rows import COUNTS, Row, counts_row, key, rows_of, write_rows
from mmcore.cell import Cell
from mmcore.errors import MmcoreError
from mmcore.planning.plan import Plan
from mmcore_performance.cards import cards
from mmcore_performance.counted import Counts, counted, profiled
from mmcore_performance.gathering import card_plan, planned_evidence

_PRIMARY = ("hpsee", "upc", "unsa", "ladder")  # whose kernels are counted first


def count(measured: Sequence[Row], counts: Path = COUNTS) -> None:
    """Count each measured cell that has no counts yet; the file is written after each kernel."""
    rows = rows_of(counts)
    done = {key(row) for row in rows}
    pending: dict[tuple[str, str], list[Row]] = {}
    for row in {key(row): row for row in measured}.values():
        if key(row) not in done:
            pending.setdefault((row["kernel"], str(row["config"])), []).append(row)
    for (name, _), cells in sorted(pending.items(), key=lambda item: _turn(item[0][0])):
        begin = time.monotonic()
        rows += _counted(cells)
        write_rows(counts, rows)
        print(f"{name}: {len(cells)} cells, {time.monotonic() - begin:.0f} s", file=sys.stderr)


def _turn(kernel: str) -> tuple[bool, int]:
    """Return the place of a kernel in the order of counting, in which any beginning is a sample of all kernels."""
    return not kernel.startswith(_PRIMARY), zlib.crc32(kernel.encode())


def _counted(cells: list[Row]) -> list[Row]:
    """Return the rows of one kernel's cells with one config, which mostly share their small products."""
    small: dict[str, tuple[Counts, ...]] = {}

    def profiler(cell: Cell, plan: Plan) -> tuple[Counts, ...]:
        name = str(cell.to_json())
        if name not in small:
            small[name] = profiled(cell, plan)
        return small[name]

    rows = []
    for row in cells:
        cell = Cell(row["kernel"], row["m"], row["n"], row["k"], config=row["config"], seed=0)
        card = cards()[row["card"]]
        try:
            emulated, plan = card_plan(cell, card)
            counts = counted(emulated, plan, profiler)
        except MmcoreError as error:
            print(f"{cell.kernel} at {cell.m}: {error}", file=sys.stderr)
            continue
        rows.append(counts_row(row, planned_evidence(plan, card, counts), counts))
    return rows

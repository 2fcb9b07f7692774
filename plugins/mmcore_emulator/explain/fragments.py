"""Pictures of the threads that hold the elements of the matrices that tensor cores multiply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mmcore_emulator.explain.picture import Cell, Picture
from mmcore_emulator.isa.asynchronous.wgmma_operands import WARPGROUP, parse_wgmma
from mmcore_emulator.isa.matrix.mma import mma_kind
from mmcore_emulator.isa.matrix.moves import matrix_move
from mmcore_emulator.isa.matrix.wmma import wmma_mma_kind, wmma_move
from mmcore_emulator.tensor_cores.fragments import Fragment, wgmma_a, wgmma_d

_WARP_ROWS = 16
_WIDE = 8
"""Columns after which the accumulators of ``wgmma`` repeat."""


@dataclass(frozen=True)
class Held:
    """An instruction whose operands are matrices that threads hold together."""

    opcode: str  # "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    a_in_registers: bool = False  # of wgmma, whether A is in registers and not in shared memory

    def pictures(self) -> Iterator[Picture]:
        """Yield a picture of each matrix."""
        opcode = tuple(self.opcode.split("."))
        if kind := mma_kind(opcode) or wmma_mma_kind(opcode):
            d, a, b, c = kind.fragments()
            yield _of_operand("A", a, self)
            yield _of_operand("B", b, self)
            if c.type != d.type:
                yield _of_operand("C", c, self)
            yield _of_operand("D" if c.type != d.type else "C and D", d, self)
        elif product := parse_wgmma(opcode):
            if self.a_in_registers:
                yield _of_operand("A", wgmma_a(product.a), self)
            yield _of_operand("D", wgmma_d(product.n, product.accumulator), self)
        elif move := wmma_move(opcode):
            yield _of_operand("D" if move.store else move.matrix, move.fragment, self)
        elif matrices := matrix_move(opcode):
            rows, columns = ("te", "g") if matrices.transposed else ("g", "te")
            fragment = Fragment("f16", {"g": 8, "t": 4, "e": 2}, "", "gt", "e", rows, columns)
            notes = ("T5 is thread 5; it has both elements in a register, in register i those of matrix i.",)
            named = f"The rows of matrix i are named by threads 8i to 8i+7, in all by 0 to {8 * matrices.count - 1}."
            yield _picture(f"A matrix of {self.opcode}: 8×8 of 16 bits", fragment, "", "rc", (*notes, named))


def has_pictures(mnemonic: str) -> bool:
    """Return whether threads hold matrices of an instruction together."""
    opcode = tuple(mnemonic.split("."))
    return any(kind(opcode) is not None for kind in (mma_kind, wmma_mma_kind, parse_wgmma, matrix_move, wmma_move))


def _of_operand(matrix: str, fragment: Fragment, held: Held) -> Picture:
    height, width = fragment.shape
    letter, parts = matrix[-1].lower(), fragment.register_parts
    last = fragment.distinct * parts - 1
    count = f"{parts} in each register" if parts > 1 else "one in each register"
    note = f"T5 is thread 5; it holds {letter}0 to {letter}{last}, {count}." if last else "T5 is thread 5."
    title = f"{matrix} of {held.opcode}: {height}×{width} of {fragment.type}"
    return _picture(title, fragment, letter, {"A": "mk", "B": "kn"}.get(matrix, "mn"), (note,))


def _picture(title: str, fragment: Fragment, letter: str, axes: str, notes: tuple[str, ...]) -> Picture:
    """Return a picture with a cell for the elements that a register of a thread holds side by side."""
    holders, parts = _holders(fragment), fragment.register_parts
    rows, columns = fragment.shape
    if fragment.thread_count == WARPGROUP:
        # The rows of a warp, and the columns of D until they repeat.
        rows, columns = _WARP_ROWS, min(columns, _WIDE) if "j" in fragment.registers else columns
    down, across = (1, parts) if fragment.along_rows else (parts, 1)
    cells = {}
    for row, column in ((row, column) for row in range(0, rows, down) for column in range(0, columns, across)):
        thread, first = holders[row, column]
        cells[row // down, column // across] = Cell(f"T{thread}:{letter}{_span(first, parts)}", first // parts)
    return Picture(
        title,
        tuple(f"{axes[0]}{_span(row, down)}" for row in range(0, rows, down)),
        tuple(f"{axes[1]}{_span(column, across)}" for column in range(0, columns, across)),
        cells,
        (*notes, *_left_out(fragment, holders, rows, columns)),
    )


def _holders(fragment: Fragment) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the first thread that holds the element of each row and column, and the element's number there."""
    rows, columns = fragment.coordinates
    parts = fragment.register_parts
    holders: dict[tuple[int, int], tuple[int, int]] = {}
    for register in range(fragment.distinct):
        for thread in range(fragment.thread_count):
            for part in range(parts):
                place = int(rows[register, thread, part]), int(columns[register, thread, part])
                holders.setdefault(place, (thread, register * parts + part))
    return holders


def _left_out(
    fragment: Fragment, holders: dict[tuple[int, int], tuple[int, int]], rows: int, columns: int
) -> Iterator[str]:
    """Yield sentences on the elements beyond the drawn rows and columns."""
    height, width = fragment.shape
    if rows < height:
        further = holders[rows, 0][0] - holders[0, 0][0]
        yield f"Rows {rows} to {height - 1} are as these, {further} threads further for every {rows} rows."
    if columns < width:
        further = holders[0, columns][1] - holders[0, 0][1]
        yield f"Columns {columns} to {width - 1} are as these, {further} elements further for every {columns} columns."
    if fragment.copies > 1:
        yield f"Each register is there {fragment.copies} times: those behind the first {fragment.distinct} are copies."
    if fragment.matrices:
        yield "The warp multiplies four such matrices: those of threads 4, 8 and 12 further are the others."


def _span(first: int, count: int) -> str:
    """Return neighbouring numbers: "4", "4,5" or "4-7"."""
    return str(first) if count == 1 else f"{first},{first + 1}" if count == 2 else f"{first}-{first + count - 1}"

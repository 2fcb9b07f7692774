"""Which thread holds which elements of the matrices that tensor cores multiply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mmcore_emulator.explain.picture import Cell, Picture
from mmcore_emulator.isa.asynchronous.wgmma_operands import WARPGROUP, parse_wgmma
from mmcore_emulator.isa.matrix_moves import matrix_move
from mmcore_emulator.isa.mma import mma_kind
from mmcore_emulator.isa.wmma import wmma_mma_kind, wmma_move
from mmcore_emulator.tensor_cores.fragments import Fragment
from mmcore_emulator.tensor_cores.layouts import wgmma_a, wgmma_d

_WARP_ROWS = 16
_WIDE = 8
"""Columns after which the accumulators of ``wgmma`` repeat."""


@dataclass(frozen=True)
class Held:
    """An instruction whose operands are matrices that threads hold together.

    Attributes:
        opcode: "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32".
        a_in_registers: of ``wgmma``, whether A is in registers and not in shared memory.
    """

    opcode: str
    a_in_registers: bool = False


def has_pictures(mnemonic: str) -> bool:
    """Whether threads hold matrices of an instruction together."""
    opcode = tuple(mnemonic.split("."))
    known = (mma_kind, wmma_mma_kind, parse_wgmma, matrix_move, wmma_move)
    return any(kind(opcode) is not None for kind in known)


def pictures_of(held: Held) -> Iterator[Picture]:
    """A picture of each matrix."""
    opcode = tuple(held.opcode.split("."))
    if kind := mma_kind(opcode) or wmma_mma_kind(opcode):
        d, a, b, c = kind.fragments()
        yield _of_product("A", a, held)
        yield _of_product("B", b, held)
        if c.type != d.type:
            yield _of_product("C", c, held)
        yield _of_product("D" if c.type != d.type else "C and D", d, held)
    elif product := parse_wgmma(opcode):
        if held.a_in_registers:
            yield _of_product("A", wgmma_a(product.a), held)
        yield _of_product("D", wgmma_d(product.n, product.accumulator), held)
    elif move := wmma_move(opcode):
        yield _of_product("D" if move.store else move.matrix, move.fragment, held)
    elif matrices := matrix_move(opcode):
        rows, columns = ("te", "g") if matrices.transposed else ("g", "te")
        one = Fragment("f16", {"g": 8, "t": 4, "e": 2}, "", "gt", "e", rows, columns)
        notes = ("T5 is thread 5; it has both elements in a register, in register i those of matrix i.",)
        named = f"The rows of matrix i are named by threads 8i to 8i+7, in all by 0 to {8 * matrices.count - 1}."
        yield _picture(f"A matrix of {held.opcode}: 8×8 of 16 bits", one, "", "rc", (*notes, named))


_AXES = {"A": "mk", "B": "kn"}


def _of_product(matrix: str, fragment: Fragment, held: Held) -> Picture:
    height, width = fragment.shape
    letter, parts = matrix[-1].lower(), fragment.register_parts
    last = fragment.distinct * parts - 1
    each = f"{parts} in each register" if parts > 1 else "one in each register"
    notes = [f"T5 is thread 5; it holds {letter}0 to {letter}{last}, {each}." if last else "T5 is thread 5."]
    title = f"{matrix} of {held.opcode}: {height}×{width} of {fragment.type}"
    return _picture(title, fragment, letter, _AXES.get(matrix, "mn"), (*notes, *_left_out(fragment)))


def _picture(title: str, fragment: Fragment, letter: str, axes: str, notes: tuple[str, ...]) -> Picture:
    """Cells of the elements that a register of a thread holds side by side."""
    every, parts = _elements(fragment), fragment.register_parts
    rows, columns = _shown(fragment)
    down, across = (1, parts) if fragment.along_rows else (parts, 1)
    cells = {
        (row // down, column // across): _cell(every[row, column], letter, parts)
        for row in range(0, rows, down)
        for column in range(0, columns, across)
    }
    return Picture(
        title,
        tuple(f"{axes[0]}{_span(row, down)}" for row in range(0, rows, down)),
        tuple(f"{axes[1]}{_span(column, across)}" for column in range(0, columns, across)),
        cells,
        notes,
    )


def _elements(fragment: Fragment) -> dict[tuple[int, int], tuple[int, int]]:
    """The thread that holds the element of a row and column, and its number there; of several, the first."""
    row, column = fragment.coordinates
    parts = fragment.register_parts
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for register in range(fragment.distinct):
        for thread in range(fragment.thread_count):
            for part in range(parts):
                place = int(row[register, thread, part]), int(column[register, thread, part])
                found.setdefault(place, (thread, register * parts + part))
    return found


def _shown(fragment: Fragment) -> tuple[int, int]:
    """Rows and columns that are drawn: of a warpgroup's matrix, those of a warp, and of D's columns as they repeat."""
    height, width = fragment.shape
    if fragment.thread_count < WARPGROUP:
        return height, width
    return _WARP_ROWS, min(width, _WIDE) if "j" in fragment.registers else width


def _left_out(fragment: Fragment) -> Iterator[str]:
    """Sentences on what is not drawn."""
    every, (height, width), (rows, columns) = _elements(fragment), fragment.shape, _shown(fragment)
    if rows < height:
        further = every[rows, 0][0] - every[0, 0][0]
        yield f"Rows {rows} to {height - 1} are as these, {further} threads further for every {rows} rows."
    if columns < width:
        further = every[0, columns][1] - every[0, 0][1]
        yield f"Columns {columns} to {width - 1} are as these, {further} elements further for every {columns} columns."
    if fragment.copies > 1:
        yield f"Each register is there {fragment.copies} times: those behind the first {fragment.distinct} are copies."
    if fragment.matrices:
        yield "The warp multiplies four such matrices: those of threads 4, 8 and 12 further are the others."


def _cell(held: tuple[int, int], letter: str, parts: int) -> Cell:
    thread, first = held
    last = f",{first + 1}" if parts == 2 else f"-{first + parts - 1}" if parts > 2 else ""
    return Cell(f"T{thread}:{letter}{first}{last}", first // parts)


def _span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first},{first + 1}" if count == 2 else f"{first}-{first + count - 1}"

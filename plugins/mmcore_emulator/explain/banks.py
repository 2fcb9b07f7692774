"""Which banks of shared memory the lanes of a warp touch, in which of its passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mmcore_emulator.explain.picture import Cell, Picture
from mmcore_emulator.machine.asynchronous.swizzles import CHUNK, swizzled
from mmcore_emulator.machine.lanes import WARP

_BANKS = 32
_WORD = 4
_LINE = _BANKS * _WORD
_TOGETHER = 8  # rows of a matrix that are read at a time
_SHOWN_BYTES = _TOGETHER * _LINE
_MATRIX_MOVES = ("ldmatrix", "stmatrix")
_PARTS = {1: "", 2: "half", 4: "quarter"}


@dataclass(frozen=True)
class WarpAccess:
    """One instruction's access to shared memory by one warp.

    Attributes:
        opcode: of the instruction: "ldmatrix.sync.aligned.m8n8.x4.shared.b16".
        nbytes: bytes that each lane accesses.
        block, warp: which warp: the index of its block, x first, and its number there.
        addresses: of each lane; None for a lane that takes no part.
    """

    opcode: str
    nbytes: int
    block: tuple[int, ...]
    warp: int
    addresses: tuple[int | None, ...]

    @property
    def is_matrix(self) -> bool:
        """Whether it moves 8×8 matrices, of which each lane names a row."""
        return self.opcode.partition(".")[0] in _MATRIX_MOVES

    @property
    def wavefronts(self) -> int:
        """Passes that it takes."""
        return sum(passes(touches(self)).values())


class Touch(NamedTuple):
    """What lanes want of neighbouring banks: the same words."""

    part: int  # number of the part of the warp that is served at a time
    banks: int  # the first of the banks
    turn: int  # how many others of its part use the same banks before
    lanes: tuple[int, ...]


def touches(access: WarpAccess) -> list[Touch]:
    """What is served, in order; halves and quarters of a warp that want just what another does are served with it.

    The rule is that of :func:`~mmcore_emulator.profiler.coalescing.wavefronts`, and of matrices
    :func:`~mmcore_emulator.profiler.coalescing.matrix_wavefronts`.
    """
    words = max(1, access.nbytes // _WORD)
    wanted: list[dict[int, list[int]]] = [{} for _ in range(words)]
    for lane, address in enumerate(access.addresses):
        if address is not None:
            wanted[lane * words // WARP].setdefault(address // (words * _WORD), []).append(lane)
    if not access.is_matrix:
        _merge(wanted)
    found = []
    for part, places in enumerate(wanted):
        turns: dict[int, int] = {}
        for place, lanes in places.items():
            banks = place * words % _BANKS
            found.append(Touch(part, banks, turns.get(banks, 0), tuple(lanes)))
            turns[banks] = turns.get(banks, 0) + 1
    return found


def _merge(wanted: list[dict[int, list[int]]]) -> None:
    """Serve parts of the same half with an earlier one that wants just the same."""
    for later in range(1, len(wanted)):
        for earlier in range(later // 2 * 2, later):
            if wanted[later] and wanted[later].keys() == wanted[earlier].keys():
                for place, lanes in wanted[later].items():
                    wanted[earlier][place] += lanes
                wanted[later] = {}


def passes(found: Iterable[Touch]) -> dict[int, int]:
    """How many passes each part takes."""
    most: dict[int, int] = {}
    for touch in found:
        most[touch.part] = max(most.get(touch.part, 0), touch.turn + 1)
    return most


def picture_of_access(access: WarpAccess) -> Picture:
    """The lanes by bank and pass; those that a conflict makes wait are marked."""
    found = touches(access)
    most, words = passes(found), max(1, access.nbytes // _WORD)
    name = "matrix" if access.is_matrix else _PARTS[words]
    groups = tuple((f"{name} {part}".strip(), count) for part, count in most.items())
    first = {part: sum(list(most.values())[:index]) for index, part in enumerate(most)}
    rows = sorted({touch.banks for touch in found})
    cells = {
        (rows.index(touch.banks), first[touch.part] + touch.turn): Cell(_lanes(touch.lanes), touch.part, touch.turn > 0)
        for touch in found
    }
    columns = tuple(str(turn + 1) for count in most.values() for turn in range(count))
    wavefronts, conflicts = sum(most.values()), sum(most.values()) - len(most)
    block = f"({', '.join(map(str, access.block if access.block[2] else access.block[:2]))})"
    title = f"{access.opcode}: banks of each lane of warp {access.warp} in block {block}, by pass"
    return Picture(
        title,
        tuple(_banks(first_bank, words) for first_bank in rows),
        columns,
        cells,
        tuple(_notes(found, rows, words, wavefronts, conflicts)),
        groups if name else (),
        "pass",
    )


def _notes(found: list[Touch], rows: list[int], words: int, wavefronts: int, conflicts: int) -> Iterable[str]:
    silent = [bank for bank in range(0, _BANKS, words) if bank not in rows]
    if silent:
        yield f"No lane touches {_ranges(silent, words)}."
    if any(len(touch.lanes) > 1 for touch in found):
        yield "5×3 are lane 5 and two more that want the same."
    if conflicts:
        yield f"{wavefronts} wavefronts, {conflicts} by conflicts: marked lanes wait for others in their banks."
    else:
        yield f"{wavefronts} wavefront{'' if wavefronts == 1 else 's'}, no conflicts."


def _lanes(lanes: tuple[int, ...]) -> str:
    return f"{lanes[0]}×{len(lanes)}" if len(lanes) > 1 else str(lanes[0])


def _banks(first: int, words: int) -> str:
    return f"bank {first}" if words == 1 else f"banks {first}-{first + words - 1}"


def _ranges(banks: list[int], words: int) -> str:
    """Neighbouring banks together: "banks 4-31"."""
    runs: list[list[int]] = []
    for bank in banks:
        if runs and runs[-1][1] == bank - 1:
            runs[-1][1] = bank + words - 1
        else:
            runs.append([bank, bank + words - 1])
    texts = [str(begin) if begin == end else f"{begin}-{end}" for begin, end in runs]
    return f"bank{'' if texts == [str(banks[0])] else 's'} {', '.join(texts)}"


@dataclass(frozen=True)
class Box:
    """A box of a tensor that a bulk copy brings to shared memory, or takes from there.

    Attributes:
        opcode: of the instruction.
        address: in shared memory.
        rows: of the box, all but the fastest axis together.
        row_bytes: bytes of each.
        swizzle: bytes in which 16-byte chunks change places; 0 for none.
    """

    opcode: str
    address: int
    rows: int
    row_bytes: int
    swizzle: int


def picture_of_box(box: Box) -> Picture:
    """Where the chunks of the box's first KiB lie."""
    offsets = np.arange(0, min(_SHOWN_BYTES, box.rows * box.row_bytes), CHUNK)
    places = swizzled((box.address + offsets).astype(np.uint64), box.swizzle).astype(np.int64)
    rows, chunks = offsets // box.row_bytes, offsets % box.row_bytes // CHUNK
    swizzle = f"swizzled by {box.swizzle} bytes" if box.swizzle else "not swizzled"
    return _picture_of_chunks(
        f"{box.opcode}: where a box's chunks lie in shared memory, {swizzle}",
        zip(places.tolist(), rows.tolist(), chunks.tolist(), strict=True),
        f"r2 c1: 16 bytes, chunk 1 of row 2. The box has {box.rows} rows of {box.row_bytes} bytes.",
    )


@dataclass(frozen=True)
class Operand:
    """A matrix in shared memory that ``wgmma`` multiplies.

    Attributes:
        opcode: of the instruction.
        matrix: "A" or "B".
        rows: how many it has in memory: rows of A, columns of B, or of either those along k where they are stored so.
        chunks: addresses of the 16-byte chunks of the first of these rows.
        layout: what the descriptor says, in words.
    """

    opcode: str
    matrix: str
    rows: int
    chunks: tuple[tuple[int, ...], ...]
    layout: str


def picture_of_operand(operand: Operand) -> Picture:
    """Where the chunks of the matrix's first rows lie."""
    return _picture_of_chunks(
        f"{operand.matrix} of {operand.opcode}: where its chunks lie in shared memory, {operand.layout}",
        ((place, row, chunk) for row, line in enumerate(operand.chunks) for chunk, place in enumerate(line)),
        f"r2 c1: 16 bytes, chunk 1 of row 2. The matrix has {operand.rows} rows of {len(operand.chunks[0])} chunks.",
    )


def _picture_of_chunks(title: str, chunks: Iterable[tuple[int, int, int]], note: str) -> Picture:
    """Chunks, each by its address, row and number there, among the banks: a row of cells is a line of all banks."""
    every = list(chunks)
    lines = sorted({place // _LINE for place, _, _ in every})
    cells = {
        (lines.index(place // _LINE), place % _LINE // CHUNK): Cell(f"r{row} c{chunk}", chunk)
        for place, row, chunk in every
    }
    column = Counter(place % _LINE for place, row, chunk in every if chunk == 0 and row < _TOGETHER)
    notes = [note]
    if column.total() == _TOGETHER:
        turns = max(column.values())
        cost = "a pass: each has banks of its own" if turns == 1 else f"{turns} passes, {turns - 1} by conflicts"
        notes.append(f"Chunk 0 of the first eight rows, which are read together, takes {cost}.")
    return Picture(
        title,
        tuple(f"{line * _LINE:#x}" for line in lines),
        tuple(_banks(first, 4).removeprefix("banks ") for first in range(0, _BANKS, 4)),
        cells,
        tuple(notes),
        corner="banks",
    )

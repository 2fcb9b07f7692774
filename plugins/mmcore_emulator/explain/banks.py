"""Pictures of the banks of shared memory that the lanes of a warp access, pass by pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import NamedTuple

import numpy as np

from mmcore_emulator.explain.picture import MANY_LANES, Cell, Picture, lanes_text, warp_text
from mmcore_emulator.isa.table import effect_of
from mmcore_emulator.machine.asynchronous.tensor_maps import CHUNK, swizzled
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.profiler.coalescing import BANKS

_WORD = 4
_LINE = BANKS * _WORD
_TOGETHER = 8  # rows of a matrix that are read at a time
_PARTS = {1: "", 2: "half", 4: "quarter"}


@dataclass(frozen=True)
class WarpAccess:
    """One instruction's access to shared memory by one warp."""

    opcode: str  # of the instruction: "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
    nbytes: int  # that each lane accesses
    block: tuple[int, ...]  # index of the warp's block, x first
    warp: int  # its number there
    addresses: tuple[int | None, ...]  # of each lane; None for a lane that takes no part

    @property
    def is_matrix(self) -> bool:
        """True for ``ldmatrix`` and ``stmatrix``, where each lane addresses a row of an 8×8 matrix."""
        return effect_of(tuple(self.opcode.split("."))).kind == "matrix move"

    @property
    def words(self) -> int:
        """Neighbouring banks that each lane accesses, and parts of the warp that are served one after another."""
        return max(1, self.nbytes // _WORD)

    @property
    def cost(self) -> int:
        """The passes that it takes."""
        return sum(passes(touches(self)).values())

    def pictures(self) -> Iterator[Picture]:
        """Yield the lanes by bank and pass, with a mark on lanes that a conflict delays."""
        served, words = touches(self), self.words
        counts = passes(served)
        name = "matrix" if self.is_matrix else _PARTS[words]
        first = dict(zip(counts, accumulate(counts.values(), initial=0), strict=False))
        rows = sorted({touch.banks for touch in served})
        cells = {
            (rows.index(touch.banks), first[touch.part] + touch.turn): Cell(
                lanes_text(touch.lanes), touch.part, touch.turn > 0
            )
            for touch in served
        }
        yield Picture(
            f"{self.opcode}: banks of each lane of {warp_text(self.warp, self.block)}, by pass",
            tuple(_banks([bank], words) for bank in rows),
            tuple(str(turn + 1) for count in counts.values() for turn in range(count)),
            cells,
            tuple(_notes(served, words)),
            tuple((f"{name} {part}", count) for part, count in counts.items()) if name else (),
            "pass",
        )


class Touch(NamedTuple):
    """An access of some lanes to the same words in neighbouring banks."""

    part: int  # number of the part of the warp
    banks: int  # the first of the banks
    turn: int  # how many others of its part use the same banks before
    lanes: tuple[int, ...]


def touches(access: WarpAccess) -> list[Touch]:
    """Return the touches of an access in the order in which they are served.

    The rules are those of :func:`~mmcore_emulator.profiler.coalescing.wavefronts` and
    :func:`~mmcore_emulator.profiler.coalescing.matrix_wavefronts`.
    """
    words = access.words
    lanes_of: list[dict[int, list[int]]] = [{} for _ in range(words)]
    for lane, address in enumerate(access.addresses):
        if address is not None:
            lanes_of[lane * words // WARP].setdefault(address // (words * _WORD), []).append(lane)
    if not access.is_matrix:
        for first, second in zip(lanes_of[::2], lanes_of[1::2], strict=False):
            if first.keys() == second.keys():
                for place in first:
                    first[place] += second.pop(place)
    served = []
    for part, places in enumerate(lanes_of):
        turns: Counter[int] = Counter()
        for place, lanes in places.items():
            banks = place * words % BANKS
            served.append(Touch(part, banks, turns[banks], tuple(lanes)))
            turns[banks] += 1
    return served


def passes(served: Iterable[Touch]) -> dict[int, int]:
    """Return how many passes each part takes."""
    most: dict[int, int] = {}
    for touch in served:
        most[touch.part] = max(most.get(touch.part, 0), touch.turn + 1)
    return most


def _notes(served: list[Touch], words: int) -> Iterator[str]:
    touched, counts = {touch.banks for touch in served}, passes(served)
    wavefronts, conflicts = sum(counts.values()), sum(counts.values()) - len(counts)
    if silent := [bank for bank in range(0, BANKS, words) if bank not in touched]:
        yield f"No lane touches {_banks(silent, words)}."
    if any(len(touch.lanes) > 1 for touch in served):
        yield MANY_LANES
    if conflicts:
        yield f"{wavefronts} wavefronts, {conflicts} by conflicts: marked lanes wait for others in their banks."
    else:
        yield f"{wavefronts} wavefront{'' if wavefronts == 1 else 's'}, no conflicts."


def _banks(firsts: list[int], words: int) -> str:
    """Return groups of ``words`` banks by their first banks, neighbours together: "banks 4-31"."""
    ranges = []
    for _, run in groupby(enumerate(firsts), lambda item: item[1] - words * item[0]):
        banks = [first for _, first in run]
        last = banks[-1] + words - 1
        ranges.append(f"{banks[0]}-{last}" if last > banks[0] else str(last))
    return f"bank{'' if ranges == [str(firsts[0])] else 's'} {', '.join(ranges)}"


@dataclass(frozen=True)
class Box:
    """A box of a tensor that a bulk copy brings to shared memory, or takes from there."""

    opcode: str  # of the instruction
    address: int  # in shared memory
    rows: int  # of the box, all but the fastest axis together
    row_bytes: int
    swizzle: int  # bytes in which 16-byte chunks change places; 0 for none

    def pictures(self) -> Iterator[Picture]:
        """Yield the places of the chunks of the box's first KiB."""
        offsets = np.arange(0, min(_TOGETHER * _LINE, self.rows * self.row_bytes), CHUNK)
        places = swizzled((self.address + offsets).astype(np.uint64), self.swizzle).astype(np.int64)
        rows, chunks = offsets // self.row_bytes, offsets % self.row_bytes // CHUNK
        swizzle = f"swizzled by {self.swizzle} bytes" if self.swizzle else "not swizzled"
        yield _picture_of_chunks(
            f"{self.opcode}: where a box's chunks lie in shared memory, {swizzle}",
            list(zip(places.tolist(), rows.tolist(), chunks.tolist(), strict=True)),
            f"The box has {self.rows} rows of {self.row_bytes} bytes.",
        )


@dataclass(frozen=True)
class Operand:
    """A matrix in shared memory that ``wgmma`` multiplies."""

    opcode: str  # of the instruction
    matrix: str  # "A" or "B"
    rows: int  # in memory: rows of A, columns of B, or those along k of a matrix that is stored so
    chunks: tuple[tuple[int, ...], ...]  # addresses of the 16-byte chunks of the first of these rows
    layout: str  # what the descriptor says, in words

    def pictures(self) -> Iterator[Picture]:
        """Yield the places of the chunks of the matrix's first rows."""
        yield _picture_of_chunks(
            f"{self.matrix} of {self.opcode}: where its chunks lie in shared memory, {self.layout}",
            [(place, row, chunk) for row, line in enumerate(self.chunks) for chunk, place in enumerate(line)],
            f"The matrix has {self.rows} rows of {len(self.chunks[0])} chunks.",
        )


def _picture_of_chunks(title: str, chunks: list[tuple[int, int, int]], size: str) -> Picture:
    """Return a picture of chunks, each given by its address, row and number; a row of cells is a line of all banks."""
    lines = sorted({place // _LINE for place, _, _ in chunks})
    cells = {
        (lines.index(place // _LINE), place % _LINE // CHUNK): Cell(f"r{row} c{chunk}", chunk)
        for place, row, chunk in chunks
    }
    notes = [f"r2 c1: 16 bytes, chunk 1 of row 2. {size}"]
    column = Counter(place % _LINE for place, row, chunk in chunks if chunk == 0 and row < _TOGETHER)
    if column.total() == _TOGETHER:
        turns = max(column.values())
        cost = "a pass: each has banks of its own" if turns == 1 else f"{turns} passes, {turns - 1} by conflicts"
        notes.append(f"Chunk 0 of the first eight rows, which are read together, takes {cost}.")
    return Picture(
        title,
        tuple(f"{line * _LINE:#x}" for line in lines),
        tuple(f"{bank}-{bank + 3}" for bank in range(0, BANKS, 4)),
        cells,
        tuple(notes),
        corner="banks",
    )

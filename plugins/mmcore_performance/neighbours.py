"""The loads of a thread that could be wider, found in the addresses of a basic block's instructions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from mmcore_emulator.ptx.instructions import Address, Block, Instruction, Scalar

WIDEST = 16
"""Bytes that a thread can load or store at a time."""
_SEVERAL = 4  # loads from one base from which they are worth another layout
_WIDE, _WORD = (16, 8), 4  # bytes of joined loads and of the elements that are joined
_OTHERS = frozenset(("v2", "v4", "v8", "volatile"))


class Part(NamedTuple):
    """The part of a load in a wider one: bytes from the wider one's address, and bytes of the wider one."""

    offset: int
    width: int


def joined_loads(blocks: Iterable[Block]) -> Iterator[tuple[Instruction, Part]]:
    """Yield the loads of a thread from shared memory that the assembler joins, if the wider ones are aligned."""
    for _, loads in _loads(blocks, "shared"):
        for offset, at in loads.items():
            each = _nbytes(at)
            for width in (wide for wide in _WIDE if wide > each >= _WORD):
                first = offset - offset % width
                if all(neighbour in loads for neighbour in range(first, first + width, each)):
                    yield at, Part(offset - first, width)
                    break


def narrow_loads(blocks: Sequence[Block]) -> Iterator[Instruction]:
    """Yield the loads of a thread, several in a basic block from one base address, that stay narrow.

    The assembler joins no loads from global memory, where it cannot know that the first one is aligned. Loads from
    shared memory that are not of neighbours could be if the elements had other places.
    """
    for run in (run for _, loads in _loads(blocks, "global") for run in _runs(loads)):
        if len(run) * _nbytes(run[0]) >= WIDEST:
            yield from run
    joined = {id(at) for at, _ in joined_loads(blocks)}
    for _, loads in _loads(blocks, "shared"):
        if len(loads) >= _SEVERAL:
            yield from (at for at in loads.values() if id(at) not in joined)


def _loads(blocks: Iterable[Block], space: str) -> Iterator[tuple[Scalar, dict[int, Instruction]]]:
    """Yield the base addresses of each basic block's loads of single elements, with the loads by offset."""
    for block in blocks:
        bases = defaultdict[Scalar, dict[int, Instruction]](dict)
        for at in block.instructions:
            address = at.operands[1] if len(at.operands) > 1 else None
            single = at.opcode[0] == "ld" and space in at.opcode and not _OTHERS & {*at.opcode}
            if single and isinstance(address, Address):
                bases[address.base][address.offset] = at
        yield from bases.items()


def _runs(loads: dict[int, Instruction]) -> list[list[Instruction]]:
    """Return loads as runs of neighbours."""
    runs: list[list[Instruction]] = []
    end = None
    for offset in sorted(loads):
        if offset != end:
            runs.append([])
        runs[-1].append(loads[offset])
        end = offset + _nbytes(loads[offset])
    return runs


def _nbytes(at: Instruction) -> int:
    """Return the bytes of an instruction's element."""
    return int(re.sub(r"\D", "", at.opcode[-1]) or 8) // 8

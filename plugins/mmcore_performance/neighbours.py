"""The loads of a thread that could be wider, found in the addresses of a basic block's instructions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from mmcore_emulator.ptx.instructions import Address, Block, Instruction, Scalar

WIDEST = 16
"""Bytes that a thread can load or store at a time."""
_SEVERAL = 4  # loads from one base from which they are worth another layout
_OTHERS = frozenset(("v2", "v4", "v8", "volatile"))


def narrow_loads(blocks: Sequence[Block]) -> Iterator[Instruction]:
    """Yield the loads of a thread, several in a basic block from one base address, that stay narrow unless joined.

    The assembler joins no loads from global memory, where it cannot know that the first one is aligned. Loads from
    shared memory that are not of neighbours could be if the elements had other places.
    """
    for run in (run for _, loads in _loads(blocks, "global") for run in _runs(loads)):
        if len(run) * _nbytes(run[0]) >= WIDEST:
            yield from run
    for _, loads in _loads(blocks, "shared"):
        if len(loads) >= _SEVERAL:
            yield from loads.values()


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

"""The loads of a thread that could be wider, found in the addresses of a basic block's instructions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from mmcore_emulator.ptx.instructions import Address, Block, Instruction, Scalar

WIDEST = 16
"""Bytes that a thread can load or store at a time."""
_SEVERAL = 4  # loads from one base from which they are worth another layout
_VECTORS = frozenset(("v2", "v4", "v8"))
_SPACES = ("global", "shared")


def narrow_loads(blocks: Iterable[Block]) -> Iterator[Instruction]:
    """Yield the loads of a thread, several in a basic block from one base address, that stay narrow.

    The assembler joins loads of neighbours in shared memory, not in global memory, where it cannot know that the
    first one is aligned. Loads that are not of neighbours could be if the elements had other places.
    """
    for block in blocks:
        bases = defaultdict[tuple[str, Scalar], dict[int, Instruction]](dict)
        for at in block.instructions:
            address = at.operands[1] if len(at.operands) > 1 else None
            if at.opcode[0] == "ld" and isinstance(address, Address) and not _VECTORS & {*at.opcode}:
                space = next((space for space in _SPACES if space in at.opcode), "")
                bases[space, address.base][address.offset] = at
        for (space, _), loads in bases.items():
            if space and len(loads) >= _SEVERAL:
                yield from _narrow(loads, space)


def _narrow(loads: dict[int, Instruction], space: str) -> Iterator[Instruction]:
    """Yield the loads of runs of neighbours that fill 16 bytes in global memory, and do not in shared memory."""
    for run in _runs(sorted(loads), _nbytes(next(iter(loads.values())))):
        fills = len(run) * _nbytes(loads[run[0]]) >= WIDEST
        if fills == (space == "global"):
            yield from (loads[offset] for offset in run)


def _runs(offsets: list[int], step: int) -> list[list[int]]:
    """Return offsets as runs of neighbours."""
    runs: list[list[int]] = []
    for offset in offsets:
        if runs and offset - runs[-1][-1] <= step:
            runs[-1].append(offset)
        else:
            runs.append([offset])
    return runs


def _nbytes(at: Instruction) -> int:
    """Return the bytes of an instruction's element."""
    return int(re.sub(r"\D", "", at.opcode[-1]) or 8) // 8

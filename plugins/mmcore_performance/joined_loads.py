"""The loads from shared memory that the assembler joins: neighbouring words of a thread become one wider load.

PTX has a load for each word. ptxas makes one load of 4, 8 or 16 bytes of several from neighbouring addresses. They are
in one basic block, nothing is stored between them, and the first address is a multiple of the width.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from mmcore_emulator.isa.table import destinations, effect
from mmcore_emulator.machine.observer import Access
from mmcore_emulator.ptx.instructions import Address, Block, Instruction

_WIDTHS = (16, 8, 4)
_BITS = 8
_LEAST_BYTES = 2
_STORING = frozenset(("store", "remote store", "atomic", "copy", "bulk copy", "matrix move", "fragment move"))


class Joined(NamedTuple):
    """The place of a load in the wider load that it becomes part of.

    Attributes:
        offset: bytes from the wider load's address to its own.
        width: bytes of the wider load.
    """

    offset: int
    width: int

    def is_aligned(self, access: Access) -> bool:
        """Return whether the wider load's address is a multiple of its width in all threads of an access."""
        first = access.address - np.uint64(self.offset)
        active = True if access.mask is None else access.mask.over(first.shape)
        return not (first % np.uint64(self.width)).any(where=active)


def joined_loads(blocks: Iterable[Block]) -> dict[int, Joined]:
    """Return the places of the loads that can be joined in basic blocks, by the instruction's id."""
    return {key: place for block in blocks for run in _runs(block) for key, place in _joined(run)}


def _runs(block: Block) -> Iterator[list[tuple[int, int, int]]]:
    """Yield loads from one base without a store between them: id, offset and bytes, in the order of offsets."""
    runs: dict[object, list[tuple[int, int, int]]] = {}
    for at in block.instructions:
        if effect(at).kind in _STORING:
            yield from map(_ordered, runs.values())
            runs = {}
        elif (nbytes := _loaded_bytes(at)) and isinstance(address := at.operands[1], Address):
            runs.setdefault(address.base, []).append((id(at), address.offset, nbytes))
        for register in destinations(at):
            if register in runs:
                yield _ordered(runs.pop(register))
    yield from map(_ordered, runs.values())


def _ordered(run: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    return sorted(run, key=lambda load: load[1])


def _loaded_bytes(at: Instruction) -> int:
    """Return the bytes that a thread loads from shared memory by an instruction that can be joined; else 0."""
    if at.guard is not None or at.opcode[:2] != ("ld", "shared") or effect(at).strong:
        return 0
    element = int(at.opcode[-1].lstrip("bfsu")) // _BITS
    parts = next((int(part[1:]) for part in at.opcode if part in ("v2", "v4")), 1)
    return element * parts if element >= _LEAST_BYTES else 0


def _joined(run: list[tuple[int, int, int]]) -> Iterator[tuple[int, Joined]]:
    """Yield the places of loads that fill a wider one without gaps, the widest first."""
    rest = run
    for width in _WIDTHS:
        windows: dict[int, list[tuple[int, int, int]]] = {}
        for load in rest:
            windows.setdefault(load[1] // width, []).append(load)
        full = {
            window
            for window, loads in windows.items()
            if len(loads) > 1
            and {byte for _, offset, nbytes in loads for byte in range(offset, offset + nbytes)}
            == {*range(window * width, (window + 1) * width)}
        }
        for window in full:
            yield from ((key, Joined(offset - window * width, width)) for key, offset, _ in windows[window])
        rest = [load for load in rest if load[1] // width not in full]

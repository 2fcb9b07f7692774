"""An observer that counts a launch and records the first warp's accesses of each instruction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np

from mmcore_emulator.explain.banks import Box, Operand, WarpAccess
from mmcore_emulator.explain.fragments import Held, has_pictures
from mmcore_emulator.explain.sectors import GlobalAccess
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, Event, Issued, Transfer
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.memory.arrays import CopiedMemory
from mmcore_emulator.machine.observer import Access, BulkTransfer
from mmcore_emulator.numerics.types import Flags, Values
from mmcore_emulator.profiler.by_line import OTHERS, Counting, line_of
from mmcore_emulator.profiler.coalescing import by_warp
from mmcore_emulator.profiler.counters import Line
from mmcore_emulator.ptx.instructions import Block

_ROWS = 8  # of an operand, which are read together
# The bits of an address inside a block; the emulator keeps the array's number in the other bits.
_IN_BLOCK = (1 << CopiedMemory.range_bits - 1) - 1

Sight: TypeAlias = Held | WarpAccess | GlobalAccess | Box | Operand
_ORDER = (Held, WarpAccess, GlobalAccess, Box, Operand)


class AccessRecorder(Counting):
    """An observer that counts and records one launch."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(blocks)
        self._recorded: dict[Line, dict[Hashable, Sight]] = defaultdict(dict)
        # One execution of a basic block, and the first of these for each instruction: only that is recorded.
        self._visit = object()
        self._first_visits: dict[Hashable, object] = {}
        self._entered: set[int] = set()

    @property
    def sights(self) -> dict[Line, list[Sight]]:
        """Per line its matrices, each opcode's access with the highest cost, its boxes and its operands."""
        recorded = self._recorded.items()
        return {line: sorted(sights.values(), key=lambda sight: _ORDER.index(type(sight))) for line, sights in recorded}

    def enter(self, block: Block, mask: Mask | None) -> None:
        super().enter(block, mask)
        self._visit = object()
        if id(block) not in self._entered:
            self._entered.add(id(block))
            for at in block.instructions:
                if has_pictures(at.mnemonic):
                    held = Held(at.mnemonic, effect(at).step == "product" and isinstance(at.operands[1], tuple))
                    self._recorded[line_of(at)][held] = held

    def access(self, access: Access) -> None:
        super().access(access)
        drawn = access.space == "global" or (access.space == "shared" and access.kind != "atomic")
        if drawn and effect(access.at).kind not in OTHERS:
            self._record(access)

    def copy(self, read: Access, written: Access) -> None:
        super().copy(read, written)
        for access in (read, written):
            self._record(access)

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        super().bulk_copy(transfer)
        at, layout = transfer.at, transfer.layout
        if layout is not None:
            row_bytes = layout.box[0] * layout.itemsize
            address = int(transfer.shared[0]) & _IN_BLOCK
            box = Box(at.mnemonic, address, layout.nbytes // row_bytes, row_bytes, layout.swizzle)
            self._recorded[line_of(at)].setdefault((Box, at.mnemonic), box)

    def event(self, event: Event) -> None:
        super().event(event)
        if isinstance(event, Issued) and effect(event.transfer.at).kind == "warpgroup":
            self._record_operand(event.transfer)

    def _is_first_visit(self, instruction: Hashable) -> bool:
        return self._first_visits.setdefault(instruction, self._visit) is self._visit

    def _record_operand(self, transfer: Transfer) -> None:
        """Record the operands of each opcode's first instruction: A, unless it is in registers, and B."""
        at, (rows, chunks) = transfer.at, transfer.shape
        recorded = self._recorded[line_of(at)]
        matrices = "B" if isinstance(at.operands[1], tuple) else "AB"
        missing = [matrix for matrix in matrices if (at.mnemonic, matrix) not in recorded]
        if self._is_first_visit((line_of(at), at.mnemonic)) and missing:
            addresses = transfer.words[0].reshape(rows, chunks, -1)[:_ROWS, :, 0] * 4 % BLOCK_BYTES
            operand = Operand(at.mnemonic, missing[0], rows, tuple(map(tuple, addresses.tolist())), transfer.layout)
            recorded[at.mnemonic, missing[0]] = operand

    def _record(self, access: Access) -> None:
        at = access.at
        of_warp = self._of_first_warp(access) if self._is_first_visit((id(at), access.space)) else None
        if of_warp is not None:
            key = type(of_warp), at.mnemonic
            worst = self._recorded[line_of(at)].setdefault(key, of_warp)
            if isinstance(worst, WarpAccess | GlobalAccess) and of_warp.cost > worst.cost:
                self._recorded[line_of(at)][key] = of_warp

    def _of_first_warp(self, access: Access) -> WarpAccess | GlobalAccess | None:
        """Return the access of the first warp with an active lane."""
        batch, lanes = self._batch, (1,) * 6 if access.mask is None else access.mask.lanes.shape
        address, active, _ = by_warp(batch, access.address, access.mask)
        rows = np.flatnonzero(active.any(axis=1))
        if not rows.size:
            return None
        block, warp = divmod(int(rows[0]), -(-batch.block.size // WARP))
        z, y, x = np.unravel_index(block, np.broadcast_shapes(access.address.shape, lanes)[::2])
        index = batch.first.x + int(x), batch.first.y + int(y), batch.first.z + int(z)
        row, takes_part, opcode = address[rows[0]], active[rows[0]], access.at.mnemonic
        if access.space == "global":
            array = access.memory.at(int(row[takes_part].min()))
            if array is None:
                return None
            offsets = _places(row.astype(np.int64) - array.base, takes_part)
            return GlobalAccess(opcode, access.nbytes, index, warp, array.name or array.label, offsets)
        return WarpAccess(opcode, access.nbytes, index, warp, _places(row & np.uint64(_IN_BLOCK), takes_part))


def _places(row: Values, takes_part: Flags) -> tuple[int | None, ...]:
    """Return the place of each lane, None for a lane that takes no part."""
    return tuple(place if taken else None for place, taken in zip(row.tolist(), takes_part, strict=True))

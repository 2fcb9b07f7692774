"""An observer that counts a launch and records the first warp's accesses of each instruction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TypeAlias

import numpy as np

from mmcore_emulator.explain.banks import Box, Operand, WarpAccess
from mmcore_emulator.explain.fragments import Held, has_pictures
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, Event, Issued, Transfer
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.memory.arrays import CopiedMemory
from mmcore_emulator.machine.observer import Access, BulkTransfer
from mmcore_emulator.profiler.by_line import OTHERS, Counting, line_of
from mmcore_emulator.profiler.coalescing import by_warp
from mmcore_emulator.profiler.counters import Line
from mmcore_emulator.ptx.instructions import Block

_ROWS = 8  # of an operand, which are read together
# The bits of an address inside a block; the emulator keeps the array's number in the other bits.
_IN_BLOCK = (1 << CopiedMemory.range_bits - 1) - 1

Sight: TypeAlias = Held | WarpAccess | Box | Operand
_ORDER = (Held, WarpAccess, Box, Operand)


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
        """Per line its matrices, each opcode's access with the most wavefronts, its boxes and its operands."""
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
        if access.space == "shared" and access.kind != "atomic" and effect(access.at).kind not in OTHERS:
            self._record(access)

    def copy(self, read: Access, written: Access) -> None:
        super().copy(read, written)
        self._record(written)

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
        warp_access = self._of_first_warp(access) if self._is_first_visit(id(at)) else None
        if warp_access is not None:
            worst = self._recorded[line_of(at)].setdefault((WarpAccess, at.mnemonic), warp_access)
            if isinstance(worst, WarpAccess) and warp_access.wavefronts > worst.wavefronts:
                self._recorded[line_of(at)][WarpAccess, at.mnemonic] = warp_access

    def _of_first_warp(self, access: Access) -> WarpAccess | None:
        """Return the access of the first warp with an active lane."""
        batch, lanes = self._batch, (1,) * 6 if access.mask is None else access.mask.lanes.shape
        address, active, _ = by_warp(batch, access.address, access.mask)
        rows = np.flatnonzero(active.any(axis=1))
        if not rows.size:
            return None
        block, warp = divmod(int(rows[0]), -(-batch.block.size // WARP))
        z, y, x = np.unravel_index(block, np.broadcast_shapes(access.address.shape, lanes)[::2])
        index = batch.first.x + int(x), batch.first.y + int(y), batch.first.z + int(z)
        addresses = zip((address[rows[0]] & np.uint64(_IN_BLOCK)).tolist(), active[rows[0]], strict=True)
        places = tuple(place if takes_part else None for place, takes_part in addresses)
        return WarpAccess(access.at.mnemonic, access.nbytes, index, warp, places)

"""An observer that counts, and notes what the first warp does that executes each instruction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from mmcore_emulator.explain.banks import Box, Operand, WarpAccess
from mmcore_emulator.explain.fragments import Held, has_pictures
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.accesses import Access, BulkTransfer
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, Event, Issued, Transfer
from mmcore_emulator.machine.lanes import WARP, Batch, Mask
from mmcore_emulator.machine.memory.arrays import CopiedMemory
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.profiler.by_line import OTHERS, Counting, line_of
from mmcore_emulator.profiler.coalescing import by_warp
from mmcore_emulator.profiler.counters import Line
from mmcore_emulator.ptx.blocks import Block

_LINES = 8  # of an operand: those that are read together

Sight: TypeAlias = Held | WarpAccess | Box | Operand


class AccessRecorder(Counting):
    """Counts, and looks; one for each launch."""

    _batch: Batch

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(blocks)
        self._held: dict[Line, list[Held]] = defaultdict(list)
        self._entered: set[int] = set()
        # Of each instruction, which visit of its basic block was the first: only that is looked at.
        self._visits: dict[int, object] = {}
        self._visit = object()
        self._accesses: dict[Line, dict[str, WarpAccess]] = defaultdict(dict)
        self._boxes: dict[Line, dict[str, Box]] = defaultdict(dict)
        self._operands: dict[Line, dict[str, tuple[object, list[Operand]]]] = defaultdict(dict)

    @property
    def sights(self) -> dict[Line, list[Sight]]:
        """What was seen of each line: matrices, of each opcode the access of most passes, boxes and operands."""
        found: dict[Line, list[Sight]] = defaultdict(list)
        for line, held in self._held.items():
            found[line] += held
        for line, accesses in self._accesses.items():
            found[line] += accesses.values()
        for line, boxes in self._boxes.items():
            found[line] += boxes.values()
        for line, operands in self._operands.items():
            found[line] += [each for _, several in operands.values() for each in several]
        return found

    def begin(self, batch: Batch) -> Observer:
        own = super().begin(batch)
        assert isinstance(own, AccessRecorder)
        own._batch = batch
        return own

    def enter(self, block: Block, mask: Mask | None) -> None:
        super().enter(block, mask)
        self._visit = object()
        if id(block) not in self._entered:
            self._entered.add(id(block))
            for at in block.instructions:
                held = Held(at.mnemonic, effect(at).step == "product" and isinstance(at.operands[1], tuple))
                if has_pictures(at.mnemonic) and held not in self._held[line_of(at)]:
                    self._held[line_of(at)].append(held)

    def access(self, access: Access) -> None:
        super().access(access)
        if access.space == "shared" and access.kind != "atomic" and effect(access.at).kind not in OTHERS:
            self._look(access)

    def copy(self, read: Access, written: Access) -> None:
        super().copy(read, written)
        self._look(written)

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        super().bulk_copy(transfer)
        at, layout = transfer.at, transfer.layout
        if layout is not None and at.mnemonic not in self._boxes[line_of(at)]:
            row_bytes = layout.box[0] * layout.itemsize
            address = _in_block(int(transfer.shared[0]))
            box = Box(at.mnemonic, address, layout.nbytes // row_bytes, row_bytes, layout.swizzle)
            self._boxes[line_of(at)][at.mnemonic] = box

    def event(self, event: Event) -> None:
        super().event(event)
        if isinstance(event, Issued) and effect(event.transfer.at).kind == "warpgroup":
            self._look_at_operand(event.transfer)

    def _look_at_operand(self, transfer: Transfer) -> None:
        """Of each opcode the first instruction's operands: A, unless it is in registers, and B."""
        at, (lines, chunks) = transfer.at, transfer.shape
        visit, seen = self._operands[line_of(at)].setdefault(at.mnemonic, (self._visit, []))
        names = "B" if isinstance(at.operands[1], tuple) else "AB"
        if visit is self._visit and len(seen) < len(names):
            places = transfer.words[0].reshape(lines, chunks, -1)[:_LINES, :, 0] * 4 % BLOCK_BYTES
            shown = tuple(map(tuple, places.tolist()))
            seen.append(Operand(at.mnemonic, names[len(seen)], lines, shown, transfer.layout))

    def _look(self, access: Access) -> None:
        at = access.at
        if self._visits.setdefault(id(at), self._visit) is not self._visit:
            return
        seen = self._first_warp(access)
        of_line = self._accesses[line_of(at)]
        if seen is not None and (at.mnemonic not in of_line or seen.wavefronts > of_line[at.mnemonic].wavefronts):
            of_line[at.mnemonic] = seen

    def _first_warp(self, access: Access) -> WarpAccess | None:
        """What the first warp accesses that takes part."""
        address, active, _ = by_warp(self._batch, access.address, access.mask)
        taking = np.flatnonzero(active.any(axis=1))
        if not taking.size:
            return None
        row = int(taking[0])
        warps = -(-self._batch.block.size // WARP)
        lanes = np.ones((1,) * 6, np.bool_) if access.mask is None else access.mask.lanes
        z, y, x = np.broadcast_shapes(access.address.shape, lanes.shape)[::2]
        inside = np.unravel_index(row // warps, (z, y, x))
        first = self._batch.first
        block = tuple(int(begin + index) for begin, index in zip(first, inside[::-1], strict=True))
        addresses = tuple(
            _in_block(int(each)) if taken else None for each, taken in zip(address[row], active[row], strict=True)
        )
        return WarpAccess(access.at.mnemonic, access.nbytes, block, row % warps, addresses)


def _in_block(address: int) -> int:
    """Where an address in shared memory lies on a GPU; here arrays have ranges of their own, in their upper halves."""
    return address & ((1 << CopiedMemory.range_bits - 1) - 1)

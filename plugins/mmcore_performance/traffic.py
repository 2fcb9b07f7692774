"""An observer that counts, beside the profiler's counters, what the caches and the pipes of a multiprocessor see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mmcore_emulator.isa.matrix.products import product_of
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.asynchronous.events import Event
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.observer import Access, BulkTransfer
from mmcore_emulator.numerics.types import Flags, Integers
from mmcore_emulator.profiler.by_line import OTHERS, Counting
from mmcore_emulator.profiler.coalescing import Active, Patterns, Rows, requests, wavefronts
from mmcore_emulator.ptx.instructions import Block, Instruction
from mmcore_performance.cache_passes import cache_passes
from mmcore_performance.critical_path import critical_path
from mmcore_performance.joined_loads import Joined, joined_loads
from mmcore_performance.overlap import OverlapRecorder, Overlaps, Steps
from mmcore_performance.rates import SLOW, class_of

_SECTOR_BITS = 5
_NOWHERE = np.uint64(2**64 - 1)
_FREE = frozenset(("mov", "cvta", "nop"))  # which the assembler folds into other instructions
_FLOATS = {"f64": "double", "f32": "float", "f16": "half", "f16x2": "half", "bf16": "half", "bf16x2": "half"}
_MEMORY = frozenset(("ld", "ldu", "st", "atom", "red", "ldmatrix", "stmatrix", "cp", "wmma"))
_CONTROL = frozenset(("bra", "brx", "ret", "exit", "bar", "barrier", "call", "mbarrier", "fence", "membar"))


class CacheCounting(Counting):
    """An observer of one launch that also counts instructions by class, cache lines and each block's own sectors.

    Attributes:
        mix: instructions of warps by class: "float", "double", "half", "integer", "convert", "memory", "control",
            "tensor" and "free"; loads that the assembler joins are one. The slow ones of "integer" and "convert" also
            count as "divide32", "divide64" and "convert64".
        passes: passes of global accesses through the L1 cache by kind of access, as of :func:`cache_passes`. "joined"
            are the passes over shared memory that are saved by loads that the assembler joins.
        waits: waits of warps by kind, along the longest chain of each basic block (:mod:`critical_path`). Of blocks:
            "copies" by cp.async, and "bulk_copies" that begin after a product; of warps: "overlapped" operations of
            multiplication, while copies are under way, and those "alone".
    """

    _copies: OverlapRecorder

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(blocks)
        self.mix: Counter[str] = Counter()
        self.passes: Counter[str] = Counter()
        self._classes = {id(block): _classes(block) for block in blocks}
        self._waits: Counter[str] = Counter()
        self._steps, self._overlaps = Steps(blocks), Overlaps()
        self._chains = {id(block): critical_path(block) for block in blocks}
        self._joins = joined_loads(blocks)
        self._lines, self._shared = Patterns(_global_passes), Patterns(_shared_passes)
        # By kind of access and array: a flag for each block of the grid and each sector.
        self._touched: dict[tuple[str, int], Flags] = {}
        self._sending: set[int] = set()  # blocks that issue bulk copies

    @property
    def distinct(self) -> dict[str, int]:
        """Sectors that blocks touch by kind of access, each counted once for a block."""
        sums: Counter[str] = Counter()
        for (kind, _), flags in self._touched.items():
            sums[kind] += int(flags.sum())
        return dict(sums)

    @property
    def waits(self) -> dict[str, float]:
        overlaps = self._overlaps
        bulk = sum(phases for at, phases in overlaps.phases.items() if effect(at).kind == "bulk copy")
        copies = {"copies": overlaps.awaited, "bulk_copies": bulk}
        return {**self._waits, **copies, "overlapped": overlaps.overlapped, "alone": overlaps.alone}

    @property
    def working(self) -> int:
        """Blocks that copy or store; the others are idle, though they may look for work."""
        grids = [flags.any(axis=1) for (kind, _), flags in self._touched.items() if kind != "load"]
        return len(self._sending.union(*(np.flatnonzero(flags).tolist() for flags in grids)))

    def begin(self, batch: Batch) -> CacheCounting:
        observer = super().begin(batch)
        observer._copies = OverlapRecorder(self._steps, self._overlaps, batch.extent.size)
        return observer

    def enter(self, block: Block, mask: Mask | None) -> None:
        super().enter(block, mask)
        warps = self._patterns.extent(self._batch, mask).warps
        for name, count in self._classes[id(block)].items():
            self.mix[name] += warps * count
        for name, count in self._chains[id(block)].items():
            self._waits[name] += warps * count
        self._copies.enter(block, warps)

    def event(self, event: Event) -> None:
        super().event(event)
        self._copies.event(event)

    def access(self, access: Access) -> None:
        super().access(access)
        if access.space == "global" and effect(access.at).kind not in OTHERS:
            self._touch(access)
        elif access.space == "shared" and (place := self._joins.get(id(access.at))):
            self._join(access, place)

    def copy(self, read: Access, written: Access) -> None:
        super().copy(read, written)
        self._touch(read)

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        super().bulk_copy(transfer)
        z, _, y, _, x, _ = transfer.lanes.T
        self._sending.update(self._block_numbers()[z, 0, y, 0, x, 0].tolist())

    def _join(self, access: Access, place: Joined) -> None:
        """Count what a load saves that is part of a wider one: its passes, and the instruction unless it is the first.

        The threads' addresses show whether they are joined.
        """
        if not place.is_aligned(access):
            return
        passes, warps = self._shared.cost(self._batch, access)
        if place.offset:
            self.mix["memory"] -= warps
        else:
            passes -= self._shared.cost(self._batch, replace(access, nbytes=place.width))[0]
        self.passes["joined"] += passes

    def _touch(self, access: Access) -> None:
        self.passes[access.kind] += self._lines.cost(self._batch, access)
        batch = self._batch
        lanes = batch.spread(access.mask)
        address = np.broadcast_to(access.address, batch.shape)[lanes]
        array = access.memory.at(int(address.min(initial=_NOWHERE)))
        if array is None:
            return
        key, sectors = (access.kind, array.base), (array.readable >> _SECTOR_BITS) + 1
        if key not in self._touched:
            self._touched[key] = np.zeros((batch.grid.size, sectors), np.bool_)
        sector = (address - np.uint64(array.base)) >> np.uint64(_SECTOR_BITS)
        inside = sector < sectors
        blocks = np.broadcast_to(self._block_numbers(), batch.shape)[lanes]
        self._touched[key][blocks[inside], sector[inside]] = True

    def _block_numbers(self) -> Integers:
        """Return the number of each lane's block in the grid, as lanes."""
        first, extent, grid = self._batch.first, self._batch.extent, self._batch.grid
        z, y, x = (np.arange(at, at + n, dtype=np.int64) for at, n in zip(first[::-1], extent[::-1], strict=True))
        numbers = (z[:, None, None] * grid.y + y[:, None]) * grid.x + x
        return numbers.reshape(extent.z, 1, extent.y, 1, extent.x, 1)


def _classes(block: Block) -> Counter[str]:
    """Return the classes of a basic block's instructions, and those that take longer once more."""
    slow = [name for name in map(class_of, block.instructions) if name in SLOW]
    return Counter([*map(instruction_class, block.instructions), *slow])


def instruction_class(at: Instruction) -> str:
    """Return the class of an instruction, by the unit that executes it."""
    name = at.opcode[0]
    if name in _FREE:
        return "free"
    if product_of(at):
        return "tensor"
    if name == "cvt":
        return "convert"
    if name in _MEMORY:
        return "memory"
    if name in _CONTROL:
        return "control"
    return next((_FLOATS[part] for part in at.opcode[:0:-1] if part in _FLOATS), "integer")


def _shared_passes(access: Access, address: Rows, active: Active, times: int) -> tuple[int, int]:
    """Return the passes of an access over shared memory, and its warps."""
    return times * wavefronts(address, active, access.nbytes)[0], times * requests(active)


def _global_passes(access: Access, address: Rows, active: Active, times: int) -> int:
    """Return the passes of an access through the L1 cache."""
    return times * cache_passes(address, active, access.nbytes)

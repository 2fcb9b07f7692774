"""An observer that counts, beside the profiler's counters, what the caches and the pipes of a multiprocessor see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from mmcore_emulator.isa.matrix.products import product_of
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.observer import Access
from mmcore_emulator.numerics.types import Flags, Integers
from mmcore_emulator.profiler.by_line import OTHERS, Counting
from mmcore_emulator.profiler.coalescing import Active, Patterns, Rows
from mmcore_emulator.ptx.instructions import Block, Instruction

_SECTOR_BITS, _LINE_BITS = 5, 7
_NOWHERE = np.uint64(2**64 - 1)
_FREE = frozenset(("mov", "cvta", "nop"))  # which the assembler folds into other instructions
_FLOATS = {"f64": "double", "f32": "float", "f16": "half", "f16x2": "half", "bf16": "half", "bf16x2": "half"}
_MEMORY = frozenset(("ld", "ldu", "st", "atom", "red", "ldmatrix", "stmatrix", "cp", "wmma"))
_CONTROL = frozenset(("bra", "brx", "ret", "exit", "bar", "barrier", "call", "mbarrier", "fence", "membar"))


class CacheCounting(Counting):
    """An observer of one launch that also counts instructions by class, cache lines and each block's own sectors.

    Attributes:
        mix: instructions of warps by class: "float", "double", "half", "integer", "convert", "memory", "control",
            "tensor" and "free".
        passes: passes of global accesses through the L1 cache's data pipe: a warp's distinct lines of 128 bytes.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(blocks)
        self.mix: Counter[str] = Counter()
        self.passes: Counter[str] = Counter()
        self._classes = {id(block): Counter(map(instruction_class, block.instructions)) for block in blocks}
        self._lines = Patterns(_cache_lines)
        # By kind of access and array: a flag for each block of the grid and each sector.
        self._touched: dict[tuple[str, int], Flags] = {}

    @property
    def distinct(self) -> dict[str, int]:
        """Sectors that blocks touch by kind of access, each counted once for a block."""
        sums: Counter[str] = Counter()
        for (kind, _), flags in self._touched.items():
            sums[kind] += int(flags.sum())
        return dict(sums)

    @property
    def working(self) -> int:
        """Blocks whose threads access global memory; the others are idle, or use bulk copies alone."""
        grids = [flags.any(axis=1) for flags in self._touched.values()]
        return int(np.any(grids, axis=0).sum()) if grids else 0

    def enter(self, block: Block, mask: Mask | None) -> None:
        super().enter(block, mask)
        warps = self._patterns.extent(self._batch, mask).warps
        for name, count in self._classes[id(block)].items():
            self.mix[name] += warps * count

    def access(self, access: Access) -> None:
        super().access(access)
        if access.space == "global" and effect(access.at).kind not in OTHERS:
            self._touch(access)

    def copy(self, read: Access, written: Access) -> None:
        super().copy(read, written)
        self._touch(read)

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


def _cache_lines(access: Access, address: Rows, active: Active, times: int) -> int:
    """Return the distinct lines of 128 bytes that the warps of an access touch, summed."""
    lines = np.where(active, address >> np.uint64(_LINE_BITS), _NOWHERE)
    lines.sort(axis=1)
    fresh = np.ones(lines.shape, np.bool_)
    fresh[:, 1:] = lines[:, 1:] != lines[:, :-1]
    return times * int((fresh & (lines != _NOWHERE)).sum())

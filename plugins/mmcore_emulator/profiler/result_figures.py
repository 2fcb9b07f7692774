"""An observer that counts the figures of a result in every run, in little time beside the run itself.

Only some of many batches are counted: of each shape the first two and every eighth. If two of these differ, all later
ones are counted. There are no figures if uncounted batches came before, or executed another number of instructions.
"""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.observer import Access, BulkTransfer, Observer
from mmcore_emulator.profiler.by_line import OTHERS
from mmcore_emulator.profiler.coalescing import Active, Patterns, Rows, sectors, sectors_of_runs, shared_wavefronts
from mmcore_emulator.profiler.counters import SECTOR_BYTES, ratio
from mmcore_emulator.ptx.instructions import Block

# Launches with more patterns of accesses take longer to count than to run.
_MOST_PATTERNS = 500
_EVERY = 8
_COUNTED = ("global", "shared")
_Cost: TypeAlias = tuple[int, int]


class _BatchFigures(Observer):
    """An observer that counts one batch."""

    ignores = frozenset(("local", "param", "const"))

    def __init__(self, patterns: Patterns[_Cost], batch: Batch, number: int) -> None:
        self._patterns = patterns
        self._batch = batch
        self.number = number
        self.instructions = self.sectors = self.conflicts = 0

    def enter(self, block: Block, mask: Mask | None) -> None:
        self.instructions += len(block.instructions) * self._patterns.extent(self._batch, mask).warps

    def access(self, access: Access) -> None:
        if access.space in _COUNTED and effect(access.at).kind not in OTHERS:
            self._count(access)

    def copy(self, read: Access, written: Access) -> None:
        self._count(read)
        self._count(written)

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        self.sectors += sectors_of_runs(transfer.begin, transfer.nbytes)

    def _count(self, access: Access) -> None:
        if len(self._patterns) <= _MOST_PATTERNS:
            sectors, conflicts = self._patterns.cost(self._batch, access)
            self.sectors += sectors
            self.conflicts += conflicts


class Figures(Observer):
    """An observer that counts the warps' instructions, global sectors and bank conflicts of successive launches."""

    ignores = _BatchFigures.ignores

    def __init__(self) -> None:
        self._instructions = self._sectors = self._conflicts = 0
        self._given_up = False
        self._patterns = Patterns(_cost)
        self.begin_launch()

    def begin_launch(self) -> None:
        """Forget what batches did in the launch before."""
        # Thread instructions, warp instructions, sectors and bank conflicts of a batch, by its shape.
        self._counts: dict[tuple[int, ...], tuple[int, int, int, int]] = {}
        self._batches: Counter[tuple[int, ...]] = Counter()
        self._varied: set[tuple[int, ...]] = set()

    def begin(self, batch: Batch) -> Observer | None:
        number = self._batches[batch.shape]
        self._batches[batch.shape] += 1
        if self._given_up or not (number < 2 or number % _EVERY == 0 or batch.shape in self._varied):
            return None
        return _BatchFigures(self._patterns, batch, number)

    def ran(self, batch: Batch, thread_instructions: int, watcher: Observer | None) -> None:
        counts = self._counts.get(batch.shape, (0, 0, 0, 0))
        if isinstance(watcher, _BatchFigures):
            counts = (thread_instructions, watcher.instructions, watcher.sectors, watcher.conflicts)
            self._given_up |= len(self._patterns) > _MOST_PATTERNS
            if self._counts.setdefault(batch.shape, counts) != counts:
                # After the second batch, some have not been counted.
                self._given_up |= watcher.number > 1 and batch.shape not in self._varied
                self._varied.add(batch.shape)
        elif counts[0] != thread_instructions:
            self._given_up = True
        self._instructions += counts[1]
        self._sectors += counts[2]
        self._conflicts += counts[3]

    def of(self, useful: int) -> dict[str, float | None]:
        """Return the figures by name, of a product of ``useful`` floating-point operations."""
        figures = {
            "instructions": self._instructions,
            "global_sectors": self._sectors,
            "flop_per_byte": ratio(useful, SECTOR_BYTES * self._sectors),
            "bank_conflicts": self._conflicts,
        }
        return dict.fromkeys(figures) if self._given_up else figures


def _cost(access: Access, address: Rows, active: Active, times: int) -> _Cost:
    """Return the sectors and the bank conflicts of an access; the rows' blocks represent ``times`` blocks each."""
    if access.space == "global":
        return sectors(address, active) * times, 0
    conflicts = 0 if access.kind == "atomic" else shared_wavefronts(access, address, active)[1]
    return 0, conflicts * times

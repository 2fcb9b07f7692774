"""What every run on the emulator counts, as the figures of a result; it takes little time beside the run itself.

Of many batches that do the same only some are counted: of each shape the first two and every eighth. Where two of these
differ, all that come are counted, and if some have gone by uncounted, or executed another number of instructions, there
are no figures.
"""

from __future__ import annotations

from collections import Counter

from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.accesses import Access, BulkTransfer
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.profiler.coalescing import Active, Rows, sectors, sectors_of_runs
from mmcore_emulator.profiler.counters import SECTOR_BYTES, ratio
from mmcore_emulator.profiler.patterns import Patterns
from mmcore_emulator.ptx.blocks import Block

# Launches whose accesses follow more patterns than this take longer to count than to run.
_MOST_PATTERNS = 500
_EVERY = 8
_Shape = tuple[int, ...]
_Done = tuple[int, int, int]


_IGNORED = frozenset(("shared", "local", "param", "const"))


class _Batch(Observer):
    """Counts what one batch does."""

    ignores = _IGNORED

    def __init__(self, patterns: Patterns[int], number: int) -> None:
        self._patterns = patterns
        self.number = number
        self.instructions = self.sectors = 0

    def enter(self, block: Block, mask: Mask | None) -> None:
        self.instructions += len(block.instructions) * self._patterns.extent(mask).warps

    def access(self, access: Access) -> None:
        if access.space == "global" and effect(access.at).kind not in ("copy", "bulk copy"):
            self._count(access)

    def copy(self, read: Access, written: Access) -> None:
        self._count(read)

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        self.sectors += sectors_of_runs(transfer.begin, transfer.nbytes)

    def _count(self, access: Access) -> None:
        if len(self._patterns) <= _MOST_PATTERNS:
            self.sectors += self._patterns.cost(access)


class Figures(Observer):
    """Counts the warps' instructions and the global sectors of some launches, one after the other."""

    ignores = _IGNORED

    def __init__(self) -> None:
        self._total = (0, 0)
        self._given_up = False
        self._patterns = Patterns(_sectors)
        self.begin_launch()

    def begin_launch(self) -> None:
        """The batches that come do something else."""
        # What each batch of a shape does: instructions of threads, of warps, and sectors.
        self._done: dict[_Shape, _Done] = {}
        self._batches: Counter[_Shape] = Counter()
        self._varied: set[_Shape] = set()

    def begin(self, batch: Batch) -> Observer | None:
        number = self._batches[batch.shape]
        self._batches[batch.shape] += 1
        if self._given_up or not (number < 2 or number % _EVERY == 0 or batch.shape in self._varied):
            return None
        return _Batch(self._patterns.of(batch), number)

    def ran(self, batch: Batch, thread_instructions: int, own: Observer | None) -> None:
        done = self._done.get(batch.shape, (0, 0, 0))
        if isinstance(own, _Batch):
            done = (thread_instructions, own.instructions, own.sectors)
            self._given_up |= len(self._patterns) > _MOST_PATTERNS
            if self._done.setdefault(batch.shape, done) != done:
                # From the second on all are counted; later, some have gone by that nobody knows.
                self._given_up |= own.number > 1 and batch.shape not in self._varied
                self._varied.add(batch.shape)
        elif done[0] != thread_instructions:
            self._given_up = True
        self._total = (self._total[0] + done[1], self._total[1] + done[2])

    def of(self, useful: int) -> dict[str, float | None]:
        """The figures by name, of a product of so many useful floating-point operations."""
        if self._given_up:
            return dict.fromkeys(("instructions", "global_sectors", "flop_per_byte"))
        instructions, global_sectors = self._total
        return {
            "instructions": instructions,
            "global_sectors": global_sectors,
            "flop_per_byte": ratio(useful, SECTOR_BYTES * global_sectors),
        }


def _sectors(access: Access, address: Rows, active: Active, times: int) -> int:
    return sectors(address, active) * times

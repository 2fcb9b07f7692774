"""The sanitizer: an observer that looks for hazards in a launch."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from mmcore_emulator.executor.kernel_launch import place_in_source
from mmcore_emulator.executor.translation.layout import Layout
from mmcore_emulator.executor.translation.translate import Translation
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.lanes import THREAD_AXES, Batch, Mask
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.machine.observer import LaneViolation, Observer, Observers, always
from mmcore_emulator.machine.violations import Violation
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.ptx.instructions import Block, Instruction
from mmcore_emulator.sanitizer.accumulations import accumulating_stores
from mmcore_emulator.sanitizer.asynchronous.asynchrony import Asynchrony
from mmcore_emulator.sanitizer.asynchronous.wgmma_registers import RegisterUse, WgmmaHazards
from mmcore_emulator.sanitizer.early_accesses import EarlyAccesses
from mmcore_emulator.sanitizer.early_waits import EarlyWaits
from mmcore_emulator.sanitizer.happens_before.batch_clocks import BatchClocks
from mmcore_emulator.sanitizer.happens_before.numbering import InstructionNumbers
from mmcore_emulator.sanitizer.happens_before.vector_clocks import FlagReads, HappensBefore
from mmcore_emulator.sanitizer.loops import Loops
from mmcore_emulator.sanitizer.memory_hazards import MemoryHazards
from mmcore_emulator.sanitizer.recording import BatchRecorder, Record, Recorder, SharedReport, at_line
from mmcore_emulator.sanitizer.shadow import GlobalShadows
from mmcore_emulator.sanitizer.unwritten_reads import UnwrittenReads, are_followed

_MEANINGS = {
    "out-of-bounds-read": "a GPU would give it anything, or stop the launch",
    "out-of-bounds-write": "a GPU would destroy other data there, or stop the launch",
    "misaligned": "a GPU would stop the launch",
    "divergent-barrier": "on a GPU the block may hang, or continue too early",
    "deadlock": "on a GPU the launch would not end",
    "assertion": "a GPU would stop the launch",
    "trap": "a GPU would stop the launch",
    "illegal-branch": "a GPU may continue anywhere",
}
_SKIPPED = (
    "has ended, and does not reach the barrier that other threads of its block wait at; "
    "before compute capability 7.0 the others would wait for it"
)
_ASYNCHRONOUS = ("copy", "bulk copy", "warpgroup", "mbarrier", "cluster address")


class Checking(Observer):
    """An observer of a launch.

    Attributes:
        reads_flags: whether any thread reads flags that others write.
        early_reads: the arrays that may be read before the previous launch is over, in a launch that may begin before;
            None in other launches.
    """

    early_reads: Collection[Array] | None = None

    def __init__(self, shadows: GlobalShadows, recorder: Recorder, translation: Translation) -> None:
        instructions = [at for block in translation.blocks for at in block.instructions]
        self._loops = loops = Loops(translation.blocks)
        flag_reads = FlagReads(translation.blocks, loops.waiting_reads())
        self._recorder, self._order, self._layout = recorder, HappensBefore(), translation.layout
        numbers, accumulating = InstructionNumbers(), _accumulating(translation)
        self._memory_hazards = functools.partial(
            MemoryHazards, shadows, self._layout, flag_reads, loops, numbers, accumulating
        )
        self._followed = are_followed(instructions)
        self._most_threads = translation.most_threads
        self._asynchronous = any(effect(at).kind in _ASYNCHRONOUS for at in instructions)
        self._registers = RegisterUse(translation.blocks)
        self.reads_flags = flag_reads.any
        shadows.begin_launch()
        recorder.add(_misplaced(self._layout))

    def begin(self, batch: Batch) -> BatchHazards:
        waits, clocks = EarlyWaits(batch), BatchClocks(self._order, batch)
        recorder = BatchRecorder(batch, self._recorder, waits)
        record = recorder.record
        early = None if self.early_reads is None else EarlyAccesses(batch, self.early_reads, record)
        observers: list[Observer] = [BarrierHazards(clocks, record)]
        if self._asynchronous:
            report = SharedReport(clocks.numbers, self._layout, record)
            observers.append(Asynchrony(clocks, report, waits, self._loops))
        if not self._registers.idle:
            observers.append(WgmmaHazards(self._registers, clocks.numbers, record))
        unwritten = UnwrittenReads(followed=self._followed)
        missing = self._missing(batch.block.size)
        memory_hazards = self._memory_hazards(clocks, early, record, missing, unwritten)
        return BatchHazards([*observers, memory_hazards], recorder, unwritten)

    def _missing(self, threads: int) -> str:
        """Return a clause if a block has fewer threads than the source says, which may be why something is missing."""
        most = self._most_threads
        return f"; the block has {threads} threads, and __launch_bounds__ says {most}" if threads < (most or 0) else ""

    def ran(self, batch: Batch, thread_instructions: int, watcher: Observer | None) -> None:
        assert watcher is not None
        watcher.ran(batch, thread_instructions, watcher)


@functools.lru_cache(maxsize=16)
def _accumulating(translation: Translation) -> frozenset[int]:
    """Return the stores of a function that add to an element in place; its launches share them."""
    return accumulating_stores(translation.blocks)


class BatchHazards(Observers):
    """The observers of a batch of blocks, which report and record hazards."""

    def __init__(self, observers: Sequence[Observer], recorder: BatchRecorder, unwritten: UnwrittenReads) -> None:
        super().__init__(observers, recorder.record)
        self._recorder, self._unwritten = recorder, unwritten

    def violation(self, violation: LaneViolation) -> None:
        for each in self._unwritten.explained(violation):
            self._note(each)

    def unwritten(self, at: Instruction) -> Values | None:
        return self._unwritten.lanes(at)

    def _note(self, violation: LaneViolation) -> None:
        super().violation(violation)
        if meaning := _MEANINGS.get(violation.kind):
            violation = replace(
                violation, text=functools.partial(lambda text, lane: f"{text(lane)}; {meaning}", violation.text)
            )
        self._recorder.record(violation)

    def ran(self, batch: Batch, thread_instructions: int, watcher: Observer | None) -> None:
        for observer in self._observers:
            observer.ran(batch, thread_instructions, watcher)
        self._recorder.end()


class BarrierHazards(Observer):
    """An observer of barriers and fences of a batch, which advances its clocks."""

    def __init__(self, clocks: BatchClocks, record: Record) -> None:
        self._clocks, self._batch, self._record = clocks, clocks.numbers.batch, record

    def synchronise(self, left: Sequence[tuple[Block, Mask | None]], number: Values, count: Values) -> None:
        leaving = [(block, self._batch.spread(mask)) for block, mask in left]
        lanes = np.logical_or.reduce([each for _, each in leaving])
        self._clocks.barrier(lanes, number, count)
        # Threads at a barrier that counts them may wait at different lines.
        whole = [(block, each & (np.broadcast_to(count, lanes.shape) == 0)) for block, each in leaving]
        for block, waiting in whole:
            absent = ~lanes & waiting.any(axis=THREAD_AXES, keepdims=True)
            if absent.any():
                self._record(LaneViolation("skipped-barrier", None, block.end, absent, always(_SKIPPED)))
        for block, waiting in whole:
            for other, there in leaving:
                if place_in_source(block.end)[:2] == place_in_source(other.end)[:2]:
                    continue
                together = waiting & there.any(axis=THREAD_AXES, keepdims=True)
                if together.any():
                    text = f"reaches a barrier together with threads of its block that reach one{at_line(other.end)}"
                    self._record(LaneViolation("split-barrier", None, block.end, together, always(text)))

    def arrive(self, number: Values, mask: Mask | None) -> None:
        self._clocks.arrive(self._batch.spread(mask), number)

    def fence(self, scope: str, mask: Mask | None) -> None:
        self._clocks.fence(scope, self._batch.spread(mask))

    def meet(self, lanes: Values, named: Values) -> None:
        self._clocks.warp_barrier(lanes, named)

    def meet_cluster(self, left: Sequence[tuple[Block, Mask | None]], relaxed: Values) -> None:
        lanes = np.logical_or.reduce([self._batch.spread(mask) for _, mask in left])
        if not relaxed.any():
            self._clocks.fence("gpu", lanes)
            super().meet_cluster(left, relaxed)
        self._clocks.cluster_barrier(lanes, relaxed)


def _misplaced(layout: Layout) -> Iterator[Violation]:
    """Yield the shared arrays that do not have the alignment that they ask for."""
    for name, address, align in layout.misplaced:
        text = (
            f"{name} asks for an alignment of {align} bytes and is at {address:#x}: alignments count from "
            f"{layout.shared_begin:#x}, where a block's shared memory begins"
        )
        yield Violation("misplaced-array", text, name, count=1)

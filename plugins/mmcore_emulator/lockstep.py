"""One batch of blocks in lockstep: diverged threads apart, barriers together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from mmcore_emulator.barriers import Reduction
from mmcore_emulator.batch_memory import Ports
from mmcore_emulator.control_flow import EXIT
from mmcore_emulator.floats import Values
from mmcore_emulator.lanes import Batch, Mask
from mmcore_emulator.launch_run import Run
from mmcore_emulator.observer import LaneViolation, Observer
from mmcore_emulator.step import Step
from mmcore_emulator.warps import EVERY_LANE, Gathering, Warps


def execute(run: Run) -> None:
    """Run every block of a launch; raises TimeLimit where that is reached."""
    with np.errstate(all="ignore"):
        for batch in run.batches():
            before = run.thread_instructions
            watching = [observer for observer in run.observers if observer.wants(batch)]
            for observer in watching:
                observer.begin(batch)
            BatchRun(run, batch, watching).execute()
            for observer in watching:
                observer.end()
            for observer in run.observers:
                observer.ran(batch, run.thread_instructions - before)
            run.progress.done += batch.lanes


class BatchRun(Ports):
    """One batch of blocks."""

    def __init__(self, run: Run, batch: Batch, observers: Sequence[Observer]) -> None:
        super().__init__(run, batch, observers)
        self._registers = list(run.translation.registers)
        # Which lanes wait to enter which step; None stands for all lanes of the batch.
        self._ready: dict[int, Mask | None] = {0: None}
        self._at_barrier: dict[int, Mask | None] = {}
        # The mask that each lane names which waits at a barrier of its warp.
        self._named: Values = np.zeros((1,) * 6, np.uint32)
        # The predicate that each lane brings which waits at a barrier where threads find out something together.
        self._votes: Values = np.zeros((1,) * 6, np.bool_)

    def execute(self) -> None:
        """Run the batch to its end."""
        steps = self._run.translation.steps
        while True:
            while self._ready:
                # The first in order lets lanes that are behind catch up with those that wait further on.
                index = min(self._ready)
                self._step(steps[index], index, self._ready.pop(index))
            if not self._at_barrier:
                return
            self._release()

    def _step(self, step: Step, index: int, mask: Mask | None) -> None:
        for observer in self._observers:
            observer.enter(step, mask)
        block = step.block
        if time.monotonic() > self._run.deadline.end:
            lanes = np.array(True) if mask is None else mask.lanes
            self._run.stop(next(iter(block.body), block.end), self._batch, lanes)
        self._run.thread_instructions += step.instructions * (self._batch.lanes if mask is None else mask.count)
        keep = mask is not None and self._others_need(block.defines)
        predicate = step.run(self._registers, mask, keep, self)
        if block.is_barrier:
            if block.is_warp_barrier:
                self._named = self._brought(predicate, mask, self._named)
            elif step.reduction is not None:
                self._votes = self._brought(predicate, mask, self._votes)
            self._join(self._at_barrier, index, mask)
        elif predicate is None:
            self._enter(block.following if block.taken is None else block.taken, mask)
        else:
            assert block.end is not None
            assert block.taken is not None
            taken = ~predicate if block.end.negated else predicate
            self._branch(taken, mask, block.taken, block.following)

    def _brought(self, values: Values | None, mask: Mask | None, others: Values) -> Values:
        """What lanes bring to a barrier, beside what ``others`` have brought."""
        assert values is not None
        return values if mask is None else self.merge(mask, values, others)

    def _others_need(self, defined: frozenset[Any]) -> bool:
        """Whether lanes that wait elsewhere will read a register that the running step is about to define."""
        steps = self._run.translation.steps
        waiting = [steps[index].block.live_in for index in self._ready]
        waiting += [steps[index].block.live_out for index in self._at_barrier]
        return any(not defined.isdisjoint(needed) for needed in waiting)

    def _branch(self, taken: Values, mask: Mask | None, target: int, following: int) -> None:
        if taken.size == 1:
            self._enter(target if taken.item() else following, mask)
            return
        goes, stays = self.narrow(mask, taken), self.narrow(mask, ~taken)
        if goes is None or goes.count:
            self._enter(target, goes)
        if stays is None or stays.count:
            self._enter(following, stays)

    def _enter(self, index: int, mask: Mask | None) -> None:
        if index != EXIT:
            self._join(self._ready, index, mask)

    def _join(self, waiting: dict[int, Mask | None], index: int, mask: Mask | None) -> None:
        if index in waiting:
            already = waiting[index]
            mask = None if already is None or mask is None else self._masked(already.lanes | mask.lanes)
        waiting[index] = mask

    @cached_property
    def _warps(self) -> Warps:
        return Warps(self._batch)

    def _release(self) -> None:
        """Let lanes at barriers go on, as every lane that has not left the kernel is at one; warps first."""
        steps = self._run.translation.steps
        of_warps = [index for index in self._at_barrier if steps[index].block.is_warp_barrier]
        if of_warps:
            self._release_warps(of_warps)
            return
        for index, mask in self._at_barrier.items():
            if mask is not None:
                self._check_barrier(steps[index], mask)
        for index in list(self._at_barrier):
            mask = self._at_barrier.pop(index)
            for observer in self._observers:
                observer.synchronise(steps[index], mask)
            self._reduce(steps[index].reduction, mask)
            self._enter(steps[index].block.following, mask)

    def _reduce(self, reduction: Reduction | None, mask: Mask | None) -> None:
        """Tell lanes at a barrier what they have found out together."""
        if reduction is None:
            return
        present = np.broadcast_to(np.True_ if mask is None else mask.lanes, self._batch.shape)
        told = reduction.of(np.broadcast_to(self._votes, self._batch.shape), present)
        before = self._registers[reduction.slot]
        self._registers[reduction.slot] = told if mask is None else self.merge(mask, told, before)

    def _release_warps(self, indices: list[int]) -> None:
        """Let those lanes go on from the barriers of their warps that wait for nobody any more."""
        going = self._gathered(indices)
        for observer in self._observers:
            observer.meet(going, self._named)
        steps = self._run.translation.steps
        for index in indices:
            mask = self._at_barrier.pop(index)
            goes, stays = self.narrow(mask, going), self.narrow(mask, ~going)
            if goes is None or goes.count:
                self._enter(steps[index].block.following, goes)
            if stays is None or stays.count:
                self._at_barrier[index] = stays

    def _gathered(self, indices: list[int]) -> Values:
        """Of the lanes at these barriers of their warps, those that may go on; all if nobody can."""
        waiting = self._at_any(indices)
        if len(indices) == len(self._at_barrier) and ((self._named == EVERY_LANE) | ~waiting).all():
            return waiting
        present = self._at_any(list(self._at_barrier))
        gathering = Gathering(*map(self._warps.rows, (waiting, self._named, present)))
        strays = self._warps.lanes(gathering.strays())
        self._report_at(
            indices, strays, "comes to a barrier of its warp with the mask {:#010x}, which does not name it"
        )
        going = strays | self._warps.lanes(gathering.complete())
        if going.any():
            return np.asarray(going)
        self._report_at(indices, waiting, "waits for its warp with the mask {:#010x}, and not all whom that names come")
        return waiting

    def _at_any(self, indices: list[int]) -> Values:
        """The lanes that wait at any of these barriers."""
        masks = [self._at_barrier[index] for index in indices]
        lanes = np.zeros(self._batch.shape, np.bool_)
        for mask in masks:
            lanes |= np.True_ if mask is None else mask.lanes
        return lanes

    def _report_at(self, indices: list[int], lanes: Values, text: str) -> None:
        """Report those of ``lanes`` that are at these barriers; ``text`` has room for the mask that one names."""
        named = np.broadcast_to(self._named, self._batch.shape)

        def said(lane: tuple[int, ...]) -> str:
            return text.format(int(named[lane]))

        for index in indices:
            mask = self._at_barrier[index]
            here = lanes if mask is None else lanes & mask.lanes
            if here.any():
                end = self._run.translation.steps[index].block.end
                self._report(LaneViolation("divergent-barrier", None, end, here, said))

    def _check_barrier(self, step: Step, mask: Mask) -> None:
        present = np.broadcast_to(mask.lanes, self._batch.shape)
        threads = (1, 3, 5)
        some, every = present.any(axis=threads, keepdims=True), present.all(axis=threads, keepdims=True)
        if (some & ~every).any():
            text = "does not come to the barrier that other threads of its block are in"
            absent = ~present & some
            self._report(LaneViolation("divergent-barrier", None, step.block.end, absent, lambda _: text))

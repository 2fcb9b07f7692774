"""The lanes of a batch that wait at barriers of warps, blocks and clusters, and their release."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from mmcore_emulator.executor.divergence import Site, divergences
from mmcore_emulator.executor.translation.compiled_block import Registers
from mmcore_emulator.executor.translation.translate import Translation
from mmcore_emulator.machine.barriers import Arrival, BlockBarriers, Reduction
from mmcore_emulator.machine.lanes import Batch, Mask, add_waiting
from mmcore_emulator.machine.machine import Machine
from mmcore_emulator.machine.observer import LaneViolation, always
from mmcore_emulator.machine.warps import EVERY_LANE, Gathering
from mmcore_emulator.numerics.types import Values

_TORN = "reaches a barrier that other threads of its warp reach elsewhere in the code"
_AGAIN = (
    "arrives at a barrier where it has arrived before, and has not waited since until the others have come; "
    "a GPU may stop the launch with an illegal instruction"
)
_MISSING = "waits for its warp with the mask {:#010x}, and not all lanes that the mask names arrive"
_CLUSTER_MISSING = "waits at the barrier of its cluster for threads that do not come"
_NO_COUNT = np.zeros((1,) * 6, np.uint32)

WaitingLanes = dict[int, Mask | None]
"""Lanes by the number of the step that they wait at or enter; None for all lanes of the batch."""
Released = list[tuple[int, Mask | None]]
"""Numbers of the steps that released lanes enter, each with its lanes."""


def lanes_of(batch: Batch, indices: Iterable[int], waiting: Mapping[int, Mask | None]) -> Values:
    """Return the lanes that wait at any of some steps, along all axes in full."""
    lanes = np.zeros(batch.shape, np.bool_)
    for index in indices:
        lanes |= batch.spread(waiting[index])
    return lanes


class BarrierWaits:
    """The lanes of a batch that wait at barriers."""

    def __init__(self, translation: Translation, machine: Machine, registers: Registers) -> None:
        self._translation = translation
        self._steps = translation.steps
        self._machine = machine
        self._batch = machine.batch
        self._registers = registers
        self.lanes: WaitingLanes = {}  # these lanes, by the number of the step that ends at the barrier
        self.barriers = BlockBarriers(machine.batch, lambda: machine.warps)  # the barriers of the batch's blocks
        # For each lane at a barrier of its warp, the mask that it names.
        self._named: Values = np.zeros((1,) * 6, np.uint32)
        # By the step of a warp barrier: lanes that executed later code with memory writes while others waited there.
        self._gone_past: dict[int, Values] = {}

    def join(self, index: int, mask: Mask | None) -> None:
        """Add lanes that wait at the end of a step."""
        add_waiting(self.lanes, index, mask, self._batch)

    def name(self, named: Values, mask: Mask | None) -> None:
        """Note the mask that lanes name at a barrier of their warp."""
        self._named = _brought(named, mask, self._named)

    def wait(self, index: int, mask: Mask | None, arrival: Arrival) -> None:
        """Add lanes that wait at a barrier of their block."""
        barriers = self.barriers
        barriers.number = _brought(arrival.number, mask, barriers.number)
        barriers.count = _brought(_NO_COUNT if arrival.count is None else arrival.count, mask, barriers.count)
        if arrival.vote is not None:
            barriers.vote = _brought(arrival.vote, mask, barriers.vote)
        self.join(index, mask)

    def arrive(self, index: int, mask: Mask | None, arrival: Arrival) -> None:
        """Count lanes that arrive at a barrier of their block without waiting."""
        again = self.barriers.arrive(self._batch.spread(mask), arrival.number, arrival.count)
        if again.any():
            self._report("barrier-count", index, again, always(_AGAIN))

    def go_past(self, index: int, mask: Mask | None) -> None:
        """Note that lanes execute a step from which they cannot reach warp barriers where other lanes wait."""
        for site in self.lanes:
            if self._steps[site].block.barrier == "warp" and index in self._translation.behind(site):
                self._gone_past[site] = self._gone_past.get(site, np.False_) | self._batch.spread(mask)

    def release(self, polling: Mapping[int, Mask | None]) -> Released:
        """Remove and return the lanes whose barrier is complete; warps come first, then clusters, then blocks.

        The ``polling`` lanes have not left the kernel either.
        """
        of_warps = [index for index in self.lanes if self._steps[index].block.barrier == "warp"]
        if of_warps and (released := self._release_warps(of_warps, polling)):
            return released
        of_clusters = [index for index in self.lanes if self._steps[index].block.barrier == "cluster"]
        if of_clusters and (released := self._release_clusters(of_clusters, polling)):
            return released
        sites = [index for index in self.lanes if index not in (*of_warps, *of_clusters)]
        return self._release_blocks(sites, [*of_warps, *of_clusters], polling) if sites else []

    def _release_blocks(self, sites: list[int], elsewhere: list[int], polling: Mapping[int, Mask | None]) -> Released:
        if len(self.lanes) == 1 and not polling and self.barriers.plain:
            leaving, self.lanes = self.lanes, {}
            return self._leave(leaving)
        waiting = self._lanes_of(sites, self.lanes)
        others = {**polling, **{index: self.lanes[index] for index in elsewhere}}
        present = waiting | self._lanes_of(list(others), others) if others else waiting
        going = self.barriers.complete(waiting, present)
        if not going.any():
            return []
        if len(sites) > 1:
            self._check_warps(sites, going)
        if self._machine.observers and self.barriers.count.any():
            self._report_miscounted(sites, waiting, going)
        self.barriers.leave(going)
        return self._leave(self._split(sites, going))

    def _split(self, sites: list[int], going: Values) -> WaitingLanes:
        """Remove and return the leaving lanes of some sites."""
        leaving: WaitingLanes = {}
        for index in sites:
            mask = self.lanes.pop(index)
            add_waiting(leaving, index, self._batch.narrow(mask, going), self._batch)
            self.join(index, self._batch.narrow(mask, ~going))
        return leaving

    def _leave(self, leaving: WaitingLanes) -> Released:
        """Release lanes that have met at a barrier of their blocks."""
        left = [(self._steps[index], mask) for index, mask in leaving.items()]
        blocks = [(step.block, mask) for step, mask in left]
        self._machine.observers.synchronise(blocks, self.barriers.number, self.barriers.count)
        for step, mask in left:
            self._reduce(step.reduction, mask)
        return [(block.following, mask) for block, mask in blocks]

    def _reduce(self, reduction: Reduction | None, mask: Mask | None) -> None:
        """Write the result of a reducing barrier to the registers of the lanes that leave it."""
        if reduction is None:
            return
        present = self._batch.spread(mask)
        result = reduction.of(np.broadcast_to(self.barriers.vote, self._batch.shape), present)
        before = self._registers[reduction.slot]
        self._registers[reduction.slot] = result if mask is None else mask.merge(result, before)

    def _release_clusters(self, indices: list[int], polling: Mapping[int, Mask | None]) -> Released:
        """Release lanes whose whole live cluster has arrived."""
        waiting = self._lanes_of(indices, self.lanes)
        present = self._lanes_of(list(self.lanes), self.lanes) | self._lanes_of(list(polling), polling)
        arrived = np.broadcast_to(self._machine.cluster_barrier.arrivals, self._batch.shape)
        come = self._batch.by_cluster(np.min, np.where(present, arrived, np.iinfo(np.int64).max))
        going = waiting & (come >= arrived)
        if not going.any():
            return []
        left = [(self._steps[index].block, mask) for index, mask in self._split(indices, going).items()]
        self._machine.observers.meet_cluster(left, going & self._machine.cluster_barrier.relaxed)
        return [(block.following, mask) for block, mask in left]

    def _release_warps(self, indices: list[int], polling: Mapping[int, Mask | None]) -> Released:
        """Release lanes from barriers of their warps at which all named lanes have arrived."""
        going = self._gathered(indices, polling)
        if not going.any():
            return []
        self._check_gathered(indices, going, polling)
        met = [index for index in indices if self._steps[index].block.orders]
        if met and self._machine.observers:
            self._machine.observers.meet(going & self._lanes_of(met, self.lanes), self._named)
        released: Released = []
        for index in indices:
            mask = self.lanes.pop(index)
            released.append((self._steps[index].block.following, self._batch.narrow(mask, going)))
            self.join(index, self._batch.narrow(mask, ~going))
        return released

    def _gathered(self, indices: list[int], polling: Mapping[int, Mask | None]) -> Values:
        """Return the lanes at barriers of their warps that may leave."""
        waiting = self._lanes_of(indices, self.lanes)
        alone = len(indices) == len(self.lanes) and not polling
        if alone and ((self._named == EVERY_LANE) | ~waiting).all():
            return waiting
        warps = self._machine.warps
        present = self._lanes_of(list(self.lanes), self.lanes) | self._lanes_of(list(polling), polling)
        gathering = Gathering(*map(warps.rows, (waiting, self._named, present)))
        strays = warps.lanes(gathering.strays())
        self._report_strays(indices, strays)
        return np.asarray(strays | warps.lanes(gathering.complete()))

    def _lanes_of(self, indices: Iterable[int], waiting: Mapping[int, Mask | None]) -> Values:
        return lanes_of(self._batch, indices, waiting)

    def _check_warps(self, sites: list[int], going: Values) -> None:
        """Report threads of one warp that arrive at a barrier of their block from different places of the code."""
        rows = self._machine.warps.rows
        arrived = np.stack([rows(self._batch.spread(self.lanes[index]) & going) for index in sites])
        torn = arrived.any(axis=2).sum(axis=0) > 1
        if torn.any():
            for index, site_rows in zip(sites, arrived, strict=True):
                lanes = self._machine.warps.lanes(site_rows & torn[:, np.newaxis])
                barrier = self._steps[index].barrier
                if lanes.any() and barrier is not None and barrier.aligned:
                    self._report("divergent-barrier", index, lanes, always(_TORN))

    def _check_gathered(self, indices: list[int], going: Values, polling: Mapping[int, Mask | None]) -> None:
        """Report lanes that leave barriers of their warps but arrived there in a wrong way."""
        rows = self._machine.warps.rows
        only = self._steps[indices[0]].block if len(indices) == 1 else None
        if only is not None and (self.lanes[indices[0]] is None or not (self._gone_past or only.is_whole)):
            return
        sites = []
        for index in indices:
            lanes = rows(going & self._batch.spread(self.lanes[index]))
            gone = rows(self._gone_past.pop(index, np.array(False)))
            sites.append(Site(self._steps[index].block, lanes, gone))
            gone = gone & ~lanes.any(axis=1, keepdims=True)
            if gone.any():
                self._gone_past[index] = self._machine.warps.lanes(gone)
        present = rows(self._lanes_of([*self.lanes], self.lanes) | self._lanes_of([*polling], polling))
        for violation in divergences(sites, rows(self._named), present, self._machine.warps):
            self._machine.observers.report(violation)

    def _report_strays(self, indices: list[int], strays: Values) -> None:
        """Report the lanes at barriers of their warps whose masks do not name them."""
        text = self._with_mask("reaches a barrier of its warp with the mask {:#010x}, which does not name it")
        for index in indices:
            lanes = strays & self._batch.spread(self.lanes[index])
            if lanes.any():
                self._report("divergent-barrier", index, lanes, text)

    def _report_miscounted(self, sites: list[int], waiting: Values, going: Values) -> None:
        """Report wrong thread counts of barriers to the observers only, because no GPU checks them."""
        for lanes, text in self.barriers.miscounted(waiting, going):
            for index in sites:
                lanes_there = lanes & self._batch.spread(self.lanes[index])
                if lanes_there.any():
                    end = self._steps[index].block.end
                    violation = LaneViolation("barrier-count", None, end, lanes_there, always(text))
                    self._machine.observers.violation(violation)

    def report_deadlocks(self) -> None:
        """Report all waiting lanes, which will never be released, and forget them."""
        waiting = self._lanes_of(list(self.lanes), self.lanes)
        for index, mask in self.lanes.items():
            barrier = self._steps[index].block.barrier
            text = self._with_mask(_MISSING) if barrier == "warp" else self._missing(waiting)
            if barrier == "cluster":
                text = always(_CLUSTER_MISSING)
            self._report("deadlock", index, self._batch.spread(mask), text)
        self.lanes = {}

    def _report(self, kind: str, index: int, lanes: Values, text: Callable[[tuple[int, ...]], str]) -> None:
        """Report lanes at the barrier that ends a step."""
        self._machine.observers.report(LaneViolation(kind, None, self._steps[index].block.end, lanes, text))

    def _missing(self, waiting: Values) -> Callable[[tuple[int, ...]], str]:
        """Return a function that describes what a lane at a barrier of its block waits for."""
        operands = (self.barriers.count, self.barriers.number)
        counts, numbers = (np.broadcast_to(values, self._batch.shape) for values in operands)

        def text(lane: tuple[int, ...]) -> str:
            count = int(counts[lane])
            awaited = f"{count} threads" if count else "all threads of its block that have not ended"
            come, arrived = self.barriers.come(lane, waiting)
            others = "and no others will"
            if count and come > count:
                others = f"more than that: the {arrived} that only arrive end the barrier without those who wait"
            return f"waits at barrier {int(numbers[lane])} for {awaited}; {come} have come, {others}"

        return text

    def _with_mask(self, text: str) -> Callable[[tuple[int, ...]], str]:
        """Return a function that completes ``text`` with the mask that a lane names."""
        named = np.broadcast_to(self._named, self._batch.shape)
        return lambda lane: text.format(int(named[lane]))


def _brought(values: Values, mask: Mask | None, others: Values) -> Values:
    """Return operands at a barrier: ``values`` in the lanes of a mask, ``others`` elsewhere."""
    return values if mask is None else mask.merge(values, others)

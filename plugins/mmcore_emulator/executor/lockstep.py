"""One batch of blocks in lockstep: diverged threads apart, barriers together, those that poll last."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mmcore_emulator.executor.batch_memory import Ports
from mmcore_emulator.executor.control_flow import EXIT, Block
from mmcore_emulator.executor.divergence import Site, divergences
from mmcore_emulator.executor.kernel_launch import Run
from mmcore_emulator.isa.asynchronous.mbarriers import described
from mmcore_emulator.isa.barriers import Arrival, BlockBarriers, Reduction
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES
from mmcore_emulator.machine.compiled_block import SHARED_WINDOW, Step
from mmcore_emulator.machine.lanes import CLOCKS, Batch, Mask
from mmcore_emulator.machine.observer import LaneViolation, always
from mmcore_emulator.machine.warps import EVERY_LANE, Gathering
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.numerics.types import NUMPY

_TORN = "comes to a barrier to which other threads of its warp come elsewhere in the code"
_MISSING = "waits for its warp with the mask {:#010x}, and not all whom that names come"
_POLLS = "waits here for a value in memory that nobody is left to write"
_CLUSTER_MISSING = "waits at the barrier of its cluster for threads that do not come"
_NO_COUNT = np.zeros((1,) * 6, np.uint32)


def _cluster_missing(lane: tuple[int, ...]) -> str:
    return _CLUSTER_MISSING


class BatchRun(Ports):
    """One batch of blocks."""

    def __init__(self, run: Run, batch: Batch) -> None:
        watching = [(each, each.begin(batch)) for each in run.observers]
        super().__init__(run, batch, [own for _, own in watching if own is not None])
        self._watching = watching
        self._thread_instructions = 0
        self._registers = list(run.translation.registers)
        # Which lanes wait to enter which step; None stands for all lanes of the batch.
        self._ready: dict[int, Mask | None] = {0: None}
        # Likewise of steps that ask for what other threads may have written, and have asked already: they go on when
        # nobody else can.
        self._polling: dict[int, Mask | None] = {}
        self._polled: set[int] = set()
        self._state: object = None
        self._at_barrier: dict[int, Mask | None] = {}
        self._barriers = BlockBarriers(batch, lambda: self.warps)
        # The mask that each lane names which waits at a barrier of its warp.
        self._named: Values = np.zeros((1,) * 6, np.uint32)
        # Which lanes have written something behind a barrier of a warp, by its step, while others waited there.
        self._gone_past: dict[int, Values] = {}

    def advance(self) -> bool:
        """Run until the batch has ended (True), or its threads only poll (False); again, to let them poll once."""
        self._ready, self._polling = self._ready | self._polling, {}
        self._polled.clear()
        steps = self._run.translation.steps
        while True:
            while self._ready:
                # The first in order lets lanes that are behind catch up with those that wait further on.
                index = min(self._ready)
                self._step(steps[index], index, self._ready.pop(index))
            if self._at_barrier and self._release():
                continue
            if self._polling:
                return False
            if self._at_barrier:
                self.give_up()
            self.bulk_groups.land_all()
            return True

    def clock(self, name: str) -> Values:
        """A clock: thread instructions that the batch has executed."""
        high = self._thread_instructions >> 32 if name.endswith("_hi") else self._thread_instructions
        return np.full((1,) * 6, high, np.uint64).astype(NUMPY[CLOCKS[name]])

    def unchanged(self) -> bool:
        """Whether the threads that poll have come to know nothing new since the last time that this was asked."""
        steps = self._run.translation.steps

        def held(index: int) -> tuple[bytes, ...]:
            return tuple(self._registers[slot].tobytes() for slot in steps[index].live_slots)

        waiting = [
            {index: mask and mask.key for index, mask in each.items()} for each in (self._polling, self._at_barrier)
        ]
        before, self._state = self._state, (waiting, {index: held(index) for index in self._polling})
        return before == self._state

    def give_up(self) -> None:
        """Report the lanes that are left: each waits for another."""
        steps = self._run.translation.steps
        waiting = self._lanes_of(list(self._at_barrier), self._at_barrier)
        for index, mask in self._at_barrier.items():
            block = steps[index].block
            text = self._with_mask(_MISSING) if block.is_warp_barrier else self._missing(waiting)
            if block.is_cluster_barrier:
                text = _cluster_missing
            self.report(LaneViolation("deadlock", None, steps[index].block.end, self._batch.spread(mask), text))
        for index, mask in self._polling.items():
            at, lanes = steps[index].polling_at, self._batch.spread(mask)
            self.report(LaneViolation("deadlock", None, at, lanes, partial(self._awaited, self.asked.get(id(at)))))
        self._at_barrier, self._polling = {}, {}

    def _awaited(self, asked: tuple[Values, Values] | None, lane: tuple[int, ...]) -> str:
        """What a lane that polls waits for."""
        if asked is None:
            return _POLLS
        address, word = (int(np.broadcast_to(each, self._batch.shape)[lane]) for each in asked)
        array = self.spaces["shared"].at(address & (SHARED_WINDOW - 1))
        where = f"{array} (byte {(address & (SHARED_WINDOW - 1)) - array.base})" if array else f"address {address:#x}"
        by = self.initialised_at.get(address & (BLOCK_BYTES - 1))
        made = f" (initialised at {by.source}:{by.line})" if by is not None and by.line else ""
        return f"waits for the mbarrier in {where}{made}, and nobody is left to end its {described(word)}"

    def _missing(self, waiting: Values) -> Callable[[tuple[int, ...]], str]:
        brought = (self._barriers.count, self._barriers.number)
        counts, numbers = (np.broadcast_to(each, self._batch.shape) for each in brought)

        def text(lane: tuple[int, ...]) -> str:
            count = int(counts[lane])
            awaited = f"{count} threads" if count else "all threads of its block that have not ended"
            come, arrived = self._barriers.come(lane, waiting)
            others = "and no others will"
            if count and come > count:
                others = f"more than that: the {arrived} that only arrive end the barrier without those who wait"
            return f"waits at barrier {int(numbers[lane])} for {awaited}; {come} have come, {others}"

        return text

    def end(self) -> int:
        """Tell observers that the batch has ended; the number of its blocks."""
        for found in self.register_pool.overdrawn() if "register_pool" in self.__dict__ else ():
            self.report(found)
        for observer, own in self._watching:
            observer.ran(self._batch, self._thread_instructions, own)
        self._run.thread_instructions += self._thread_instructions
        self._run.progress.done += self._batch.lanes
        return self._batch.extent.size

    def _step(self, step: Step, index: int, mask: Mask | None) -> None:
        for observer in self._observers:
            observer.enter(step, mask)
        block = step.block
        if time.monotonic() > self._run.deadline.end:
            lanes = np.array(True) if mask is None else mask.lanes
            self._run.stop(next(iter(block.body), block.end), self._batch, lanes)
        self._thread_instructions += step.instructions * (self._batch.lanes if mask is None else mask.count)
        keep = mask is not None and self._others_need(block.defines)
        if step.polling_at is not None:
            self._polled.add(index)
        if self._at_barrier and block.writes:
            self._go_past(index, mask)
        result = step.run(self._registers, mask, keep, self)
        if step.barrier is not None:
            self._arrive(step, index, mask, result)
        elif block.is_warp_barrier:
            self._named = self._brought(result, mask, self._named)
            self._join(self._at_barrier, index, mask)
        elif block.is_cluster_barrier:
            self._join(self._at_barrier, index, mask)
        elif block.targets:
            self._branch_by_index(result, mask, block)
        elif result is None:
            self._enter(block.following if block.taken is None else block.taken, mask)
        else:
            assert block.end is not None
            assert block.taken is not None
            taken = ~result if block.end.negated else result
            self._branch(taken, mask, block.taken, block.following)

    def _arrive(self, step: Step, index: int, mask: Mask | None, arrival: Arrival) -> None:
        """Lanes have come to a barrier of their block."""
        assert step.barrier is not None
        if arrival.wanted is not None:
            self._enter(step.block.following, self.narrow(mask, ~arrival.wanted))
            mask = self.narrow(mask, arrival.wanted)
            if mask is not None and not mask.count:
                return
        if step.barrier.action == "arrive":
            self._barriers.arrive(self._batch.spread(mask), arrival.number, arrival.count)
            for observer in self._observers:
                observer.arrive(arrival.number, mask)
            self._enter(step.block.following, mask)
            return
        barriers = self._barriers
        barriers.number = self._brought(arrival.number, mask, barriers.number)
        barriers.count = self._brought(_NO_COUNT if arrival.count is None else arrival.count, mask, barriers.count)
        if arrival.vote is not None:
            barriers.vote = self._brought(arrival.vote, mask, barriers.vote)
        self._join(self._at_barrier, index, mask)

    def _brought(self, values: Values, mask: Mask | None, others: Values) -> Values:
        """What lanes bring to a barrier, beside what ``others`` have brought."""
        return values if mask is None else self.merge(mask, values, others)

    def _others_need(self, defined: frozenset[Any]) -> bool:
        """Whether lanes that wait elsewhere will read a register that the running step is about to define."""
        steps = self._run.translation.steps
        waiting = [steps[index].block.live_in for index in (*self._ready, *self._polling)]
        waiting += [steps[index].block.live_out for index in self._at_barrier]
        return any(not defined.isdisjoint(needed) for needed in waiting)

    def _branch(self, taken: Values, mask: Mask | None, target: int, following: int) -> None:
        if taken.size == 1:
            self._enter(target if taken.item() else following, mask)
            return
        self._enter(target, self.narrow(mask, taken))
        self._enter(following, self.narrow(mask, ~taken))

    def _branch_by_index(self, index: Values, mask: Mask | None, block: Block) -> None:
        """``brx.idx``: each lane goes on at the target of its index; those that have none go nowhere."""
        for number, target in enumerate(block.targets):
            self._enter(target, self.narrow(mask, index == number))
        beyond = self._batch.spread(mask) & (index >= len(block.targets))
        if beyond.any():
            indices, count = np.broadcast_to(index, beyond.shape), len(block.targets)

            def text(lane: tuple[int, ...]) -> str:
                return f"branches by the index {indices[lane]} into a list of {count} targets"

            self.report(LaneViolation("illegal-branch", None, block.end, beyond, text))

    def _enter(self, index: int, mask: Mask | None) -> None:
        if index != EXIT:
            self._join(self._polling if index in self._polled else self._ready, index, mask)

    def _join(self, waiting: dict[int, Mask | None], index: int, mask: Mask | None) -> None:
        """Let lanes, if there are any in the mask, wait with those that are there already."""
        if mask is not None and not mask.count:
            return
        if index in waiting:
            already = waiting[index]
            mask = None if already is None or mask is None else self._masked(already.lanes | mask.lanes)
        waiting[index] = mask

    def _release(self) -> bool:
        """Let lanes at barriers go on for whom everybody has come; whether there were any. Warps come first."""
        steps = self._run.translation.steps
        of_warps = [index for index in self._at_barrier if steps[index].block.is_warp_barrier]
        if of_warps and self._release_warps(of_warps):
            return True
        of_clusters = [index for index in self._at_barrier if steps[index].block.is_cluster_barrier]
        if of_clusters and self._release_clusters(of_clusters):
            return True
        sites = [index for index in self._at_barrier if index not in (*of_warps, *of_clusters)]
        if not sites:
            return False
        if len(self._at_barrier) == 1 and not self._polling and self._barriers.plain:
            everybody, self._at_barrier = self._at_barrier, {}
            self._leave(everybody)
            return True
        waiting = self._lanes_of(sites, self._at_barrier)
        others = {**self._polling, **{index: self._at_barrier[index] for index in (*of_warps, *of_clusters)}}
        present = waiting | self._lanes_of(list(others), others) if others else waiting
        going = self._barriers.complete(waiting, present)
        if not going.any():
            return False
        if len(sites) > 1:
            self._check_warps(sites, going)
        if self._observers and self._barriers.count.any():
            self._tell_miscounted(sites, waiting, going)
        self._barriers.leave(going)
        leaving: dict[int, Mask | None] = {}
        for index in sites:
            mask = self._at_barrier.pop(index)
            self._join(leaving, index, self.narrow(mask, going))
            self._join(self._at_barrier, index, self.narrow(mask, ~going))
        self._leave(leaving)
        return True

    def _tell_miscounted(self, sites: list[int], waiting: Values, going: Values) -> None:
        """Tell observers, for no GPU minds them, of counts that are wrong."""
        for lanes, text in self._barriers.miscounted(waiting, going):
            for index in sites:
                here = lanes & self._batch.spread(self._at_barrier[index])
                if here.any():
                    end = self._run.translation.steps[index].block.end
                    for observer in self._observers:
                        observer.violation(LaneViolation("barrier-count", None, end, here, always(text)))

    def _release_clusters(self, indices: list[int]) -> bool:
        """Let those lanes go on for whom all of their cluster have come that have not ended; whether any do."""
        waiting = self._lanes_of(indices, self._at_barrier)
        present = self._lanes_of(list(self._at_barrier), self._at_barrier)
        present |= self._lanes_of(list(self._polling), self._polling)
        arrived = np.broadcast_to(self.arrived_in_cluster, self._batch.shape)
        come = self._batch.by_cluster(np.min, np.where(present, arrived, np.iinfo(np.int64).max))
        going = waiting & (come >= arrived)
        if not going.any():
            return False
        leaving: dict[int, Mask | None] = {}
        for index in indices:
            mask = self._at_barrier.pop(index)
            self._join(leaving, index, self.narrow(mask, going))
            self._join(self._at_barrier, index, self.narrow(mask, ~going))
        left = [(self._run.translation.steps[index], mask) for index, mask in leaving.items()]
        for observer in self._observers:
            observer.meet_cluster(left, going & self.relaxed_in_cluster)
        for index, mask in leaving.items():
            self._enter(self._run.translation.steps[index].block.following, mask)
        return True

    def _leave(self, leaving: dict[int, Mask | None]) -> None:
        """Lanes leave a barrier of their blocks, at which they have met."""
        left = [(self._run.translation.steps[index], mask) for index, mask in leaving.items()]
        for observer in self._observers:
            observer.synchronise(left, self._barriers.number, self._barriers.count)
        for step, mask in left:
            self._reduce(step.reduction, mask)
            self._enter(step.block.following, mask)

    def _lanes_of(self, indices: list[int], waiting: dict[int, Mask | None]) -> Values:
        """The lanes that wait at any of these steps."""
        lanes = np.zeros(self._batch.shape, np.bool_)
        for index in indices:
            lanes |= self._batch.spread(waiting[index])
        return lanes

    def _check_warps(self, sites: list[int], going: Values) -> None:
        """Report threads of one warp that come to a barrier of their block from different places of the code."""
        rows = self.warps.rows
        here = np.stack([rows(self._batch.spread(self._at_barrier[index]) & going) for index in sites])
        torn = here.any(axis=2).sum(axis=0) > 1
        if torn.any():
            steps = self._run.translation.steps
            for index, each in zip(sites, here, strict=True):
                lanes = self.warps.lanes(each & torn[:, np.newaxis])
                barrier = steps[index].barrier
                if lanes.any() and barrier is not None and barrier.aligned:
                    end = steps[index].block.end
                    self.report(LaneViolation("divergent-barrier", None, end, lanes, lambda _: _TORN))

    def _reduce(self, reduction: Reduction | None, mask: Mask | None) -> None:
        """Tell lanes at a barrier what they have found out together."""
        if reduction is None:
            return
        present = self._batch.spread(mask)
        told = reduction.of(np.broadcast_to(self._barriers.vote, self._batch.shape), present)
        before = self._registers[reduction.slot]
        self._registers[reduction.slot] = told if mask is None else self.merge(mask, told, before)

    def _release_warps(self, indices: list[int]) -> bool:
        """Let those lanes go on from the barriers of their warps that wait for nobody any more; whether any do."""
        going = self._gathered(indices)
        if not going.any():
            return False
        self._check_gathered(indices, going)
        steps = self._run.translation.steps
        met = [index for index in indices if steps[index].block.orders]
        if met and self._observers:
            meeting = going & self._lanes_of(met, self._at_barrier)
            for observer in self._observers:
                observer.meet(meeting, self._named)
        for index in indices:
            mask = self._at_barrier.pop(index)
            self._enter(steps[index].block.following, self.narrow(mask, going))
            self._join(self._at_barrier, index, self.narrow(mask, ~going))
        return True

    def _go_past(self, index: int, mask: Mask | None) -> None:
        """Lanes execute a step; note for which barriers of warps at which others wait they come no more."""
        for site in self._at_barrier:
            if self._run.translation.steps[site].block.is_warp_barrier and index in self._run.translation.behind(site):
                self._gone_past[site] = self._gone_past.get(site, np.False_) | self._batch.spread(mask)

    def _check_gathered(self, indices: list[int], going: Values) -> None:
        """Report lanes that go on from these barriers of their warps, and should not have come there as they did."""
        steps, rows, waiting = self._run.translation.steps, self.warps.rows, self._at_barrier
        only = steps[indices[0]].block if len(indices) == 1 else None
        if only is not None and (waiting[indices[0]] is None or not (self._gone_past or only.is_whole)):
            return
        sites = []
        for index in indices:
            lanes = rows(going & self._batch.spread(waiting[index]))
            gone = rows(self._gone_past.pop(index, np.array(False)))
            sites.append(Site(steps[index].block, lanes, gone))
            gone = gone & ~lanes.any(axis=1, keepdims=True)
            if gone.any():
                self._gone_past[index] = self.warps.lanes(gone)
        present = rows(self._lanes_of([*waiting], waiting) | self._lanes_of([*self._polling], self._polling))
        for each in divergences(sites, rows(self._named), present, self.warps):
            self.report(each)

    def _gathered(self, indices: list[int]) -> Values:
        """Of the lanes at these barriers of their warps, those that may go on."""
        waiting = self._lanes_of(indices, self._at_barrier)
        alone = len(indices) == len(self._at_barrier) and not self._polling
        if alone and ((self._named == EVERY_LANE) | ~waiting).all():
            return waiting
        present = self._lanes_of(list(self._at_barrier), self._at_barrier)
        if self._polling:
            present |= self._lanes_of(list(self._polling), self._polling)
        gathering = Gathering(*map(self.warps.rows, (waiting, self._named, present)))
        strays = self.warps.lanes(gathering.strays())
        self._report_strays(indices, strays)
        return np.asarray(strays | self.warps.lanes(gathering.complete()))

    def _report_strays(self, indices: list[int], strays: Values) -> None:
        """Report the lanes at these barriers of their warps whom their masks do not name."""
        text = self._with_mask("comes to a barrier of its warp with the mask {:#010x}, which does not name it")
        for index in indices:
            here = strays & self._batch.spread(self._at_barrier[index])
            if here.any():
                end = self._run.translation.steps[index].block.end
                self.report(LaneViolation("divergent-barrier", None, end, here, text))

    def _with_mask(self, text: str) -> Callable[[tuple[int, ...]], str]:
        """What a lane at a barrier of its warp does; ``text`` has room for the mask that it names."""
        named = np.broadcast_to(self._named, self._batch.shape)
        return lambda lane: text.format(int(named[lane]))

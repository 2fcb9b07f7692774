"""Execution of a launch: as many blocks at once as a GPU holds, in batches that run in lockstep.

Diverged threads of a batch run separately, polling threads last.
"""

from __future__ import annotations

import time
from collections import deque
from functools import partial

import numpy as np

from mmcore_emulator.executor.barrier_waits import BarrierWaits
from mmcore_emulator.executor.batch_machine import BatchMachine
from mmcore_emulator.executor.kernel_launch import KernelLaunch
from mmcore_emulator.executor.mbarrier_hints import hint_of_wait, named
from mmcore_emulator.executor.translation.compiled_block import CompiledBlock
from mmcore_emulator.isa.asynchronous.mbarriers import contents, described, initialised, kind_of
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES
from mmcore_emulator.machine.barriers import Arrival
from mmcore_emulator.machine.lanes import Batch, Mask, add_waiting
from mmcore_emulator.machine.observer import LaneViolation
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.ptx.instructions import EXIT, Block, Register

_PARITY = "a first wait for parity 1, if it is for an empty buffer: on a new mbarrier that ends at once"
_POLLS = "waits for a value in memory that no thread is left to write"
# The work of running an instruction for any number of threads, and the work of a change to memory, in instructions of
# a thread.
_DISPATCH, _CHANGE = 1500, 6000


class BlockBatchExecutor:
    """An executor of one batch of blocks of a launch."""

    def __init__(self, launch: KernelLaunch, batch: Batch) -> None:
        self._launch = launch
        self._batch = batch
        self._watching = [(observer, observer.begin(batch)) for observer in launch.observers]
        self.machine = BatchMachine(launch, batch, [watcher for _, watcher in self._watching if watcher is not None])
        self._steps = launch.translation.steps
        self._registers = launch.translation.registers.copy()
        # The lanes that wait to enter each step; None for all lanes of the batch.
        self._ready: dict[int, Mask | None] = {0: None}
        # The lanes that wait to poll a value in memory again, by step; they continue when no other lane can.
        self._polling: dict[int, Mask | None] = {}
        self._polled: set[int] = set()
        self._state: object = None
        self._waits = BarrierWaits(launch.translation, self.machine, self._registers)

    def advance(self) -> bool:
        """Execute until the batch has ended (True) or its threads only poll (False); call again to poll once more."""
        self._ready, self._polling = self._ready | self._polling, {}
        self._polled.clear()
        while True:
            while self._ready:
                # The first step in order lets lanes that are behind catch up with lanes that wait further on.
                index = min(self._ready)
                self._step(self._steps[index], index, self._ready.pop(index))
            if self._waits.lanes and (released := self._waits.release(self._polling)):
                for index, mask in released:
                    self._enter(index, mask)
                continue
            if self._polling:
                return False
            if self._waits.lanes:
                self.give_up()
            self.machine.bulk_groups.land_all()
            return True

    def unchanged(self) -> bool:
        """Return True if the polling threads' state is the same as at the last call."""

        def held(index: int) -> tuple[bytes, ...]:
            return tuple(self._registers[slot].tobytes() for slot in self._steps[index].live_slots)

        waiting = [
            {index: mask and mask.key for index, mask in lanes.items()} for lanes in (self._polling, self._waits.lanes)
        ]
        before, self._state = self._state, (waiting, {index: held(index) for index in self._polling})
        return before == self._state

    def give_up(self) -> None:
        """Report the remaining lanes: each waits for another.

        Waits for bytes alone that do not come, or come too many, and waits with a hint are causes. The others follow.
        """
        filling = [index for index in self._polling if self._fills(index)]
        starved = {index: self._starved(index, mask) for index, mask in self._polling.items()}
        is_starved = any(lanes.any() for lanes in starved.values())
        deadlocks = []
        for index, mask in self._polling.items():
            at = self._steps[index].polling_at
            asked = self.machine.mbarriers.asked.get(id(at))
            first = _PARITY if not is_starved and (index in filling or not filling) else ""
            text, hint = partial(self._awaited, asked), partial(self._awaited_hint, asked, first)
            lanes = starved[index] if starved[index].any() else self._batch.spread(mask)
            deadlock = LaneViolation("deadlock", None, at, lanes, text, hint=hint)
            if starved[index].any() or not is_starved or hint(self._batch.first_of(lanes)):
                deadlocks.append(deadlock)
        if is_starved:
            self._waits.lanes = {}
        self._waits.report_deadlocks()
        # A wait with a hint is the cause; the others follow from it.
        for each in sorted(deadlocks, key=lambda each: not each.hint(self._batch.first_of(each.lanes))):
            self.machine.observers.report(each)
        self._polling = {}

    def _starved(self, index: int, mask: Mask | None) -> Values:
        """Return the polling lanes of a step whose phase has all arrivals, but not the bytes that it expects."""
        asked = self.machine.mbarriers.asked.get(id(self._steps[index].polling_at))
        if asked is None:
            return np.zeros(self._batch.shape, np.bool_)
        _, tx, _, pending = contents(asked[1])
        return np.asarray(self._batch.spread(mask) & initialised(asked[1]) & (pending == 0) & (tx != 0))

    def _awaited(self, asked: tuple[Values, Values] | None, lane: tuple[int, ...]) -> str:
        """Return a clause on what a polling lane waits for."""
        if asked is None:
            return _POLLS
        address, word = (int(np.broadcast_to(values, self._batch.shape)[lane]) for values in asked)
        awaited = named(self.machine, address)
        return f"waits for the mbarrier in {awaited}, and no thread is left to end its {described(word)}"

    def _fills(self, index: int) -> bool:
        """Return True if threads that leave a polling step begin bulk copies next."""
        rest, reached = [*self._steps[index].block.successors], {index}
        while rest:
            if (number := rest.pop()) in reached:
                continue
            reached.add(number)
            block = self._steps[number].block
            kinds = ((at, kind_of(at)) for at in block.instructions)
            latest = next(((at, kind) for at, kind in kinds if kind or effect(at).kind == "bulk copy"), None)
            if latest is None:
                rest += block.successors
            elif latest[1] is None or latest[1].tx or latest[1].action == "expect_tx":
                return True
        return False

    def _awaited_hint(self, asked: tuple[Values, Values] | None, first: str, lane: tuple[int, ...]) -> str:
        """Return a hint for a lane that waits for an mbarrier; ``first`` if nothing has arrived there yet."""
        if asked is None:
            return ""
        values = (*asked, self.machine.special("%cluster_ctarank"))
        address, word, rank = (np.broadcast_to(each, self._batch.shape)[lane] for each in values)
        offset = int(address) & (BLOCK_BYTES - 1)
        first = "" if self.machine.mbarriers.is_of_copies(offset) else first
        return hint_of_wait(self.machine, offset, word, int(rank), first)

    def end(self) -> int:
        """Report the batch's end to the observers; return the number of its blocks."""
        for violation in self.machine.register_pool.overdrawn():
            self.machine.observers.report(violation)
        for observer, watcher in self._watching:
            observer.ran(self._batch, self.machine.thread_instructions, watcher)
        self._launch.thread_instructions += self.machine.thread_instructions
        self._launch.work += self.machine.memory.changes * _CHANGE
        self._launch.ended(self._batch)
        return self._batch.extent.size

    def _step(self, step: CompiledBlock, index: int, mask: Mask | None) -> None:
        block = step.block
        self.machine.observers.enter(block, mask)
        self._launch.entered.add(index)
        if self._launch.work > self._launch.most_work or time.monotonic() > self._launch.deadline.end:
            lanes = np.array(True) if mask is None else mask.lanes
            self._launch.stop(next(iter(block.body), block.end), self._batch, lanes)
        threads = self._batch.lanes if mask is None else mask.count
        self.machine.thread_instructions += step.instructions * threads
        self._launch.work += step.weight * (threads + _DISPATCH)
        keep = mask is not None and self._others_need(block.defines)
        if step.polling_at is not None:
            self._polled.add(index)
        if self._waits.lanes and block.writes:
            self._waits.go_past(index, mask)
        result = step.run(self._registers, mask, keep, self.machine)
        if step.barrier is not None:
            self._arrive(step, index, mask, result)
        elif block.barrier == "warp":
            self._waits.name(result, mask)
            self._waits.join(index, mask)
        elif block.barrier == "cluster":
            self._waits.join(index, mask)
        elif block.targets:
            self._branch_by_index(result, mask, block)
        elif result is None:
            self._enter(block.following if block.taken is None else block.taken, mask)
        else:
            assert block.end is not None
            self._branch(index, block, ~result if block.end.negated else result, mask)

    def _arrive(self, step: CompiledBlock, index: int, mask: Mask | None, arrival: Arrival) -> None:
        """Let lanes arrive at a barrier of their block."""
        assert step.barrier is not None
        if arrival.wanted is not None:
            self._enter(step.block.following, self._batch.narrow(mask, ~arrival.wanted))
            mask = self._batch.narrow(mask, arrival.wanted)
            if mask is not None and not mask.count:
                return
        if step.barrier.action == "arrive":
            self._waits.arrive(index, mask, arrival)
            self.machine.observers.arrive(arrival.number, mask)
            self._enter(step.block.following, mask)
        else:
            self._waits.wait(index, mask, arrival)

    def _others_need(self, defined: frozenset[Register]) -> bool:
        """Return True if waiting lanes will read a register that the running step is about to define."""
        waiting = [self._steps[index].block.live_in for index in (*self._ready, *self._polling)]
        waiting += [self._steps[index].block.live_out for index in self._waits.lanes]
        return any(not defined.isdisjoint(needed) for needed in waiting)

    def _branch(self, index: int, block: Block, taken: Values, mask: Mask | None) -> None:
        """Let lanes continue where a conditional branch leads them."""
        assert block.taken is not None
        ways = ((block.taken, taken), (block.following, ~taken))
        for target, lanes in ways:
            if taken.size > 1:
                narrowed = self._batch.narrow(mask, lanes)
            elif lanes.item():
                narrowed = mask
            else:
                continue
            if narrowed is None or narrowed.count:
                self._launch.branched.add((index, target))
                self._enter(target, narrowed)

    def _branch_by_index(self, index: Values, mask: Mask | None, block: Block) -> None:
        """Execute ``brx.idx``: each lane continues at the target of its index; a lane without a target ends."""
        for number, target in enumerate(block.targets):
            self._enter(target, self._batch.narrow(mask, index == number))
        beyond = self._batch.spread(mask) & (index >= len(block.targets))
        if beyond.any():
            indices, count = np.broadcast_to(index, beyond.shape), len(block.targets)

            def text(lane: tuple[int, ...]) -> str:
                return f"branches by the index {indices[lane]} into a list of {count} targets"

            self.machine.observers.report(LaneViolation("illegal-branch", None, block.end, beyond, text))

    def _enter(self, index: int, mask: Mask | None) -> None:
        if index != EXIT:
            add_waiting(self._polling if index in self._polled else self._ready, index, mask, self._batch)


def execute(launch: KernelLaunch) -> None:
    """Execute every block of a launch, and write its output.

    Raises:
        TimeLimit: the launch's deadline has passed, or it has done the most work.
        UnsupportedInstruction: a thread executes an instruction that the emulator does not support.
    """
    try:
        with np.errstate(all="ignore"):
            _execute(launch)
    finally:
        launch.printed.flush(launch.write)


def _execute(launch: KernelLaunch) -> None:
    """Run every block.

    Batches of blocks run one after the other. If the threads of a batch only poll memory that other blocks write, other
    batches run, and new ones begin if the device has room for their blocks. When all have polled and nothing has
    changed, nothing ever will: that is a deadlock.
    """
    pending = iter(launch.batches())
    coming = next(pending, None)
    resident: deque[BlockBatchExecutor] = deque()
    blocks = idle = 0
    while coming is not None or resident:
        if coming is not None and (not resident or blocks + coming.extent.size <= launch.resident_blocks):
            current, idle = BlockBatchExecutor(launch, coming), 0
            blocks += coming.extent.size
            launch.begun += coming.lanes
            coming = next(pending, None)
        else:
            current = resident.popleft()
        before = current.machine.memory.changes
        if current.advance():
            blocks -= current.end()
            idle = 0
            continue
        idle = idle + 1 if current.machine.memory.changes == before and current.unchanged() else 0
        resident.append(current)
        # Twice, because the first comparison may be with a state from before other blocks' writes.
        if idle > 2 * len(resident) and (coming is None or blocks + coming.extent.size > launch.resident_blocks):
            for batch in resident:
                batch.give_up()
                blocks -= batch.end()
            resident.clear()

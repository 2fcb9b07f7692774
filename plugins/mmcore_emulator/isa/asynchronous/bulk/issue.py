"""The copies that threads issue with one bulk instruction, and their reports to observers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.accesses import Access, LaneViolation
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, Issued, Landed, Transfer, words_of
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Execution, Machine
from mmcore_emulator.machine.memory.arrays import RANK_BEGIN
from mmcore_emulator.numerics.types import Flags, Integers, Values
from mmcore_emulator.ptx.instructions import Instruction


@dataclass(frozen=True)
class Sent:
    """The copies of one instruction; arrays have an element for each issuing thread."""

    machine: Machine
    at: Instruction
    lanes: Integers  # index of each thread along the six axes
    block: Integers  # number of its block in the batch
    shared: NDArray[np.uint64]  # address in shared memory
    nbytes: Integers  # bytes of each copy
    span: Integers  # bytes of shared memory from the first to the last of each copy

    def among_lanes(self, which: Any) -> Flags:
        """Return some of the threads, among all lanes of the batch."""
        lanes = np.zeros(self.machine.batch.shape, np.bool_)
        lanes[tuple(self.lanes[which].T)] = True
        return lanes

    def mask(self, which: Any) -> Mask | None:
        """Return some of the threads as a mask."""
        return self.machine.batch.narrow(None, self.among_lanes(which))

    def transfer(self, which: Any, block: Integers, **further: Any) -> Transfer:
        """Return some of the copies as a transfer for observers, in the shared memory of given blocks."""
        numbers = np.ravel_multi_index(tuple(self.lanes[which].T), self.machine.batch.shape)
        inside = (self.shared[which] & np.uint64(BLOCK_BYTES - 1)).astype(np.int64)
        words = words_of(block[which] * BLOCK_BYTES + inside, self.span[which])
        return Transfer(self.at, numbers[:, np.newaxis], words, **further)

    def report(self, kind: str, array: str | None, text: str, which: Any = slice(None)) -> None:
        """Report a violation by some of the threads."""
        self.machine.observers.report(LaneViolation(kind, array, self.at, self.among_lanes(which), lambda _: text))


def each_of(machine: Machine, lanes: Integers, values: Values) -> Values:
    """Return the values of some lanes."""
    return np.asarray(np.broadcast_to(values, machine.batch.shape)[tuple(lanes.T)])


def sent_by(execution: Execution, shared: Values, nbytes: Values | int, span: int | None = None) -> Sent:
    """Return the copies that the lanes of a mask issue, of addresses in shared memory and bytes as lanes."""
    machine, mask, at = execution
    lanes = np.argwhere(machine.batch.spread(mask))
    every = np.broadcast_to(np.asarray(nbytes, np.int64), machine.batch.shape)
    block = each_of(machine, lanes, machine.batch.block_index())
    counts = each_of(machine, lanes, every)
    spans = counts if span is None else np.full_like(counts, span)
    return Sent(machine, at, lanes, block, each_of(machine, lanes, shared), counts, spans)


def issued(sent: Sent, which: Flags, blocks: Integers, transfer: Transfer) -> Transfer:
    """Report to observers that copies to shared memory begin."""
    machine = sent.machine
    address, owner = np.zeros(machine.batch.shape, np.uint64), np.zeros(machine.batch.shape, np.int64)
    address[tuple(sent.lanes.T)] = sent.shared & np.uint64(RANK_BEGIN - 1)
    owner[tuple(sent.lanes.T)] = blocks
    nbytes = int(sent.span.max(initial=0))
    machine.observers.access(
        Access("copy", "shared", machine.memory.shared_of(owner), address, nbytes, sent.mask(which), sent.at)
    )
    machine.observers.event(Issued(transfer))
    return transfer


def landed(land: Callable[[], None], transfer: Transfer, machine: Machine) -> None:
    """Complete copies, and report that to observers."""
    machine.observers.event(Landed(transfer))
    land()


def tell_fetched(sent: Sent, mask: Mask | None) -> None:
    """Report to observers the reads by copies from shared memory."""
    machine, address = sent.machine, np.zeros(sent.machine.batch.shape, np.uint64)
    address[tuple(sent.lanes.T)] = sent.shared & np.uint64(RANK_BEGIN - 1)
    nbytes = int(sent.span.max(initial=0))
    machine.observers.access(Access("fetch", "shared", machine.memory.spaces["shared"], address, nbytes, mask, sent.at))

"""Observers of a launch: they are called for every basic block, access, barrier and violation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.asynchronous.events import Event
from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.memory.arrays import Space
from mmcore_emulator.numerics.types import Integers, Values
from mmcore_emulator.ptx.instructions import Block, Instruction

_NONE: Values = np.zeros((1,) * 6, np.uint32)
MEMORIES = frozenset(("global", "const", "shared", "local", "param", "generic"))
"""All memories, for observers of none."""


@dataclass(slots=True)
class Access:
    """One instruction's access to one memory by the lanes of a batch."""

    kind: str  # "load", "store", "atomic"; "copy" and "fetch" for writes and reads of asynchronous instructions
    space: str  # "global", "const", "shared", "local" or "param"
    memory: Space  # the accessed memory
    address: Values  # byte address of each lane (uint64), as lanes; without meaning in lanes outside ``mask``
    nbytes: int  # bytes that each lane moves, all elements of a vector together
    mask: Mask | None  # the lanes that execute the access; None for all
    at: Instruction  # the instruction
    sent: BulkTransfer | None = None  # for a bulk copy that arrives in global memory: the transfer as issued
    values: Sequence[Values] = ()  # for a store of registers: the stored elements, as lanes


@dataclass(slots=True, eq=False)
class BulkTransfer:
    """The bulk copies of one instruction as issued, one for each issuing lane."""

    action: str  # "load" into shared memory, or "store" from it
    at: Instruction  # the instruction
    memory: Space  # global memory
    lanes: Integers  # [copies, 6] index along the six axes of the issuing lanes
    shared: NDArray[np.uint64]  # [copies] address in shared memory
    begin: Integers  # [copies, runs] address in global memory of each run of neighbouring bytes
    nbytes: Integers  # [copies, runs] bytes of each run; 0 for parts outside a tensor
    delivered: int  # bytes that arrive, with zeros for parts outside the tensor, at all blocks of a multicast
    layout: TensorLayout | None  # layout of the tensor that boxes are copied from or to; None for plain bytes
    coordinates: Integers | None = None  # [copies, axes] of each box in elements, fastest axis first


@dataclass(frozen=True)
class LaneViolation:
    """A violation by some lanes of a batch in one instruction."""

    kind: str  # kind of the :class:`~mmcore_emulator.machine.violations.Violation`
    array: str | None  # its array
    at: Instruction | None
    lanes: Values
    text: Callable[[tuple[int, ...]], str]  # describes what one lane does, by its index along the six axes
    other: Instruction | None = None  # another instruction involved; each of its lines is a separate violation
    hint: Callable[[tuple[int, ...]], str] = lambda _: ""  # returns a change that may help, as a clause
    of_several_warps: bool = False  # whether it is a race of several warps, which is reported rather than one of a warp


def always(text: str) -> Callable[[tuple[int, ...]], str]:
    """Return a function that returns ``text`` for every lane."""
    return lambda _: text


class Observer:
    """An observer of a launch; each method is called before the event that it is about."""

    ignores: frozenset[str] = frozenset()  # memories whose accesses need not be reported to it

    def begin(self, batch: Batch) -> Observer | None:
        """Return the observer of a batch of blocks, or None; several batches may run alternately."""
        return self

    def enter(self, block: Block, mask: Mask | None) -> None:
        """Note that lanes (None for all) execute a basic block."""

    def guarded(self, at: Instruction, mask: Mask | None) -> None:
        """Note which lanes of a block execute a guarded instruction."""

    def access(self, access: Access) -> None:
        """Note an access to memory; if it is a violation, :meth:`violation` is called too."""

    def copy(self, read: Access, written: Access) -> None:
        """Note that lanes issue asynchronous copies (``cp.async``) from global to shared memory.

        Lanes that only write zeros do not read. :meth:`access` is called as well: for the loads now, for the stores
        when the copies land.
        """

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        """Note that lanes issue bulk copies; :meth:`access` is called for what they write when they land."""

    def synchronise(self, left: Sequence[tuple[Block, Mask | None]], number: Values, count: Values) -> None:
        """Note that lanes leave a barrier of their blocks, of this number and for ``count`` threads (0 for all).

        ``left`` has the basic blocks that end at it, each with the lanes that leave it there; these lanes have met.
        """

    def arrive(self, number: Values, mask: Mask | None) -> None:
        """Note that lanes have arrived at a barrier of that number without waiting."""

    def fence(self, scope: str, mask: Mask | None) -> None:
        """Note that lanes order earlier accesses before later ones, as seen from a "cta" or the "gpu"."""

    def meet(self, lanes: Values, named: Values) -> None:
        """Note that lanes leave barriers of their warps, with the mask of lanes that each has named."""

    def meet_cluster(self, left: Sequence[tuple[Block, Mask | None]], relaxed: Values) -> None:
        """Note that lanes leave barriers of their clusters, and with them one of their blocks.

        ``relaxed`` are the lanes that arrived without a release.
        """
        self.synchronise(left, _NONE, _NONE)

    def event(self, event: Event) -> None:
        """Note an effect of an asynchronous instruction."""

    def violation(self, violation: LaneViolation) -> None:
        """Note a violation by some lanes."""

    def unwritten(self, at: Instruction) -> Values | None:
        """Return the lanes for which a load has just read unwritten memory that is to be followed; None if none has."""
        return None

    def ran(self, batch: Batch, thread_instructions: int, watcher: Observer | None) -> None:
        """Note that a batch, observed or not, has ended after so many instructions, counted once per thread.

        ``watcher`` is the observer that :meth:`begin` returned.
        """


class BatchObserver(Observer):
    """An observer that is copied for each batch of blocks; the copies share its counts."""

    _batch: Batch

    def begin(self, batch: Batch) -> Self:
        observer = copy(self)
        observer._batch = batch
        return observer


class Observers(Observer):
    """All observers of one batch of blocks, combined."""

    def __init__(self, observers: Sequence[Observer], record: Callable[[LaneViolation], None]) -> None:
        self._observers = observers
        self._record = record
        # Memories that all of them ignore.
        self.ignores = frozenset.intersection(*(observer.ignores for observer in observers), MEMORIES)

    def __bool__(self) -> bool:
        return bool(self._observers)

    def unwritten(self, at: Instruction) -> Values | None:
        found = (observer.unwritten(at) for observer in self._observers)
        return next((lanes for lanes in found if lanes is not None), None)

    def report(self, violation: LaneViolation) -> None:
        """Record a violation of the launch."""
        self._record(violation)
        self.violation(violation)


def _to_all(name: str) -> Callable[..., None]:
    """Return a method that calls the method of that name of each observer."""

    def call(observers: Observers, *arguments: object) -> None:
        for observer in observers._observers:
            getattr(observer, name)(*arguments)

    return call


_FORWARDED = ("enter", "guarded", "access", "copy", "bulk_copy", "synchronise", "arrive", "fence", "meet", "event")
for _name in (*_FORWARDED, "meet_cluster", "violation"):
    setattr(Observers, _name, _to_all(_name))

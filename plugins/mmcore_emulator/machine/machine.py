"""The machine as instructions see it: the components of a batch of blocks that they may use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, EndedEarly
from mmcore_emulator.machine.asynchronous.in_flight import BulkGroups, InFlight, ThreadCopies
from mmcore_emulator.machine.barriers import ClusterBarrier
from mmcore_emulator.machine.formatted_output import Format
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.memory.address_spaces import AddressSpaces
from mmcore_emulator.machine.observer import Observers
from mmcore_emulator.machine.warps import RegisterPool, Warps
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.ptx.instructions import Instruction


@dataclass
class MbarrierLog:
    """Facts about mbarrier objects for the reports of deadlocks."""

    # Last address and content that each waiting instruction read, as lanes, by the instruction's identity.
    asked: dict[int, tuple[Values, Values]] = field(default_factory=dict)
    # The instruction that initialised an object, by the object's offset in its block's shared memory.
    initialised_at: dict[int, Instruction] = field(default_factory=dict)
    # The objects that a thread has arrived at, by the same offsets.
    arrived: set[int] = field(default_factory=set)
    # The objects of which a thread has found a phase over, by the same offsets.
    passed: set[int] = field(default_factory=set)
    # The threads that have arrived once each and ended several phases of an object with no wait between, and the
    # arrivals that it counts, by the same offsets.
    overrun: dict[int, tuple[int, int]] = field(default_factory=dict)
    # Number of phases of each object, by its place in the batch, that arrivals have ended with no wait yet.
    _ended: Counter[int] = field(default_factory=Counter)
    # The lanes that have arrived since then, by the same places, and the places where one has arrived again.
    _lanes: dict[int, set[int]] = field(default_factory=dict)
    _again: set[int] = field(default_factory=set)
    # Bytes of the current phase of each object, by its place, that it expects, and that copies on their way bring.
    _expected: Counter[int] = field(default_factory=Counter)
    _coming: Counter[int] = field(default_factory=Counter)
    # The places of copies that brought more bytes than the object expected when they began, by the same places.
    _unexpected: dict[int, list[str]] = field(default_factory=dict)
    waited: set[int] = field(default_factory=set)  # lanes that waited for another object since they expected bytes
    began: set[tuple[int, int]] = field(default_factory=set)  # places of objects, and lanes that expected bytes there
    # The last instruction that expected bytes of an object, by its offset.
    expected_at: dict[int, Instruction] = field(default_factory=dict)
    # The objects of which several threads have expected the bytes that one should expect, by the same offsets.
    repeated: set[int] = field(default_factory=set)
    # The number of threads that have begun a copy to the same address for an object, by the same offsets.
    same_copies: dict[int, int] = field(default_factory=dict)
    # The blocks of clusters, as bits, that multicasts to an object name, whether each names another block than that
    # which sends it, and the last multicast, by the same offsets.
    multicasts: dict[int, tuple[int, bool, Instruction]] = field(default_factory=dict)
    lost: bool = False  # true if an error has kept a bulk copy from beginning, whose bytes do not come

    def is_of_copies(self, offset: int) -> bool:
        """Return whether copies fill what an object stands for: all used ones of the same line expect bytes."""
        at = self.initialised_at.get(offset)
        alike = {other for other, by in self.initialised_at.items() if at is not None and by.place == at.place}
        return not alike.isdisjoint(self.expected_at) and alike & self.arrived <= self.expected_at.keys()

    def expect(self, places: Iterable[int], nbytes: Iterable[int], at: Instruction) -> None:
        """Note that an instruction expects bytes of objects."""
        for place, number in zip(places, nbytes, strict=True):
            self._expected[place] += number
            self.expected_at[place % BLOCK_BYTES] = at

    def send(self, at: Instruction, places: Iterable[int], nbytes: Iterable[int], targets: Iterable[int]) -> None:
        """Note that lanes begin copies to objects, each to an address in shared memory."""
        same: Counter[tuple[int, int]] = Counter()
        for place, number, target in zip(places, nbytes, targets, strict=True):
            self._coming[place] += number
            same[place, target] += 1
            if self._coming[place] > self._expected[place] and at.place not in self._unexpected.setdefault(place, []):
                self._unexpected[place].append(at.place)
        self.same_copies |= {place % BLOCK_BYTES: number for (place, _), number in same.items() if number > 1}

    def multicast(self, objects: Iterable[int], masks: Iterable[int], senders: Iterable[int], at: Instruction) -> None:
        """Note that an instruction sends copies to objects in the blocks that masks name, from blocks of some ranks."""
        for address, mask, sender in zip(objects, masks, senders, strict=True):
            before, shared, _ = self.multicasts.get(address % BLOCK_BYTES, (0, False, at))
            self.multicasts[address % BLOCK_BYTES] = before | mask, shared or mask != 1 << sender, at

    def left_out(self, offset: int, rank: int) -> str:
        """Return the hint that multicasts to an object leave out the block of a rank; "" if they do not."""
        if offset not in self.multicasts:
            return ""
        mask, shared, at = self.multicasts[offset]
        asked = f"a mask of the multicast{f' at {at.place}' if at.line else ''} that names"
        if not mask >> rank & 1:
            return f"{asked} the block of rank {rank}, too, which {mask:#x} leaves out"
        return "" if shared else f"{asked} more blocks than the one that sends it"

    def unexpected(self, nbytes: int) -> tuple[int, list[str]] | None:
        """Return the offset of an object that expects this many bytes less than come, and the places of the copies."""
        objects = ((place, copies) for place, copies in self._unexpected.items() if all(copies))
        surplus = ((self._coming[place] - self._expected[place], place, copies) for place, copies in objects)
        return next(((place % BLOCK_BYTES, copies) for more, place, copies in surplus if more == nbytes), None)

    def end_bytes(self, place: int) -> EndedEarly | None:
        """Note that a phase ends; return the event if more bytes are on their way than it has expected."""
        expected, coming = self._expected.pop(place, 0), self._coming.pop(place, 0)
        if coming <= expected:
            self._unexpected.pop(place, None)
            return None
        self._coming[place] = coming - expected
        return EndedEarly(place, expected, coming, self.expected_at.get(place % BLOCK_BYTES))

    def arrive(self, places: Iterable[int], lanes: Iterable[int]) -> None:
        """Note that lanes arrive at objects."""
        for place, lane in zip(places, lanes, strict=True):
            known = self._lanes.setdefault(place, set())
            if lane in known:
                self._again.add(place)
            known.add(lane)

    def end_phases(self, places: Iterable[int], counted: Iterable[int]) -> None:
        """Note that arrivals have ended phases, a place for each phase, with the arrivals that it counted."""
        for place, number in zip(places, counted, strict=True):
            self._ended[place] += 1
            if self._ended[place] > 1 and place not in self._again:
                self.overrun[place % BLOCK_BYTES] = len(self._lanes[place]), number

    def forget_phases(self, places: Iterable[int]) -> None:
        """Note that threads have waited for phases that have ended, or have initialised the objects."""
        for place in places:
            self._ended.pop(place, None)
            self._lanes.pop(place, None)
            self._again.discard(place)


class Machine(Protocol):
    """A batch of blocks that executes instructions."""

    batch: Batch  # its lanes, as an array of six axes
    memory: AddressSpaces  # global, shared, local, constant and parameter memory
    observers: Observers  # the observers of the launch
    # Asynchronous copies that have not arrived.
    thread_copies: ThreadCopies
    in_flight: InFlight
    bulk_groups: BulkGroups
    cluster_barrier: ClusterBarrier  # arrivals at the barrier of the cluster
    mbarriers: MbarrierLog  # facts for reports of deadlocks

    @property
    def warps(self) -> Warps:
        """Its lanes by warps."""

    @property
    def register_pool(self) -> RegisterPool:
        """Registers that ``setmaxnreg`` moves between warps."""

    def special(self, name: str) -> Values:
        """Return a special register, as lanes."""

    def clock(self, name: str) -> Values:
        """Return a clock: the thread instructions that the batch has executed."""

    def print(self, lanes: Values, text: Format, arguments: Sequence[Values]) -> None:
        """Print a format from some lanes (all axes in full), with the arguments of its conversions."""

    def approximate(self, mask: Mask | None) -> None:
        """Count lanes that execute an instruction whose result has no specified bits."""

    def refuse(self, mask: Mask | None, refusal: Exception) -> None:
        """Raise ``refusal`` if any lane executes an instruction that the emulator does not support."""


class Execution(NamedTuple):
    """One execution of an instruction by lanes of a batch."""

    machine: Machine
    mask: Mask | None  # the executing lanes; None for all
    at: Instruction

    @property
    def idle(self) -> bool:
        """True if no lane executes it."""
        return self.mask is not None and not self.mask.count

    def in_cluster(self, address: Values) -> Execution:
        """Return it for the lanes whose shared addresses belong to a block of their cluster; report the others."""
        return self._replace(mask=self.machine.memory.in_cluster(address, self.mask, self.at))

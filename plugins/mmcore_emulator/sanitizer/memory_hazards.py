"""An observer of accesses to global and shared memory: races, reads of unwritten memory, lost results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mmcore_emulator.executor.translation.layout import Layout
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.asynchronous.events import Arrived, Event, GridAwaited, Made, ProxyFenced, Waited
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.machine.observer import Access, BulkTransfer, LaneViolation, Observer, always
from mmcore_emulator.numerics.types import Flags, Values
from mmcore_emulator.ptx.instructions import Block
from mmcore_emulator.sanitizer.accesses import Accesses
from mmcore_emulator.sanitizer.array_access import ArrayAccess
from mmcore_emulator.sanitizer.early_accesses import EarlyAccesses
from mmcore_emulator.sanitizer.happens_before.batch_clocks import BatchClocks
from mmcore_emulator.sanitizer.happens_before.numbering import InstructionNumbers
from mmcore_emulator.sanitizer.happens_before.vector_clocks import FlagReads, scope
from mmcore_emulator.sanitizer.loops import Loops
from mmcore_emulator.sanitizer.races import Races
from mmcore_emulator.sanitizer.recording import Record
from mmcore_emulator.sanitizer.shadow import GlobalShadows, LastAccess, Shadow
from mmcore_emulator.sanitizer.unwritten_reads import KIND, UnwrittenReads

_OUTSIDE = (
    "copies a box of {} that begins at ({}), fastest axis first, outside the tensor of ({}) elements, which whole "
    "boxes cover: it has no element"
)


class MemoryHazards(Observer):
    """An observer of a batch of blocks.

    ``instructions`` numbers the instructions that have accessed memory in the launch. ``accumulating`` stores, by
    identity, add to an element in place. ``early`` checks accesses before the previous launch is over; it is None in
    a launch that begins after that. ``missing`` is a clause on what may be missing, for reads of unwritten elements.
    ``unwritten`` has those that are hazards only if something depends on them.
    """

    def __init__(
        self,
        shadows: GlobalShadows,
        layout: Layout,
        flag_reads: FlagReads,
        loops: Loops,
        instructions: InstructionNumbers,
        accumulating: frozenset[int],
        clocks: BatchClocks,
        early: EarlyAccesses | None,
        record: Record,
        missing: str,
        unwritten: UnwrittenReads,
    ) -> None:
        self._unwritten_reads = unwritten
        self._unwritten = f", where nothing has been written: its value may be anything{missing}"
        self._global, self._layout, self._flag_reads, self._instructions = shadows, layout, flag_reads, instructions
        self._accumulating, self._clocks, self._early, self._record = accumulating, clocks, early, record
        self._order, self._numbers, self._batch = clocks.order, clocks.numbers, clocks.numbers.batch
        self._races = Races(self._batch, instructions, loops, record)
        self._shared: dict[int, Shadow] = {}
        # The times at which bulk copies to global memory were issued.
        self._issued: dict[BulkTransfer, int] = {}
        self._landed: list[ArrayAccess] = []  # the copies of cp.async that the current instruction completes
        self._checks = {
            "load": self._load,
            "store": self._store,
            "atomic": self._store,
            "copy": self._copy,
            "fetch": self._fetch,
        }

    def synchronise(self, left: Sequence[tuple[Block, Mask | None]], number: Values, count: Values) -> None:
        self._races.counted |= bool(count.any())

    def event(self, event: Event) -> None:
        self._races.counted |= isinstance(event, Made)
        if isinstance(event, Waited) and event.kind == "copy":
            # Only a barrier after that wait orders the copies before other threads.
            for landed in self._landed:
                landed.shadow.stores.note(landed.index, landed.threads, self._instructions.number(landed.at))
        if isinstance(event, Waited | Arrived):
            self._landed.clear()
        elif isinstance(event, GridAwaited) and self._early is not None:
            self._early.wait(event)
        elif isinstance(event, ProxyFenced) and event.whole and self._numbers.lanes(event.mask).size:
            self._order.proxies_fenced = self._order.tick()

    def access(self, access: Access) -> None:
        for accesses in self._by_array(access) if access.space in ("global", "shared") else ():
            self._checks[access.kind](accesses)
            if access.space == "global" and self._early is not None:
                self._early.access(accesses)

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        if transfer.action != "load":
            self._issued[transfer] = self._order.tick()
            return
        if self._early is not None:
            self._early.bulk_load(transfer)
        self._check_inside(transfer)
        memory, copied = transfer.memory, transfer.nbytes > 0
        ranges = np.unique(transfer.begin[copied] >> memory.range_bits).tolist()
        arrays = [memory.at(number << memory.range_bits) for number in ranges]
        if not any(array is not None and self._global.of(array).changed for array in arrays):
            return
        for begin, nbytes in zip(transfer.begin.T, transfer.nbytes.T, strict=True):
            for size in np.unique(nbytes[nbytes > 0]).tolist():
                address, lanes = np.zeros(self._batch.shape, np.uint64), np.zeros(self._batch.shape, np.bool_)
                address[tuple(transfer.lanes.T)], lanes[tuple(transfer.lanes.T)] = begin, nbytes == size
                access = Access("fetch", "global", memory, address, size, Mask(lanes, self._batch), transfer.at)
                for accesses in self._by_array(access):
                    self._fetch(accesses)
                    self._races.check_proxies(accesses, self._order.proxies_fenced)

    def _check_inside(self, transfer: BulkTransfer) -> None:
        """Report copies of boxes that have no element of their tensor, if whole boxes cover it.

        A tile with a remainder may have boxes that are outside.
        """
        outside, layout = ~(transfer.nbytes > 0).any(axis=1), transfer.layout
        if layout is None or layout.corners or transfer.coordinates is None or not outside.any():
            return
        if any(extent % size for extent, size in zip(layout.extents, layout.box, strict=True)):
            return
        array, lanes = transfer.memory.at(layout.address), np.zeros(self._batch.shape, np.bool_)
        lanes[tuple(transfer.lanes[outside].T)] = True
        first, extents = transfer.coordinates[outside][0].tolist(), layout.extents
        text = _OUTSIDE.format(array or "a tensor", *(", ".join(map(str, each)) for each in (first, extents)))
        label = array.label if array else None
        self._record(LaneViolation("copy-outside", label, transfer.at, lanes, always(text)))

    def _by_array(self, access: Access) -> Iterator[ArrayAccess]:
        """Yield the permitted accesses, array by array; :meth:`violation` reports the others."""
        lanes, address = self._batch.spread(access.mask), np.broadcast_to(access.address, self._batch.shape)
        ranges = address >> np.uint64(access.memory.range_bits)
        aligned = lanes
        if access.kind not in ("copy", "fetch"):
            aligned = lanes & ((address & np.uint64(access.nbytes - 1)) == 0)
        for number in np.unique(ranges[lanes]).tolist():
            array = access.memory.at(number << access.memory.range_bits)
            size = 0 if array is None else array.permits("read" if access.kind in ("load", "fetch") else "write")
            if array is not None and size >= access.nbytes:
                begin, end = np.uint64(array.base), np.uint64(array.base + size - access.nbytes)
                inside = aligned & (ranges == np.uint64(number)) & (address >= begin) & (address <= end)
                if inside.any():
                    yield self._accesses(access, array, address, inside)

    def _accesses(self, access: Access, array: Array, address: Values, inside: Flags) -> ArrayAccess:
        piece = self._global.piece
        if access.space == "global":
            name, shadow = array.label, self._global.of(array)
        else:
            name = self._layout.shared_name(array.base) or array.label
            shadow = self._shared.get(array.base) or self._shared.setdefault(array.base, Shadow(array, piece))
        steps = np.arange(access.nbytes // piece)
        index = (np.broadcast_to(array.index(address, piece), inside.shape)[inside][:, np.newaxis] + steps).reshape(-1)
        threads = Accesses(self._clocks, np.repeat(np.flatnonzero(inside), len(steps)))
        return ArrayAccess(access, array, name, shadow, address, index, threads)

    def _load(self, accesses: ArrayAccess) -> None:
        shadow, at = accesses.shadow, accesses.at
        self._check_written(accesses)
        strong, number = self._flag_reads.strong(at), self._instructions.number(at)
        earlier: tuple[LastAccess, ...] = (*shadow.stores, *(() if strong else (shadow.strong_stores,)))
        if "nc" in effect(at).order:
            self._races.check_stale(accesses, *earlier)
        else:
            self._races.check(accesses, *earlier)
        shadow.unread[accesses.index] = False
        (shadow.strong_loads if strong else shadow.loads).note(accesses.index, accesses.threads, number)
        if strong:
            shadow.strong_stores.note_in_turn(accesses.index, accesses.threads, number, stores=False, observes=True)
            self._synchronise(accesses, reads=True, writes=False)

    def _store(self, accesses: ArrayAccess) -> None:
        shadow, does, kind, races = accesses.shadow, effect(accesses.at), accesses.access.kind, self._races
        atomic = kind == "atomic" or does.step == "reduce"
        if atomic and (does.kind == "mbarrier" or does.step == "arrive"):
            # Clocks of events order accesses by mbarriers.
            self._check_written(accesses)
            races.check(accesses, *shadow.stores)
            if does.step == "inval":
                races.check(accesses, *shadow.loads)
            else:
                shadow.loads.note(accesses.index, accesses.threads, self._instructions.number(accesses.at))
            return
        if does.kind in ("remote store", "copy", "bulk copy") and kind != "copy":
            # It lands now; :meth:`_copy` has checked it when it was issued.
            if atomic:
                races.check(accesses, *shadow.stores)
            elif does.kind == "copy":
                self._landed.append(accesses)
            return
        strong, number = atomic or does.strong, self._instructions.number(accesses.at)
        if atomic:
            self._check_written(accesses)
        racing = np.zeros(accesses.index.shape, np.bool_) if strong else races.check_colliding(accesses)
        if strong and does.scope == "cta" and accesses.access.space == "global":
            racing |= races.check_other_blocks(accesses, shadow.strong_stores)
        writes: tuple[LastAccess, ...] = (*shadow.stores, *(() if strong else (shadow.strong_stores,)))
        reads = (*shadow.loads, *(() if strong else shadow.strong_loads))
        if accesses.access.sent is not None:  # A bulk copy lands: no barrier orders it.
            for last in (*writes, *reads):
                racing |= races.check_overtaking(accesses, last, self._issued[accesses.access.sent])
        racing |= races.check_writes(accesses, *writes) | races.check(accesses, *reads)
        if accesses.access.space == "global" and self._global.is_input(accesses.array):
            every = np.ones(accesses.index.shape, np.bool_)
            self._report("input-overwritten", accesses, every, ", which the kernel may only read")
        if accesses.array is self._global.output and not atomic and id(accesses.at) not in self._accumulating:
            lost = shadow.unread[accesses.index] & ~racing
            text = " a second time; what was there has never been read, and is lost"
            self._report("overwritten-output", accesses, lost, text)
        shadow.write(accesses.index)
        if not strong:
            shadow.stores.note(accesses.index, accesses.threads, number)
            return
        observes = self._flag_reads.observes(accesses.at)
        shadow.strong_stores.note_in_turn(accesses.index, accesses.threads, number, stores=True, observes=observes)
        if kind != "copy":
            self._synchronise(accesses, reads=observes, writes=True)

    def _copy(self, accesses: ArrayAccess) -> None:
        """Check writes by a copy; :class:`Asynchrony` checks that threads wait for it."""
        if accesses.access.space == "global":
            self._store(accesses)
            return
        shadow, does = accesses.shadow, effect(accesses.at)
        if does.step == "reduce":
            self._check_written(accesses)
        self._races.check(accesses, *shadow.loads, *shadow.stores)
        if does.kind == "copy":  # It is ordered after what its thread has done before.
            shadow.stores.note(accesses.index, accesses.threads, self._instructions.number(accesses.at))
        shadow.write(accesses.index)

    def _fetch(self, accesses: ArrayAccess) -> None:
        """Check reads by an asynchronous instruction; :class:`Asynchrony` checks later writes."""
        self._check_written(accesses)
        self._races.check(accesses, *accesses.shadow.stores, accesses.shadow.strong_stores)
        accesses.shadow.unread[accesses.index] = False

    def _synchronise(self, accesses: ArrayAccess, *, reads: bool, writes: bool) -> None:
        """Let strong accesses, one after the other, acquire and release clocks by flags."""
        if not self._flag_reads.any:
            return
        acquires, releases = scope(accesses.at, "acquire"), scope(accesses.at, "release")
        # Each batch has its own shared memory.
        batch = () if accesses.access.space == "global" else self._batch.first
        if writes:
            self._order.tick()
        threads, waits = accesses.threads, accesses.access.kind == "load" or self._flag_reads.waits(accesses.at)
        columns = (accesses.index, threads.lane, threads.thread, threads.block)
        for index, lane, thread, block in zip(*(column.tolist() for column in columns), strict=True):
            flag = (accesses.array.base, index, *batch)
            if reads:
                self._order.read(flag, thread, block, acquires, waits=waits)
            if writes:
                self._clocks.write(flag, lane, releases, adds=accesses.access.kind == "atomic")

    def _check_written(self, accesses: ArrayAccess) -> None:
        wrong = ~accesses.shadow.written[accesses.index]
        if not wrong.any():
            return
        read, reads = accesses.violation(KIND, wrong, self._unwritten), self._unwritten_reads
        if reads.waits(accesses, wrong):
            reads.wait(read)
        else:
            self._record(read)

    def _report(self, kind: str, accesses: ArrayAccess, wrong: Flags, text: str) -> None:
        if wrong.any():
            self._record(accesses.violation(kind, wrong, text))

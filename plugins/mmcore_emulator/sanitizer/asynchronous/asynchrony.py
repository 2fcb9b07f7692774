"""An observer of asynchronous instructions, mbarriers, and accesses to shared memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.asynchronous import events
from mmcore_emulator.machine.asynchronous.events import BLOCK_WORDS, Transfer
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.observer import Access, LaneViolation, Observer
from mmcore_emulator.numerics.types import Flags, Integers, Values
from mmcore_emulator.ptx.instructions import Block, Instruction
from mmcore_emulator.sanitizer.asynchronous.in_flight import InFlight
from mmcore_emulator.sanitizer.early_waits import EarlyWaits
from mmcore_emulator.sanitizer.happens_before.batch_clocks import BatchClocks
from mmcore_emulator.sanitizer.happens_before.mbarrier_clocks import MbarrierClocks
from mmcore_emulator.sanitizer.happens_before.numbering import InstructionNumbers, LaneNumbers
from mmcore_emulator.sanitizer.loops import Loops
from mmcore_emulator.sanitizer.recording import SharedReport

_UNORDERED = "missing-proxy-fence"
_UNFENCED = "reads {} asynchronously, which threads have written before: fence.proxy.async between is missing"
_UNFENCED_MBARRIER = (
    "begins a bulk copy that completes the mbarrier {}, which was initialised with neither fence.mbarrier_init nor "
    "fence.proxy.async behind"
)

_TWICE = "waits for a phase of the mbarrier {} for which it has waited already: what it waits for may be the next one"
_LEFT = "accesses shared memory of block {}, which may have ended by then: a cluster barrier behind it is missing"
_REMOTE = ("remote", 0)


class Proxies:
    """The latest write by threads to each word of the shared memory of a batch's blocks, and the fences after it."""

    def __init__(self, numbers: LaneNumbers, report: SharedReport) -> None:
        self._block_in_batch, self._blocks, self._report = numbers.block_in_batch, numbers.batch.extent.size, report
        lanes, blocks = numbers.batch.lanes, self._blocks
        # The lane, time and instruction of each word's latest write.
        self._writer, self._written, self._written_by = (np.zeros(blocks * BLOCK_WORDS, np.int32) for _ in range(3))
        self._instructions = InstructionNumbers()
        self._fenced, self._synchronised = (np.zeros(lanes, np.int32) for _ in range(2))
        # The time until which fences after barriers order the writes of a lane's block before what that lane does.
        self._fenced_until = np.zeros(lanes, np.int32)

    def write(self, words: Integers, lanes: Integers, at: Instruction, now: int) -> None:
        """Note that lanes write words, a row for each lane."""
        self._writer[words], self._written[words] = lanes[:, np.newaxis], now
        self._written_by[words] = self._instructions.number(at)

    def forget(self, words: Integers) -> None:
        """Forget the writes to words."""
        self._written[words] = 0

    def synchronise(self, lanes: Integers, now: int) -> None:
        """Note that lanes leave a barrier: their next fences order what other threads wrote before it."""
        self._synchronised[lanes] = now
        self.meet(lanes)

    def meet(self, lanes: Integers) -> None:
        """Note that lanes leave a barrier of any kind: fences of their blocks' lanes count for all of them."""
        of_block = np.zeros(self._blocks, np.int32)
        np.maximum.at(of_block, self._block_in_batch, self._fenced_until)
        self._fenced_until[lanes] = of_block[self._block_in_batch[lanes]]

    def fence(self, lanes: Integers, now: int) -> None:
        """Note that lanes execute a fence between the proxies."""
        self._fenced[lanes] = now
        self._fenced_until[lanes] = self._synchronised[lanes]

    def check_reads(self, transfer: Transfer) -> None:
        """Check that fences order writes by threads before asynchronous reads of the words."""
        self._check(_UNORDERED, _UNFENCED, transfer, transfer.words)

    def check_mbarriers(self, transfer: Transfer, mbarriers: Integers) -> None:
        """Check that fences order the initialisation of mbarriers before copies that complete them."""
        words = mbarriers[:, np.newaxis] // 4
        self._check("unfenced-mbarrier", _UNFENCED_MBARRIER, transfer, words)
        self.forget(words)

    def _check(self, kind: str, text: str, transfer: Transfer, words: Integers) -> None:
        unfenced = self._unfenced(words, transfer.lanes)
        if unfenced.any():
            word = int(words[unfenced][0])
            lanes, writer = transfer.lanes[unfenced.any(axis=1), 0], self._instructions[int(self._written_by[word])]
            # Compilers and libraries let wgmma read what cp.async has written after its wait and a barrier alone.
            kind = "unfenced-copy" if kind == _UNORDERED and effect(writer).kind == "copy" else kind
            self._report.add(kind, transfer.at, lanes, text.format(self._report.name(word)), writer)

    def _unfenced(self, words: Integers, lanes: Integers) -> Flags:
        """Return which words (none where less than 0) threads have written with no fence before lanes of a row."""
        written = np.where(words >= 0, self._written[words], 0)
        # One lane of each warp may fence.
        until = self._fenced_until[lanes].reshape(len(lanes), -1, min(WARP, lanes.shape[1])).max(axis=2).min(axis=1)
        ordered = np.maximum(self._fenced[self._writer[words]], until[:, np.newaxis])
        return np.asarray((written > 0) & (ordered < written))


class Asynchrony(Observer):
    """An observer of a batch of blocks."""

    def __init__(self, clocks: BatchClocks, report: SharedReport, waits: EarlyWaits, loops: Loops) -> None:
        self._numbers, self._order, self._report = clocks.numbers, clocks.order, report
        self._waits = waits
        self._events = clocks.events
        self._in_flight, self._proxies = InFlight(self._events, report, loops), Proxies(clocks.numbers, report)
        self._mbarriers = MbarrierClocks(clocks, report)
        # The parity of the phase after the last one that each lane has waited for, by mbarrier.
        self._parities: dict[int, NDArray[np.int8]] = {}
        # The last access of each block to another's memory, by their numbers: its lane, instruction and time.
        self._remote_accesses: dict[tuple[int, int], tuple[int, Instruction, int]] = {}
        self._deadlocked: set[int] = set()

    def event(self, event: events.Event) -> None:
        now, numbers = self._order.tick(), self._numbers
        match event:
            case events.Issued(transfer) if transfer.writes:
                self._in_flight.begin_write(transfer)
                self._waits.forget(transfer.lanes)
                if transfer.mbarriers is not None and effect(transfer.at).kind == "bulk copy":
                    self._proxies.check_mbarriers(transfer, transfer.mbarriers)
            case events.Issued(transfer):
                self._in_flight.read(transfer.at, transfer.words, transfer.lanes)
                self._proxies.check_reads(transfer)
                self._in_flight.begin_read(transfer)
            case events.Landed(transfer):
                assert transfer.mbarriers is not None
                self._in_flight.land(transfer, transfer.mbarriers)
                self._proxies.forget(transfer.words[transfer.words >= 0])
                if effect(transfer.at).kind != "bulk copy":
                    self._proxies.write(transfer.words, transfer.lanes[:, 0], transfer.at, now)
            case events.Committed(kind, mask):
                self._in_flight.commit(kind, numbers.lanes(mask))
            case events.Waited(kind, most, mask):
                self._in_flight.wait_for_groups(kind, most, numbers.lanes(mask))
            case events.Made(places, mask):
                made = np.unique(places.reshape(-1)[numbers.lanes(mask)]).tolist()
                self._mbarriers.reset(made)
                for place in made:
                    self._parities.pop(place, None)
            case events.ArrivalSent(_, mask):
                self._mbarriers.send(event, numbers.lanes(mask))
            case events.Arrived(sent, parity):
                lanes = numbers.lanes(sent.mask)
                places = sent.places.reshape(-1)[lanes]
                self._reach(lanes, places // events.BLOCK_BYTES, sent.at)
                self._mbarriers.deliver(sent, lanes, places, numbers.flat(parity)[lanes])
            case events.Passed(places, parity, mask, at, relaxed, awaited):
                lanes = numbers.lanes(mask)
                places = places.reshape(-1)[lanes]
                parity = numbers.flat(parity)[lanes]
                awaited = None if awaited is None else numbers.flat(awaited)[lanes]
                self._check_phases(lanes, places, parity, at)
                self._proxies.synchronise(lanes, now)
                self._mbarriers.wait(at, lanes, places, parity, awaited, relaxed)
                for place in np.unique(places).tolist():
                    early = self._mbarriers.is_new(place)
                    self._waits.note(at, self._report.name(place // 4), lanes[places == place], early)
                self._in_flight.pass_phase(lanes, places)
            case events.EndedEarly():
                self._in_flight.end_early(event)
            case events.ProxyFenced(mask, _):
                self._proxies.fence(numbers.lanes(mask), now)

    def synchronise(self, left: Sequence[tuple[Block, Mask | None]], number: Values, count: Values) -> None:
        now = self._order.tick()
        for _, mask in left:
            self._proxies.synchronise(self._numbers.lanes(mask), now)

    def meet(self, lanes: Values, named: Values) -> None:
        self._proxies.meet(np.flatnonzero(lanes))

    def fence(self, scope: str, mask: Mask | None) -> None:
        self._mbarriers.fence(self._numbers.lanes(mask))

    def access(self, access: Access) -> None:
        does = effect(access.at)
        if access.space != "shared" or access.kind in ("copy", "fetch") or does.kind == "remote store":
            return  # Transfers have been seen when they were issued.
        lanes = self._numbers.lanes(access.mask)
        address = self._numbers.flat(access.address)[lanes]
        array = access.memory.at(int(address[0]))
        if array is None or array.copies is None or not array.stride:
            return
        owner = self._numbers.flat(array.copies // np.uint64(array.stride))[lanes].astype(np.int64)
        first = (owner * events.BLOCK_BYTES + (address.astype(np.int64) & (events.BLOCK_BYTES - 1))) // 4
        words = first[:, np.newaxis] + np.arange(max(1, access.nbytes // 4))
        now = self._order.tick()
        self._reach(lanes, owner, access.at)
        lands = does.kind in ("copy", "bulk copy") and does.step != "reduce"
        if lands:
            self._in_flight.land_copies_of_threads(words)
        elif self._in_flight.any:
            check = self._in_flight.read if access.kind == "load" else self._in_flight.write
            check(access.at, words, lanes[:, np.newaxis])
        if lands or (access.kind != "load" and (does.kind != "mbarrier" or does.step == "init")):
            self._proxies.write(words, lanes, access.at, now)
            self._waits.forget(lanes)

    def violation(self, violation: LaneViolation) -> None:
        if violation.kind == "deadlock":
            self._deadlocked.update(self._numbers.block_in_batch[self._numbers.flat(violation.lanes)].tolist())

    def _check_phases(self, lanes: Integers, places: Integers, parity: Values, at: Instruction) -> None:
        """Report lanes that have waited for the same phases of their mbarriers before."""
        for place in np.unique(places).tolist():
            last = self._parities.setdefault(place, np.full(self._numbers.batch.lanes, -1, np.int8))
            waiting, parities = lanes[places == place], parity[places == place]
            again = waiting[last[waiting] == parities]
            if again.size:
                self._report.add("phase-waited-twice", at, again, _TWICE.format(self._report.name(place // 4)))
            last[waiting] = parities

    def _reach(self, lanes: Integers, owners: Integers, at: Instruction) -> None:
        """Note that lanes access the memory of other blocks, which must not have ended."""
        blocks = self._numbers.block_in_batch[lanes]
        remote = owners != blocks
        for owner, block in sorted(set(zip(owners[remote].tolist(), blocks[remote].tolist(), strict=True))):
            reaching = lanes[(owners == owner) & (blocks == block)]
            self._events.acquire(reaching, self._numbers.block_in_batch[reaching], _REMOTE, self._order.now)
            self._remote_accesses[owner, block] = int(reaching[0]), at, self._order.now

    def ran(self, batch: Batch, thread_instructions: int, watcher: Observer | None) -> None:
        for (owner, block), (lane, at, time) in self._remote_accesses.items():
            lanes = np.flatnonzero(self._numbers.block_in_batch == owner)
            times = self._events.of_kind(lanes, np.full(len(lanes), block), _REMOTE)
            if owner not in self._deadlocked and not (times >= time).any():
                self._report.add("cluster-exit", at, [lane], _LEFT.format(self._report.block_name(owner)))
        self._in_flight.end()

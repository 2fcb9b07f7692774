"""Hazards of asynchronous copies and products in shared memory: who reads before a copy has landed, or writes what is
still to be read.

What is under way is kept for each word of the shared memory of a batch's blocks: the copy that writes it, the copy that
has written it last, what may still read it. A thread may read what a bulk copy has written if it knows, by a wait of
its own or through others, that the phase of its mbarrier is over; it may write where an asynchronous instruction reads
if it knows that this has ended. Reference: PTX ISA, "Asynchronous operations" and "Async proxy".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.executor.translation.layout import Layout
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.accesses import Access, LaneViolation
from mmcore_emulator.machine.asynchronous.events import (
    BLOCK_BYTES,
    BLOCK_WORDS,
    ArrivalSent,
    Arrived,
    Committed,
    Event,
    Issued,
    Landed,
    Made,
    Passed,
    ProxyFenced,
    Transfer,
    Waited,
)
from mmcore_emulator.machine.lanes import WARP, Batch, Mask
from mmcore_emulator.machine.warps import Warps
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.event_clocks import EventClocks, Kind, block_of
from mmcore_emulator.sanitizer.ordering import NOTHING, Clocks, Knowledge, joined
from mmcore_emulator.sanitizer.origins import Origins
from mmcore_emulator.sanitizer.proxies import Proxies

Words = NDArray[np.int64]
Rows = NDArray[np.int64]
_WARPGROUP = 4 * WARP
# Stores that threads send, which are no accesses of the async proxy.
_NONE = np.zeros((0, 0), np.int64)


class _Reader(NamedTuple):
    """What reads shared memory asynchronously, of one warpgroup or thread of each block."""

    group: NDArray[np.int32]  # for each word, the group of the latest reading; 0 for none
    by: NDArray[np.int32]  # for each word, the number of that transfer


class _Guard(NamedTuple):
    """What a thread must know to read what a bulk copy has written, by the number of the block that it is in."""

    column: NDArray[np.int64]  # of the mbarrier among the threads' knowledge
    landing: NDArray[np.int64]  # the copy's number among those that have landed there


class Asynchrony:
    """Asynchronous accesses of a batch of blocks."""

    def __init__(
        self, batch: Batch, warps: Warps, layout: Layout, ordinary: Clocks, record: Callable[[LaneViolation], None]
    ) -> None:
        self._batch, self._layout, self._record, self._ordinary = batch, layout, record, ordinary
        self.clocks = EventClocks(batch, warps)
        self._thread = self.clocks.thread
        words = batch.extent.size * BLOCK_WORDS
        # The number of a transfer that writes each word, and of the one that has written it last; 0 for none.
        self._pending, self._landed = (np.zeros(words, np.int32) for _ in range(2))
        self._origins, self._proxies = Origins(batch.extent.size), Proxies(batch.lanes, batch.extent.size)
        self._readers: dict[Kind, _Reader] = {}
        # By number, without what is only needed when they begin and land.
        self._transfers: list[Transfer] = [Transfer(Instruction(("",), ()), _NONE, _NONE, False)]
        self._under_way: dict[int, int] = {}
        self._guards: dict[int, _Guard] = {}
        self._landings: dict[int, int] = {}
        # Of each mbarrier, the parity of the phase that followed the last one that each lane has waited for.
        self._parities: dict[int, NDArray[np.int8]] = {}
        self._groups: dict[str, NDArray[np.int64]] = {}
        # What lanes knew when they sent arrivals that have not come yet.
        self._words: dict[ArrivalSent, NDArray[np.int32]] = {}
        # Likewise what they knew by flags, and what those who wait for each mbarrier are told of that.
        self._by_flags: dict[ArrivalSent, list[Knowledge]] = {}
        self._told: dict[int, Knowledge] = {}
        # Of each mbarrier, the lanes that have waited for it without an acquire, and made no fence since.
        self._unacquired: dict[int, NDArray[np.bool_]] = {}
        self._now = 0
        self._remote: dict[tuple[int, int], tuple[int, Instruction, int]] = {}
        self._stuck: set[int] = set()

    @property
    def idle(self) -> bool:
        """Whether there has been no asynchronous access yet."""
        return len(self._transfers) == 1

    def event(self, event: Event) -> None:
        """An asynchronous instruction has done something."""
        self._now += 1
        match event:
            case Issued(transfer):
                (self._copies if transfer.writes else self._reads)(transfer)
            case Landed(transfer):
                self._lands(transfer)
            case Committed(kind, mask):
                self._committed(kind)[self._lanes(mask)] += 1
            case Waited(kind, most, mask):
                self._waited(kind, most, self._lanes(mask))
            case Made(places, mask):
                for place in np.unique(places.reshape(-1)[self._lanes(mask)]).tolist():
                    self._parities.pop(place, None)
                    self._told.pop(place, None)
                    self.clocks.forget(place)
            case ArrivalSent(_, mask, _, relaxed):
                lanes, known = self._lanes(mask), self._ordinary
                of_block = known.fenced_of_block(lanes, relaxed) if relaxed else known.of_block(lanes)
                self._words[event] = self.clocks.word(lanes, of_block)
                if known.order.flags_read:
                    threads = known.threads(lanes)
                    self._by_flags[event] = [known.order.told(thread, relaxed) for thread in threads]
            case Arrived(sent):
                lanes = self._lanes(sent.mask)
                objects = sent.places.reshape(-1)[lanes]
                self._reaches(lanes, block_of(objects), sent.at)
                self.clocks.deliver(self._words.pop(sent), objects)
                for place, told in zip(objects.tolist(), self._by_flags.pop(sent, ()), strict=False):
                    self._told[place] = joined(self._told.get(place, NOTHING), told)
            case Passed(places, parity, mask, at, relaxed):
                lanes, places = self._lanes(mask), places.reshape(-1)
                parities = np.broadcast_to(parity, self._batch.shape).reshape(-1)
                self._twice(lanes, places[lanes], parities[lanes], at)
                self._passed(lanes, places, relaxed)
            case ProxyFenced(mask, _):
                lanes = self._lanes(mask)
                self._proxies.fence(lanes, self.clocks.block[lanes], self._now)

    def barrier(self, lanes: NDArray[np.bool_], number: NDArray[np.uint32]) -> None:
        """Lanes leave barriers of their blocks."""
        flat = np.flatnonzero(lanes)
        self._now += 1
        self._proxies.meet(flat, self._now)
        numbers = np.broadcast_to(number, self._batch.shape).reshape(-1)[flat].astype(np.int64)
        self.clocks.barrier(flat, numbers)

    def arrive(self, lanes: NDArray[np.bool_], number: NDArray[np.uint32]) -> None:
        """Lanes have arrived at barriers of their blocks, and go on."""
        flat = np.flatnonzero(lanes)
        numbers = np.broadcast_to(number, self._batch.shape).reshape(-1)[flat].astype(np.int64)
        self.clocks.arrive_at_barrier(flat, numbers)

    def meet(self, lanes: NDArray[np.bool_], named: NDArray[np.uint32]) -> None:
        """Lanes leave barriers of their warps."""
        flat = np.flatnonzero(lanes)
        self.clocks.meet_warps(flat, np.broadcast_to(named, self._batch.shape).reshape(-1)[flat].astype(np.int64))

    def meet_cluster(self, lanes: NDArray[np.bool_]) -> None:
        """Lanes leave the barrier of their clusters."""
        numbers = np.broadcast_to(self._batch.number_in_grid(), self._batch.shape)
        flat = np.flatnonzero(lanes)
        self._now += 1
        self._proxies.meet(flat, self._now)
        self.clocks.meet(flat, self._batch.by_cluster(np.min, numbers).reshape(-1)[flat])

    def access(self, access: Access) -> None:
        """Threads access shared memory, of their own blocks or of others."""
        does = effect(access.at)
        if does.kind == "remote store":  # they land, and were seen when they were sent
            return
        lanes = self._lanes(access.mask)
        array = access.memory.at(int(np.broadcast_to(access.address, self._batch.shape).reshape(-1)[lanes[0]]))
        if array is None or array.copies is None or not array.stride:
            return
        owner = np.broadcast_to(array.copies // np.uint64(array.stride), self._batch.shape).reshape(-1)[lanes]
        owner = owner.astype(np.int64)
        inside = np.broadcast_to(access.address, self._batch.shape).reshape(-1)[lanes].astype(np.int64)
        first = (owner * BLOCK_BYTES + (inside & (BLOCK_BYTES - 1))) // 4
        words = first[:, np.newaxis] + np.arange(max(1, access.nbytes // 4))
        self._now += 1
        if (owner != self.clocks.block[lanes]).any():
            self._reaches(lanes, owner, access.at)
        if does.kind in ("copy", "bulk copy") and does.step != "reduce":
            self._pending[words] = 0
            self._origins.land(words)
            self._proxies.write(words, lanes, access.at, self._now)
        elif access.kind == "load":
            if not self.idle:
                self._check_read(access.at, words, lanes[:, np.newaxis])
        else:
            if not self.idle:
                self._check_write(access.at, words, lanes[:, np.newaxis])
                self._landed[words] = 0
                self._origins.forget(words)
            if does.kind != "mbarrier" or does.step == "init":
                self._proxies.write(words, lanes, access.at, self._now)

    def stuck(self, lanes: NDArray[np.bool_]) -> None:
        """Lanes wait for what never happens, so that their blocks do not end."""
        self._stuck.update(self.clocks.block[lanes.reshape(-1)].tolist())

    def end(self) -> None:
        """The batch's threads have ended, or are stuck."""
        for (owner, block), (lane, at, number) in self._remote.items():
            if owner in self._stuck:
                continue
            column = self.clocks.column(int(self.clocks.rank[block]), ("remote", 0))
            if not (self.clocks.known[self.clocks.block == owner, column] >= number).any():
                self._report("cluster-exit", at, [lane], _LEFT.format(self._block_name(owner)))
        pending = np.unique(self._pending)
        for number in pending[pending > 0].tolist():
            transfer = self._transfers[number]
            if transfer.mbarriers is not None:
                self._report("unawaited-copy", transfer.at, transfer.lanes[:, 0], _UNAWAITED)
        for kind, reader in self._readers.items():
            if kind[0] == "bulk":
                self._check_last_stores(kind, reader)

    def _check_last_stores(self, kind: Kind, reader: _Reader) -> None:
        """A block must not end while copies still read its memory."""
        blocks = self._batch.extent.size
        latest = reader.group.reshape(blocks, -1).max(axis=1)
        lanes = np.flatnonzero(self._thread == kind[1])
        own = self.clocks.block[lanes]
        columns = self.clocks.columns(own, kind)
        late = lanes[self.clocks.known[lanes, columns] < latest[own]]
        if late.size:
            block = int(self.clocks.block[late[0]])
            word = block * BLOCK_WORDS + int(reader.group.reshape(blocks, -1)[block].argmax())
            self._report("unawaited-copy", self._transfers[int(reader.by[word])].at, late, _UNAWAITED_STORE)

    def _lanes(self, mask: Mask | None) -> NDArray[np.int64]:
        return np.flatnonzero(self._batch.spread(mask))

    def _copies(self, transfer: Transfer) -> None:
        """Copies to shared memory begin."""
        self._check_write(transfer.at, transfer.words, transfer.lanes)
        number = self._begun(transfer)
        self._pending[transfer.words[transfer.words >= 0]] = number
        if transfer.mbarriers is not None:
            self._under_way[id(transfer)] = number
            if effect(transfer.at).kind == "bulk copy":
                self._check_mbarriers(transfer)
        elif transfer.origin is not None:
            self._origins.send(transfer.words, transfer.origin)

    def _check_mbarriers(self, transfer: Transfer) -> None:
        """Who initialises an mbarrier must order that before what completes it asynchronously."""
        assert transfer.mbarriers is not None
        words = transfer.mbarriers // 4
        late = self._proxies.unfenced(words)
        if late.any():
            writer = self._proxies.writer(int(words[late.argmax()]))
            text = _UNFENCED_MBARRIER.format(self._name(words[late]))
            self._report("unfenced-mbarrier", transfer.at, transfer.lanes[late, 0], text, writer)
        self._proxies.forget(words)

    def _begun(self, transfer: Transfer) -> int:
        self._transfers.append(replace(transfer, words=_NONE, origin=None))
        return len(self._transfers) - 1

    def _lands(self, transfer: Transfer) -> None:
        """Copies are told of at their mbarriers."""
        number = self._under_way.pop(id(transfer))
        assert transfer.mbarriers is not None
        guard = self._guards[number] = _Guard(*(np.zeros(self._batch.extent.size, np.int64) for _ in range(2)))
        for mbarrier in transfer.mbarriers.tolist():
            block = mbarrier // BLOCK_BYTES
            self._landings[mbarrier] = guard.landing[block] = self._landings.get(mbarrier, 0) + 1
            guard.column[block] = self._mbarrier_column(mbarrier)
        there = transfer.words >= 0
        words = transfer.words[there]
        self._pending[words[self._pending[words] == number]], self._landed[words] = 0, number
        self._proxies.forget(words)
        if effect(transfer.at).kind != "bulk copy":
            self._proxies.write(transfer.words, transfer.lanes[:, 0], transfer.at, self._now)
        if transfer.origin is not None:
            self._origins.land_in_bulk(transfer.words, transfer.origin)

    def _reads(self, transfer: Transfer) -> None:
        """Asynchronous instructions begin to read shared memory."""
        self._check_read(transfer.at, transfer.words, transfer.lanes)
        self._check_fences(transfer)
        if all(transfer.shape):
            self._check_descriptor(transfer)
        number = self._begun(transfer)
        first = transfer.lanes[:, 0]
        wide = transfer.lanes.shape[1] > 1
        kind = "wgmma" if wide else "bulk"
        groups = self._committed(kind)[first] + 1
        numbers = self._thread[first] // (_WARPGROUP if wide else 1)
        for each in np.unique(numbers).tolist():
            here = numbers == each
            words = transfer.words[here]
            reader = self._reader((kind, each))
            spread = np.broadcast_to(groups[here, np.newaxis], words.shape)[words >= 0]
            reader.group[words[words >= 0]], reader.by[words[words >= 0]] = spread, number

    def _reader(self, kind: Kind) -> _Reader:
        if kind not in self._readers:
            self._readers[kind] = _Reader(*(np.zeros(len(self._pending), np.int32) for _ in range(2)))
        return self._readers[kind]

    def _committed(self, kind: str) -> NDArray[np.int64]:
        """Groups that each lane has committed."""
        return self._groups.setdefault(kind, np.zeros(len(self._thread), np.int64))

    def _waited(self, kind: str, most: int, lanes: NDArray[np.int64]) -> None:
        done = self._committed(kind)[lanes] - most
        numbers = self._thread[lanes] // (_WARPGROUP if kind == "wgmma" else 1)
        for reader in [each for each in self._readers if each[0] == kind]:
            here = numbers == reader[1]
            if here.any():
                columns = self.clocks.columns(self.clocks.block[lanes[here]], reader)
                self.clocks.learn(lanes[here], columns, done[here])

    def _twice(self, lanes: NDArray[np.int64], places: Words, parity: NDArray[np.int64], at: Instruction) -> None:
        """Lanes that have passed this phase of their mbarriers before."""
        for place in np.unique(places).tolist():
            passed = self._parities.setdefault(place, np.full(len(self._thread), -1, np.int8))
            here = places == place
            again = lanes[here][passed[lanes[here]] == parity[here]]
            if again.size:
                self._report("phase-waited-twice", at, again, _TWICE.format(self._name(np.array([place // 4]))))
            passed[lanes[here]] = parity[here]

    def fence(self, lanes: NDArray[np.bool_]) -> None:
        """Lanes come to know what those have told for whom they have waited without an acquire."""
        fencing = np.flatnonzero(lanes)
        for place, waited in self._unacquired.items():
            here = fencing[waited[fencing]]
            self._learn(here, np.full(len(here), place))
            waited[fencing] = False

    def _passed(self, lanes: NDArray[np.int64], places: NDArray[np.int64], relaxed: bool) -> None:
        self._proxies.meet(lanes, self._now)
        if relaxed:
            for place in np.unique(places[lanes]).tolist():
                waited = self._unacquired.setdefault(place, np.zeros(len(self._thread), np.bool_))
                waited[lanes[places[lanes] == place]] = True
        else:
            self._learn(lanes, places[lanes])
        for place in np.unique(places[lanes]).tolist():
            if place in self._landings:
                here = lanes[places[lanes] == place]
                column = self._mbarrier_column(place)
                self.clocks.learn(here, np.full(len(here), column), np.full(len(here), self._landings[place]))

    def _learn(self, lanes: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        """Lanes come to know what those knew who have arrived at their mbarriers."""
        self.clocks.told(lanes, places)
        for place in self._told if self._told and lanes.size else ():
            self._ordinary.order.tell(self._ordinary.threads(lanes[places == place]), self._told[place])

    def _mbarrier_column(self, place: int) -> int:
        block, inside = divmod(place, BLOCK_BYTES)
        return self.clocks.column(int(self.clocks.rank[block]), ("mbarrier", inside))

    def _reaches(self, lanes: NDArray[np.int64], owners: NDArray[np.int64], at: Instruction) -> None:
        """Lanes access the memory of other blocks, which must not have ended."""
        blocks = self.clocks.block[lanes]
        for owner, block in np.unique(np.stack([owners, blocks])[:, owners != blocks], axis=1).T.tolist():
            column = self.clocks.column(int(self.clocks.rank[block]), ("remote", 0))
            here = lanes[(owners == owner) & (blocks == block)]
            self.clocks.learn(here, np.full(len(here), column), np.full(len(here), self._now))
            self._remote[owner, block] = int(here[0]), at, self._now

    def _check_read(self, at: Instruction, words: Words, lanes: Rows) -> None:
        there = words >= 0
        for number, rows in self._by_transfer(self._pending, words, there):
            transfer = self._transfers[number]
            text = _UNFINISHED if transfer.mbarriers is None else _UNFINISHED_BULK
            self._report("unfinished-copy", at, lanes[rows, 0], text.format(self._name(words[rows[0]])), transfer.at)
        for number, rows in self._by_transfer(self._landed, words, there):
            owners = words[rows].max(axis=1) // BLOCK_WORDS
            column, landing = (each[owners] for each in self._guards[number])
            # Those who read together must all know.
            known = self.clocks.known[lanes[rows], column[:, np.newaxis]].min(axis=1)
            late = rows[known < landing]
            if late.size:
                text = _UNFINISHED_BULK.format(self._name(words[late[0]]))
                self._report("unfinished-copy", at, lanes[late, 0], text, self._transfers[number].at)

    def _check_write(self, at: Instruction, words: Words, lanes: Rows) -> None:
        there = words >= 0
        for number, rows in self._by_transfer(self._pending, words, there):
            transfer = self._transfers[number]
            if not (effect(at).step == effect(transfer.at).step == "reduce"):
                text = _OVERWRITTEN_COPY.format(self._name(words[rows[0]]))
                self._report("unfinished-copy", at, lanes[rows, 0], text, transfer.at)
        for kind, reader in self._readers.items():
            groups = np.where(there, reader.group[words], 0)
            rows = np.flatnonzero(groups.any(axis=1))
            if not rows.size:
                continue
            owners = words[rows, groups[rows].argmax(axis=1)] // BLOCK_WORDS
            columns = self.clocks.columns(owners, kind)
            late = self.clocks.known[lanes[rows, 0], columns] < groups[rows].max(axis=1)
            if late.any():
                first = rows[late][0]
                word = int(words[first, groups[first].argmax()])
                transfer = self._transfers[int(reader.by[word])]
                text = (_STILL_READ if kind[0] == "wgmma" else _STILL_STORED).format(self._name(np.array([word])))
                self._report("overwritten-in-flight", at, lanes[rows[late], 0], text, transfer.at)

    def _check_fences(self, transfer: Transfer) -> None:
        """What threads have written must be ordered before asynchronous reads by a fence between the proxies."""
        words = transfer.words
        late = self._proxies.unfenced(words)
        for row in np.flatnonzero(late.any(axis=1))[:1].tolist():
            word = int(words[row, late[row].argmax()])
            writer = self._proxies.writer(word)
            text = _UNFENCED.format(self._name(np.array([word])))
            lanes = transfer.lanes[late.any(axis=1), 0]
            self._report("missing-proxy-fence", transfer.at, lanes, text, writer)

    def _check_descriptor(self, transfer: Transfer) -> None:
        """What a matrix's neighbouring chunks hold must be neighbours in global memory."""
        if (found := self._origins.misread(transfer)) is not None:
            wrong, word = found
            by = self._transfers[int(self._landed[word])]
            text = _MISMATCH.format(self._name(np.array([word])), transfer.layout, by.layout or "threads' own order")
            self._report("descriptor-mismatch", transfer.at, transfer.lanes[wrong, 0], text, by.at)

    def _by_transfer(
        self, numbers: NDArray[np.int32], words: Words, there: NDArray[np.bool_]
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """The transfers that words belong to, each with the rows that have such words."""
        found = np.where(there, numbers[words], 0)
        for number in np.unique(found).tolist():
            if number:
                yield number, np.flatnonzero((found == number).any(axis=1))

    def _name(self, words: NDArray[np.int64]) -> str:
        """The array that the first of some words is in, as the source calls it."""
        inside = int(words[words >= 0][0]) * 4 % BLOCK_BYTES
        bases = [(base & (BLOCK_BYTES - 1), base) for base, _ in self._layout.shared]
        bases.append((self._layout.dynamic_shared & (BLOCK_BYTES - 1), self._layout.dynamic_shared))
        begin, base = max((each for each in bases if each[0] <= inside), default=(0, 0))
        return f"{self._layout.shared_name(base) or 'shared memory'} (byte {inside - begin})"

    def _block_name(self, number: int) -> str:
        lane = int(np.flatnonzero(self.clocks.block == number)[0])
        block, _ = self._batch.position(tuple(int(each) for each in np.unravel_index(lane, self._batch.shape)))
        return f"({block.x}, {block.y})" if not block.z else f"({block.x}, {block.y}, {block.z})"

    def _report(
        self,
        kind: str,
        at: Instruction,
        lanes: NDArray[np.int64] | list[int],
        text: str,
        other: Instruction | None = None,
    ) -> None:
        marked = np.zeros(self._batch.lanes, np.bool_)
        marked[lanes] = True
        thread = self._thread

        def of_lane(lane: tuple[int, ...]) -> str:
            number = int(thread[int(np.ravel_multi_index(lane, self._batch.shape))])
            where = f" (at {other.source}:{other.line})" if other is not None and other.line else ""
            return f"(warp {number // WARP}) {text}{where}"

        self._record(LaneViolation(kind, "shared", at, marked.reshape(self._batch.shape), of_lane, other))


_UNFINISHED = (
    "reads {}, into which cp.async may still be copying: cp.async.wait_group (or its mbarrier's wait) is missing, or "
    "waits for too few groups"
)
_UNFINISHED_BULK = (
    "reads {}, into which a bulk copy may still be copying: it has not waited for that phase of its mbarrier, or that "
    "was told of fewer bytes than come"
)
_OVERWRITTEN_COPY = "writes {}, into which a copy may still be copying: nobody has waited for it"
_STILL_READ = (
    "writes {}, which wgmma may still be reading: wgmma.wait_group is missing there, or a barrier or mbarrier behind it"
)
_STILL_STORED = (
    "writes {}, which a bulk copy may still be reading: cp.async.bulk.wait_group.read is missing there, or a barrier "
    "behind it"
)
_UNFENCED = "reads {} asynchronously, which threads have written before: fence.proxy.async between is missing"
_TWICE = "waits for a phase of the mbarrier {} for which it has waited already: what it waits for may be the next one"
_UNFENCED_MBARRIER = (
    "begins a bulk copy that completes the mbarrier {}, which was initialised with neither fence.mbarrier_init nor "
    "fence.proxy.async behind"
)
_MISMATCH = (
    "does not find the matrix in {} as it was written: the descriptor says {}, the copy {}; neighbours there are no "
    "neighbours in global memory"
)
_LEFT = "accesses shared memory of block {}, which may have ended by then: a cluster barrier behind it is missing"
_UNAWAITED_STORE = (
    "begins a bulk copy of shared memory, and its block may end while that still reads it: "
    "cp.async.bulk.wait_group.read is missing"
)
_UNAWAITED = "begins a bulk copy that nobody waits for: the block may have ended, or use that memory, before it lands"

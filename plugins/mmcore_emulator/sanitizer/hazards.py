"""An observer that looks for hazards: who reads what nobody wrote, who races with whom, what becomes of the output."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np

from mmcore_emulator.executor.kernel_launch import place, place_in_source
from mmcore_emulator.executor.translation.layout import Layout
from mmcore_emulator.executor.translation.translate import Translation
from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.accesses import Access, BulkTransfer, LaneViolation, always
from mmcore_emulator.machine.asynchronous.events import Event, GridAwaited, ProxyFenced
from mmcore_emulator.machine.lanes import THREAD_AXES, WARP, Batch, Mask
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.machine.violations import Violation
from mmcore_emulator.machine.warps import Warps
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.blocks import Block
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.array_access import Hit, at_line, verb
from mmcore_emulator.sanitizer.asynchrony import Asynchrony
from mmcore_emulator.sanitizer.flags import compared, scope, seeing
from mmcore_emulator.sanitizer.ordering import Clocks, Order
from mmcore_emulator.sanitizer.pdl_hazards import EarlyAccesses
from mmcore_emulator.sanitizer.recording import Recorder
from mmcore_emulator.sanitizer.shadow import Accesses, Flags, GlobalShadows, LastAccess, Shadow
from mmcore_emulator.sanitizer.wgmma_registers import Multiplying, RegisterUse

_MEANINGS = {
    "out-of-bounds-read": "a GPU would give it anything, or stop the launch",
    "out-of-bounds-write": "a GPU would destroy what lies there, or stop the launch",
    "misaligned": "a GPU would stop the launch",
    "divergent-barrier": "on a GPU the block may hang, or go on too early",
    "deadlock": "on a GPU the launch would not end",
    "assertion": "a GPU would stop the launch",
    "trap": "a GPU would stop the launch",
    "illegal-branch": "a GPU may go on anywhere",
}
_SKIPPED = (
    "has ended, and does not come to the barrier that other threads of its block are in; "
    "before compute capability 7.0 the others would wait for it"
)
_ALONE = "executes wgmma, and another warp of its warpgroup does not, or less often: the four must do so together"
_ASYNCHRONOUS = ("copy", "bulk copy", "warpgroup", "mbarrier", "cluster address")


class Checking(Observer):
    """Looks for hazards in one launch.

    Attributes:
        talking: whether any thread looks at what others tell by flags.
        early_reads: the arrays that may be read before the launch in front is over, where this one may begin before;
            None where it may not.
    """

    early_reads: Collection[Array] | None = None

    def __init__(self, shadows: GlobalShadows, recorder: Recorder, translation: Translation) -> None:
        self._global = shadows
        self._layout = translation.layout
        self._launch_recorder = recorder
        self._order = Order()
        instructions = [each for block in translation.blocks for each in block.instructions]
        self._asynchronous = any(effect(each).kind in _ASYNCHRONOUS for each in instructions)
        self._registers = RegisterUse(translation.blocks)
        self._compared, self._seeing = compared(instructions), seeing(instructions)
        self.talking = bool(self._seeing) or any(
            effect(each).kind == "load" and self._strong(each) for each in instructions
        )
        # Every instruction that has accessed memory: LastAccess knows them by their index.
        self._instructions: list[Instruction] = []
        self._numbers: dict[int, int] = {}
        shadows.begin_launch()
        recorder.add(_misplaced(translation.layout))

    def begin(self, batch: Batch) -> Checking:
        own = copy(self)
        own._enter(batch)
        return own

    def _enter(self, batch: Batch) -> None:
        self._batch = batch
        self._recorder = self._launch_recorder.of(batch)
        self._shared: dict[int, Shadow] = {}
        # When bulk copies to global memory were sent.
        self._stores_sent: dict[BulkTransfer, int] = {}
        self._warps = Warps(batch)
        in_block, in_grid = batch.thread_index(), batch.number_in_grid()
        self._thread = np.broadcast_to(in_grid * batch.block.size + in_block + 1, batch.shape)
        self._warp = np.broadcast_to(in_block // WARP, batch.shape)
        self._block = np.broadcast_to(in_grid, batch.shape)
        self._order.blocks, self._order.block_size = batch.grid.size, batch.block.size
        self._clocks = Clocks(self._order, batch, self._warps, self._thread, self._block)
        self._states, self._multiplying = np.zeros(batch.lanes, np.int32), Multiplying(self._warps)
        self._early = None
        if self.early_reads is not None:
            self._early = EarlyAccesses(batch, self.early_reads, self._recorder.record)
        self._asynchrony = None
        if self._asynchronous:
            self._asynchrony = Asynchrony(batch, self._warps, self._layout, self._clocks, self._recorder.record)
            self._clocks.by_mbarriers = self._asynchrony.clocks

    def ran(self, batch: Batch, thread_instructions: int, own: Observer | None) -> None:
        assert isinstance(own, Checking)
        if own._asynchrony is not None:
            own._asynchrony.end()
        for at, lanes in own._multiplying.alone():
            own._recorder.record(LaneViolation("divergent-wgmma", None, at, lanes, always(_ALONE)))
        own._recorder.end()

    def enter(self, block: Block, mask: Mask | None) -> None:
        if self._registers.idle:
            return
        lanes = self._batch.spread(mask).reshape(-1)
        self._multiplying.enter(lanes.reshape(self._batch.shape), block)
        for misuse, own in self._registers.enter(self._states, lanes, block):
            clause = f"{misuse.clause} (there{at_line(misuse.other)})"
            found = LaneViolation(
                "wgmma-order", None, misuse.at, own.reshape(self._batch.shape), always(clause), misuse.other
            )
            self._recorder.record(found)

    def event(self, event: Event) -> None:
        if isinstance(event, GridAwaited):
            if self._early is not None:
                self._early.waited(event.mask)
        elif self._asynchrony is not None:
            self._asynchrony.event(event)
        if isinstance(event, ProxyFenced) and event.whole and self._batch.spread(event.mask).any():
            self._order.proxies_fenced = self._order.tick()

    def synchronise(self, left: Sequence[tuple[Block, Mask | None]], number: Values, count: Values) -> None:
        at = [self._batch.spread(mask) for _, mask in left]
        lanes = np.logical_or.reduce(at)
        self._clocks.barrier(lanes, number, count)
        if self._asynchrony is not None:
            self._asynchrony.barrier(lanes, number)
        for (block, _), here in zip(left, at, strict=True):
            of_all = here & (np.broadcast_to(count, lanes.shape) == 0)
            absent = ~lanes & of_all.any(axis=THREAD_AXES, keepdims=True)
            if absent.any():
                self._recorder.record(LaneViolation("skipped-barrier", None, block.end, absent, lambda _: _SKIPPED))
        for (block, _), here in zip(left, at, strict=True):
            for (other, _), there in zip(left, at, strict=True):
                apart = place_in_source(block.end) != place_in_source(other.end)
                # Those that say how many they wait for are meant to meet others elsewhere.
                together = here & there.any(axis=THREAD_AXES, keepdims=True) & (np.broadcast_to(count, here.shape) == 0)
                if apart and together.any():
                    self._recorder.record(LaneViolation("split-barrier", None, block.end, together, _meets(other)))

    def arrive(self, number: Values, mask: Mask | None) -> None:
        lanes = self._batch.spread(mask)
        self._clocks.arrive(lanes, number)
        if self._asynchrony is not None:
            self._asynchrony.arrive(lanes, number)

    def fence(self, scope: str, mask: Mask | None) -> None:
        lanes = self._batch.spread(mask)
        self._clocks.fence(scope, lanes)
        if self._asynchrony is not None:
            self._asynchrony.fence(lanes)

    def meet(self, lanes: Values, named: Values) -> None:
        self._clocks.meet(lanes, named)
        if self._asynchrony is not None:
            self._asynchrony.meet(lanes, named)

    def meet_cluster(self, left: Sequence[tuple[Block, Mask | None]], relaxed: Values) -> None:
        lanes = np.logical_or.reduce([self._batch.spread(mask) for _, mask in left])
        if not relaxed.any():
            self._clocks.fence("gpu", lanes)
            super().meet_cluster(left, relaxed)
        self._clocks.cluster(lanes, relaxed)
        if self._asynchrony is not None:
            self._asynchrony.meet_cluster(lanes)

    def violation(self, found: LaneViolation) -> None:
        if found.kind == "deadlock" and self._asynchrony is not None:
            self._asynchrony.stuck(np.broadcast_to(found.lanes, self._batch.shape))
        meaning = _MEANINGS.get(found.kind)
        if meaning is not None:
            found = replace(found, text=partial(lambda text, lane: f"{text(lane)}; {meaning}", found.text))
        self._recorder.record(found)

    def access(self, access: Access) -> None:
        looks = {"load": self._load, "store": self._store, "atomic": self._store}
        look = looks.get(access.kind) or {"copy": self._copied, "fetch": self._fetched}[access.kind]
        if access.space == "shared" and access.kind in looks and self._asynchrony is not None:
            self._asynchrony.access(access)
        if access.space in ("global", "shared"):
            for hit in self._hits(access):
                look(hit)
                if access.space == "global" and self._early is not None:
                    self._early.access(hit)

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        if transfer.action == "load":
            if self._early is not None:
                self._early.copied(transfer)
            self._loaded(transfer)
        else:
            self._stores_sent[transfer] = self._order.tick()

    def _loaded(self, transfer: BulkTransfer) -> None:
        """Bulk copies of global memory that the launch has written."""
        memory, lanes = transfer.memory, transfer.lanes
        ranges = np.unique(transfer.begin[transfer.nbytes > 0] >> memory.range_bits).tolist()
        arrays = [memory.at(each << memory.range_bits) for each in ranges]
        if not any(each is not None and self._global.of(each).changed for each in arrays):
            return
        for begin, nbytes in zip(transfer.begin.T, transfer.nbytes.T, strict=True):
            for size in np.unique(nbytes[nbytes > 0]).tolist():
                address, here = np.zeros(self._batch.shape, np.uint64), np.zeros(self._batch.shape, np.bool_)
                address[tuple(lanes.T)], here[tuple(lanes.T)] = begin.astype(np.uint64), nbytes == size
                for hit in self._hits(
                    Access("fetch", "global", memory, address, size, Mask(here, self._batch), transfer.at)
                ):
                    self._fetched(hit)
                    self._unfenced(hit)

    def _unfenced(self, hit: Hit) -> None:
        """Reads of what threads have written to global memory, with no fence between the proxies by anybody since."""
        for last in (*hit.shadow.stores, hit.shadow.strong_stores):
            written = last.made_since(self._order.proxies_fenced, hit.index)
            for other, found in self._by_earlier(hit, last, written):
                if effect(other).kind not in ("copy", "bulk copy"):  # bulk copies write as they read
                    text = f", which threads have written{at_line(other)}: fence.proxy.async between is missing"
                    self._record("missing-proxy-fence", hit, found, partial(_with, hit, text), other)

    def _hits(self, access: Access) -> Iterator[Hit]:
        """The permitted accesses, array by array; of the others :meth:`violation` is told."""
        lanes = self._batch.spread(access.mask)
        address = np.broadcast_to(access.address, self._batch.shape)
        ranges = address >> np.uint64(access.memory.range_bits)
        aligned = lanes
        if access.kind not in ("copy", "fetch"):
            aligned = lanes & ((address & np.uint64(access.nbytes - 1)) == 0)
        for number in np.unique(ranges[lanes]).tolist():
            array = access.memory.at(number << access.memory.range_bits)
            if array is not None:
                size = array.permits("read" if access.kind in ("load", "fetch") else "write")
                begin, end = np.uint64(array.base), np.uint64(array.base + size - access.nbytes)
                inside = aligned & (ranges == np.uint64(number)) & (address >= begin) & (address <= end)
                if size >= access.nbytes and inside.any():
                    yield self._hit(access, array, address, inside)

    def _hit(self, access: Access, array: Array, address: Values, inside: Flags) -> Hit:
        piece = self._global.piece
        index = np.broadcast_to(array.index(address, piece), self._batch.shape)[inside]
        index = (index[:, np.newaxis] + np.arange(access.nbytes // piece)).reshape(-1)
        lane = np.repeat(np.flatnonzero(inside), access.nbytes // piece)
        every = (self._thread, self._warp, self._block, self._clocks.horizon, self._warps.place)
        who = Accesses(self._clocks, *(numbers.reshape(-1)[lane] for numbers in every))
        shared_name = self._layout.shared_name(array.base) if access.space == "shared" else ""
        name = shared_name or array.label
        return Hit(access, array, name, self._shadow(access.space, array), address, index, lane, who)

    def _shadow(self, space: str, array: Array) -> Shadow:
        if space == "global":
            return self._global.of(array)
        if array.base not in self._shared:
            self._shared[array.base] = Shadow(array, self._global.piece)
        return self._shared[array.base]

    def _load(self, hit: Hit) -> None:
        shadow, at = hit.shadow, hit.access.at
        self._unwritten(hit)
        strong = self._strong(at)
        look = self._stale if "nc" in effect(at).order else self._races
        look(hit, *shadow.stores)
        if not strong:
            look(hit, shadow.strong_stores)
        shadow.unread[hit.index] = False
        (shadow.strong_loads if strong else shadow.loads).note(hit.index, hit.who, self._number(at))
        if strong:
            shadow.strong_stores.made_in_turn(hit.index, hit.who, self._number(at), stores=False, sees=True)
            self._flags(hit, reads=True, writes=False)

    def _store(self, hit: Hit) -> None:
        shadow, at = hit.shadow, hit.access.at
        does = effect(at)
        atomic = hit.access.kind == "atomic" or does.step == "reduce"
        if atomic and (does.kind == "mbarrier" or does.step == "arrive"):
            # What these tell, :class:`Asynchrony` knows.
            self._unwritten(hit)
            self._races(hit, *shadow.stores)
            if does.step == "inval":
                self._races(hit, *shadow.loads)
            else:
                shadow.loads.note(hit.index, hit.who, self._number(at))
            return
        if (
            does.kind in ("remote store", "copy", "bulk copy") and hit.access.kind != "copy"
        ):  # it lands; :meth:`_copied` has seen it sent
            if atomic:
                self._races(hit, *shadow.stores)
            return
        strong = atomic or does.strong
        if atomic:
            self._unwritten(hit)
        racing = np.zeros(hit.index.shape, np.bool_) if strong else self._at_once(hit)
        if strong and does.scope == "cta" and hit.access.space == "global":
            racing |= self._races(hit, shadow.strong_stores, of_block=False)
        earlier: tuple[LastAccess, ...] = (*shadow.stores, *shadow.loads)
        if not strong:
            earlier = (*earlier, shadow.strong_stores, *shadow.strong_loads)
        for last in earlier:
            racing |= self._overtakes(hit, last) | self._races(hit, last)
        if hit.access.space == "global" and self._global.is_input(hit.array):
            what = ", which the kernel may only read"
            every = np.ones(hit.index.shape, np.bool_)
            self._record("input-overwritten", hit, every, lambda entry: hit.what(entry) + what)
        if hit.array is self._global.output and not atomic:
            self._lost(hit, shadow.unread[hit.index] & ~racing)
        shadow.written[hit.index] = shadow.stored[hit.index] = shadow.unread[hit.index] = True
        if not strong:
            shadow.stores.note(hit.index, hit.who, self._number(at))
            return
        sees = id(at) in self._seeing
        shadow.strong_stores.made_in_turn(hit.index, hit.who, self._number(at), stores=True, sees=sees)
        if hit.access.kind != "copy":
            self._flags(hit, reads=sees, writes=True)

    def _copied(self, hit: Hit) -> None:
        """What a copy writes; who reads it has waited for it (:class:`Asynchrony`)."""
        does = effect(hit.access.at)
        if hit.access.space == "global":  # it has landed
            self._store(hit)
            return
        if does.step == "reduce":
            self._unwritten(hit)
        self._races(hit, *hit.shadow.loads, *hit.shadow.stores)
        if does.kind == "copy":  # in order behind what its thread has done when it sends it
            hit.shadow.stores.note(hit.index, hit.who, self._number(hit.access.at))
        hit.shadow.written[hit.index] = hit.shadow.stored[hit.index] = hit.shadow.unread[hit.index] = True

    def _fetched(self, hit: Hit) -> None:
        """What an asynchronous instruction reads; who may write there again, :class:`Asynchrony` knows."""
        self._unwritten(hit)
        self._races(hit, *hit.shadow.stores, hit.shadow.strong_stores)
        hit.shadow.unread[hit.index] = False

    def _strong(self, at: Instruction) -> bool:
        """Whether a read is of what others may write meanwhile. A volatile one is if its value is compared: a flag."""
        does = effect(at)
        return id(at) in self._compared if "volatile" in does.order else does.strong

    def _places(self, hit: Hit) -> Iterator[tuple[tuple[int, ...], int]]:
        """For each piece that is accessed, what tells it from all others, and its lane."""
        # Each batch has its own shared memory.
        batch = () if hit.access.space == "global" else self._batch.first
        for index, lane in zip(hit.index.tolist(), hit.lane.tolist(), strict=True):
            yield (hit.array.base, index, *batch), lane

    def _flags(self, hit: Hit, *, reads: bool, writes: bool) -> None:
        """Strong accesses, one after the other: each may tell its thread what others have told, or the others."""
        if not self.talking:
            return
        at = hit.access.at
        acquires, releases = scope(at, "acquire"), scope(at, "release")
        threads, blocks = self._thread.reshape(-1), self._block.reshape(-1)
        if writes:
            self._order.tick()
        for where, lane in self._places(hit):
            if reads:
                self._order.read(where, int(threads[lane]), int(blocks[lane]), acquires)
            if writes:
                self._clocks.write(where, lane, releases, adds=hit.access.kind == "atomic")

    def _unwritten(self, hit: Hit) -> None:
        what = ", where nothing has been written: its value may be anything"
        self._record("uninitialized-read", hit, ~hit.shadow.written[hit.index], lambda entry: hit.what(entry) + what)

    def _lost(self, hit: Hit, lost: Flags) -> None:
        what = " a second time; what was there has never been read, and is lost"
        self._record("overwritten-output", hit, lost, lambda entry: hit.what(entry) + what)

    def _at_once(self, hit: Hit) -> Flags:
        racing = hit.shadow.at_once(hit.index, hit.who)
        what = ", as other threads do at once: whose value stays is open"
        self._record(f"{hit.access.space}-race", hit, racing, lambda entry: hit.what(entry) + what)
        return racing

    def _races(self, hit: Hit, *earlier: LastAccess, of_block: bool = True) -> Flags:
        """Accesses that an earlier one is not in order with, told apart by the line of the earlier.

        Those of the same block are left out where ``of_block`` is false.
        """
        every = np.zeros(hit.index.shape, np.bool_)
        for last in earlier:
            racing = last.unordered_with(hit.index, hit.who)
            if not of_block:
                racing &= last.elsewhere(hit.index, hit.who)
            for other, found in self._by_earlier(hit, last, racing):
                self._record(f"{hit.access.space}-race", hit, found, self._race_text(hit, last, other), other)
            every |= racing
        return every

    def _overtakes(self, hit: Hit, last: LastAccess) -> Flags:
        """Accesses of what a bulk copy was on its way to, which lands only now; no barrier puts these in order."""
        if hit.access.sent is None:
            return np.zeros(hit.index.shape, np.bool_)
        early = last.made_since(self._stores_sent[hit.access.sent], hit.index)
        for other, found in self._by_earlier(hit, last, early):
            self._record("global-race", hit, found, self._overtaken_text(hit, last, other), other)
        return early

    def _overtaken_text(self, hit: Hit, last: LastAccess, other: Instruction) -> Callable[[int], str]:
        def text(entry: int) -> str:
            return (
                f"{hit.what(entry)}, which {self._earlier(hit, last, other, entry)} while that is under way: "
                "cp.async.bulk.wait_group (without .read) is missing before, or waits for too few groups"
            )

        return text

    def _stale(self, hit: Hit, *earlier: LastAccess) -> None:
        """Reads through the non-coherent cache, which no barrier puts in order with what the launch has written."""
        for last in earlier:
            for other, found in self._by_earlier(hit, last, last.made(hit.index)):
                self._record(f"{hit.access.space}-race", hit, found, self._stale_text(hit, last, other), other)

    def _by_earlier(self, hit: Hit, last: LastAccess, chosen: Flags) -> Iterator[tuple[Instruction, Flags]]:
        """The earlier instructions that chosen accesses meet with, each with those accesses."""
        numbers = last.at[hit.index]
        for number in np.unique(numbers[chosen]).tolist():
            yield self._instructions[number], chosen & (numbers == number)

    def _race_text(self, hit: Hit, last: LastAccess, other: Instruction) -> Callable[[int], str]:
        def text(entry: int) -> str:
            own, one = int(hit.who.thread[entry]), np.array([entry])
            block, thread = self._batch.of_number(last.someone_else(hit.index[one], hit.who[one]) - 1)
            between = "barrier" if block == self._batch.of_number(own - 1)[0] else "order"
            return (
                f"{hit.what(entry)}, which {place(block, thread)} {verb(other)}{at_line(other)}, "
                f"with no {between} between them: which comes first is open"
            )

        return text

    def _stale_text(self, hit: Hit, last: LastAccess, other: Instruction) -> Callable[[int], str]:
        def text(entry: int) -> str:
            return (
                f"{hit.what(entry)} through the non-coherent cache ({hit.access.at.mnemonic}), which "
                f"{self._earlier(hit, last, other, entry)}, in the same launch: it may read what was there before"
            )

        return text

    def _earlier(self, hit: Hit, last: LastAccess, other: Instruction, entry: int) -> str:
        """Who has accessed a piece before by another instruction, what that does, and where."""
        who = place(*self._batch.of_number(last.someone(int(hit.index[entry])) - 1))
        return f"{who} {verb(other)}{at_line(other)}"

    def _record(
        self, kind: str, hit: Hit, found: Flags, text: Callable[[int], str], other: Instruction | None = None
    ) -> None:
        if found.any():
            self._recorder.record(hit.violation(kind, found, text, other))

    def _number(self, at: Instruction) -> int:
        if id(at) not in self._numbers:
            self._numbers[id(at)] = len(self._instructions)
            self._instructions.append(at)
        return self._numbers[id(at)]


def _with(hit: Hit, text: str, entry: int) -> str:
    return hit.what(entry) + text


def _misplaced(layout: Layout) -> Iterator[Violation]:
    """Shared arrays that have not the alignment that they ask for."""
    for name, address, align in layout.misplaced:
        text = (
            f"{name} asks for an alignment of {align} bytes and lies at {address:#x}: alignments count from "
            f"{layout.shared_begin:#x}, where a block's shared memory begins"
        )
        yield Violation("misplaced-array", text, name, count=1)


def _meets(other: Block) -> Callable[[tuple[int, ...]], str]:
    where = at_line(other.end) if other.end else ""
    return lambda _: f"comes to a barrier together with threads of its block that come to one{where}"

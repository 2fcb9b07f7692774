"""An observer that looks for hazards: who reads what nobody wrote, who races with whom, what becomes of the output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from mmcore.devices.violations import Violation
from mmcore.kernel.problem import Problem, dtype_named
from mmcore_emulator.floats import Values
from mmcore_emulator.lanes import WARP, Batch, Mask
from mmcore_emulator.launch_run import place
from mmcore_emulator.layout import Layout
from mmcore_emulator.memory import Array
from mmcore_emulator.observer import Access, LaneViolation, Observer
from mmcore_emulator.ptx import Function, Instruction
from mmcore_emulator.ptx_types import TYPE_BYTES
from mmcore_emulator.sanitizer.recording import Recorder
from mmcore_emulator.sanitizer.shadow import Accessors, Flags, Indices, LastAccess, Shadow, WarpClocks
from mmcore_emulator.step import Step
from mmcore_emulator.warps import Warps

_MEANINGS = {
    "out-of-bounds-read": "a GPU would give it anything, or stop the launch",
    "out-of-bounds-write": "a GPU would destroy what lies there, or stop the launch",
    "misaligned": "a GPU would stop the launch",
    "divergent-barrier": "on a GPU the block may hang, or go on too early",
}
_VERBS = {"load": "reads", "store": "writes", "atomic": "adds to"}


@dataclass(frozen=True)
class _Hit:
    """What one instruction accesses in one array, piece by piece."""

    access: Access  # the access
    array: Array  # the array
    name: str  # what the source calls it
    shadow: Shadow  # its shadow
    address: Values  # of all lanes
    index: Indices  # each piece
    lane: Indices  # whose access it belongs to, as a number among all lanes
    who: Accessors  # that thread

    def what(self, entry: int) -> str:
        """What the thread of one entry does, and to which elements."""
        offset = int(self.address.reshape(-1)[self.lane[entry]]) - self.array.base
        size = TYPE_BYTES[self.access.at.opcode[-1]]
        first, last = offset // size, (offset + self.access.nbytes) // size - 1
        elements = f"element {first}" if first == last else f"elements {first} to {last}"
        return f"{_VERBS[self.access.kind]} {elements} of {self.name}"


class GlobalShadows:
    """Shadows of all arrays in device memory, which outlive a launch."""

    def __init__(self, piece: int, output: Array) -> None:
        self.piece = piece
        self.output = output
        self._shadows: dict[int, Shadow] = {}

    def of(self, array: Array) -> Shadow:
        """The shadow of an array."""
        if array.base not in self._shadows:
            shadow = Shadow(array, self.piece)
            shadow.written[: array.uploaded // self.piece] = True
            # What a launch rule declares to be read past a matrix, may be.
            shadow.written[array.writable // self.piece : array.readable // self.piece] = True
            self._shadows[array.base] = shadow
        return self._shadows[array.base]

    def begin_launch(self) -> None:
        """Launches come one after the other."""
        for shadow in self._shadows.values():
            shadow.begin_launch()


class Checking(Observer):
    """Looks for hazards in one launch."""

    def __init__(self, shadows: GlobalShadows, recorder: Recorder, layout: Layout) -> None:
        self._global = shadows
        self._layout = layout
        self._recorder = recorder
        # Every instruction that has accessed memory: LastAccess knows them by their index.
        self._instructions: list[Instruction] = []
        self._numbers: dict[int, int] = {}
        shadows.begin_launch()

    def begin(self, batch: Batch) -> None:
        self._batch = batch
        self._recorder.begin(batch)
        self._shared: dict[int, Shadow] = {}
        self._epoch = np.zeros(batch.shape, np.int64)
        self._warps = Warps(batch)
        self._clocks = WarpClocks(self._warps.count)
        in_block = batch.thread_index()
        in_grid = batch.number_in_grid()
        warps = -(-batch.block.size // WARP)
        self._thread = np.broadcast_to(in_grid * batch.block.size + in_block + 1, batch.shape)
        self._warp = np.broadcast_to(in_grid * warps + in_block // WARP, batch.shape)
        self._block = np.broadcast_to(in_grid, batch.shape)

    def end(self) -> None:
        self._recorder.end()

    def synchronise(self, step: Step, mask: Mask | None) -> None:
        self._epoch += np.True_ if mask is None else mask.lanes

    def meet(self, lanes: Values, named: Values) -> None:
        self._clocks.meet(self._warps.rows(lanes), self._warps.rows(named))

    def violation(self, found: LaneViolation) -> None:
        meaning = _MEANINGS[found.kind]
        self._recorder.record(replace(found, text=lambda lane: f"{found.text(lane)}; {meaning}"))

    def access(self, access: Access) -> None:
        look = {"load": self._load, "store": self._store, "atomic": self._add}[access.kind]
        if access.space in ("global", "shared"):
            for hit in self._hits(access):
                look(hit)

    def _hits(self, access: Access) -> Iterator[_Hit]:
        """The permitted accesses, array by array; of the others :meth:`violation` is told."""
        lanes = np.broadcast_to(np.True_ if access.mask is None else access.mask.lanes, self._batch.shape)
        address = np.broadcast_to(access.address, self._batch.shape)
        ranges = address >> np.uint64(access.memory.range_bits)
        aligned = lanes & ((address & np.uint64(access.nbytes - 1)) == 0)
        for number in np.unique(ranges[lanes]).tolist():
            array = access.memory.at(number << access.memory.range_bits)
            if array is not None:
                size = array.permits("read" if access.kind == "load" else "write")
                begin, end = np.uint64(array.base), np.uint64(array.base + size - access.nbytes)
                inside = aligned & (ranges == np.uint64(number)) & (address >= begin) & (address <= end)
                if size >= access.nbytes and inside.any():
                    yield self._hit(access, array, address, inside)

    def _hit(self, access: Access, array: Array, address: Values, inside: Flags) -> _Hit:
        piece = self._global.piece
        index = np.broadcast_to(array.index(address, piece), self._batch.shape)[inside]
        index = (index[:, np.newaxis] + np.arange(access.nbytes // piece)).reshape(-1)
        lane = np.repeat(np.flatnonzero(inside), access.nbytes // piece)
        every = (self._thread, self._warp, self._block, self._epoch, self._warps.place)
        who = Accessors(self._clocks, *(numbers.reshape(-1)[lane] for numbers in every))
        shared_name = self._layout.shared_name(array.base) if access.space == "shared" else ""
        name = shared_name or array.label
        return _Hit(access, array, name, self._shadow(access.space, array), address, index, lane, who)

    def _shadow(self, space: str, array: Array) -> Shadow:
        if space == "global":
            return self._global.of(array)
        if array.base not in self._shared:
            self._shared[array.base] = Shadow(array, self._global.piece)
        return self._shared[array.base]

    def _load(self, hit: _Hit) -> None:
        shadow = hit.shadow
        self._unwritten(hit)
        look = self._stale if "nc" in hit.access.at.opcode else self._races
        look(hit, shadow.stores, "writes")
        look(hit, shadow.atomics, "adds to")
        shadow.unread[hit.index] = False
        shadow.loads.note(hit.index, hit.who, self._number(hit.access.at))

    def _store(self, hit: _Hit) -> None:
        shadow = hit.shadow
        racing = self._at_once(hit)
        for last, verb in ((shadow.stores, "writes"), (shadow.loads, "reads"), (shadow.atomics, "adds to")):
            racing |= self._races(hit, last, verb)
        if hit.array is self._global.output:
            self._lost(hit, shadow.unread[hit.index] & ~racing)
        shadow.written[hit.index] = shadow.stored[hit.index] = shadow.unread[hit.index] = True
        shadow.stores.note(hit.index, hit.who, self._number(hit.access.at))

    def _add(self, hit: _Hit) -> None:
        shadow = hit.shadow
        self._unwritten(hit)
        self._races(hit, shadow.stores, "writes")
        self._races(hit, shadow.loads, "reads")
        shadow.written[hit.index] = shadow.stored[hit.index] = shadow.unread[hit.index] = True
        shadow.atomics.note(hit.index, hit.who, self._number(hit.access.at))

    def _unwritten(self, hit: _Hit) -> None:
        what = ", where nothing has been written: its value may be anything"
        self._record("uninitialized-read", hit, ~hit.shadow.written[hit.index], lambda entry: hit.what(entry) + what)

    def _lost(self, hit: _Hit, lost: Flags) -> None:
        what = " a second time; what was there has never been read, and is lost"
        self._record("overwritten-output", hit, lost, lambda entry: hit.what(entry) + what)

    def _at_once(self, hit: _Hit) -> Flags:
        racing = hit.shadow.at_once(hit.index, hit.who)
        what = ", as other threads do at once: whose value stays is open"
        self._record(f"{hit.access.space}-race", hit, racing, lambda entry: hit.what(entry) + what)
        return racing

    def _races(self, hit: _Hit, last: LastAccess, verb: str) -> Flags:
        """Accesses that an earlier one is not in order with, told apart by the line of the earlier."""
        racing = last.unordered_with(hit.index, hit.who)
        for other, found in self._by_earlier(hit, last, racing):
            self._record(f"{hit.access.space}-race", hit, found, self._race_text(hit, last, verb, other), other)
        return racing

    def _stale(self, hit: _Hit, last: LastAccess, verb: str) -> None:
        """Reads through the non-coherent cache, which no barrier puts in order with what the launch has written."""
        for other, found in self._by_earlier(hit, last, last.made(hit.index)):
            self._record(f"{hit.access.space}-race", hit, found, self._stale_text(hit, last, verb, other), other)

    def _by_earlier(self, hit: _Hit, last: LastAccess, chosen: Flags) -> Iterator[tuple[Instruction, Flags]]:
        """The earlier instructions that chosen accesses meet with, each with those accesses."""
        numbers = last.at[hit.index]
        for number in np.unique(numbers[chosen]).tolist():
            yield self._instructions[number], chosen & (numbers == number)

    def _race_text(self, hit: _Hit, last: LastAccess, verb: str, other: Instruction) -> Callable[[int], str]:
        def text(entry: int) -> str:
            own, one = int(hit.who.thread[entry]), np.array([entry])
            block, thread = self._batch.of_number(last.someone_else(hit.index[one], hit.who[one]) - 1)
            between = "barrier" if block == self._batch.of_number(own - 1)[0] else "order"
            return (
                f"{hit.what(entry)}, which {place(block, thread)} {verb}{_at_line(other)}, "
                f"with no {between} between them: which comes first is open"
            )

        return text

    def _stale_text(self, hit: _Hit, last: LastAccess, verb: str, other: Instruction) -> Callable[[int], str]:
        def text(entry: int) -> str:
            writer = place(*self._batch.of_number(last.someone(int(hit.index[entry])) - 1))
            return (
                f"{hit.what(entry)} through the non-coherent cache ({hit.access.at.mnemonic}), "
                f"which {writer} {verb}{_at_line(other)}, in the same launch: it may read what was there before"
            )

        return text

    def _record(
        self, kind: str, hit: _Hit, found: Flags, text: Callable[[int], str], other: Instruction | None = None
    ) -> None:
        if not found.any():
            return
        lanes = np.zeros(self._batch.lanes, np.bool_)
        lanes[hit.lane[found]] = True

        def of_lane(lane: tuple[int, ...]) -> str:
            flat = np.ravel_multi_index(lane, self._batch.shape)
            return text(int(np.flatnonzero(found & (hit.lane == flat))[0]))

        lanes = lanes.reshape(self._batch.shape)
        self._recorder.record(LaneViolation(kind, hit.array.label, hit.access.at, lanes, of_lane, other))

    def _number(self, at: Instruction) -> int:
        if id(at) not in self._numbers:
            self._numbers[id(at)] = len(self._instructions)
            self._instructions.append(at)
        return self._numbers[id(at)]


def _at_line(at: Instruction) -> str:
    """Where an instruction stands, as a sentence goes on; nothing where it has no line."""
    return f" at {at.source}:{at.line}" if at.line else ""


def least_access(function: Function) -> int:
    """Bytes of the smallest element that a function loads, stores or adds to."""
    kinds = [at.opcode[-1] for at in function.body if at.opcode[0] in ("ld", "st", "red", "atom")]
    return min((TYPE_BYTES[kind] for kind in kinds if kind in TYPE_BYTES), default=1)


def unwritten(problem: Problem, shadow: Shadow) -> list[Violation]:
    """Whether there are elements of C that nobody has stored anything to."""
    pieces = dtype_named(problem.output).itemsize // shadow.piece
    elements = np.arange(problem.m)[:, np.newaxis] * problem.ldc + np.arange(problem.n)
    stored = shadow.stored[(elements[..., np.newaxis] * pieces) + np.arange(pieces)].all(axis=2)
    if stored.all():
        return []
    row, column = (int(index) for index in np.argwhere(~stored)[0])
    message = f"no thread writes element ({row}, {column}) of C: the product is not complete"
    return [Violation("unwritten-output", message, "C", count=int((~stored).sum()))]

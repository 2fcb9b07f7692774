"""An observer that also records each line's accesses by array, and its instructions by class."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.asynchronous.events import Event
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.observer import Access, BulkTransfer
from mmcore_emulator.profiler.by_line import OTHERS, Counting, line_of
from mmcore_emulator.profiler.coalescing import PERIODS, Patterns, by_warp
from mmcore_emulator.profiler.counters import Line
from mmcore_emulator.ptx.instructions import Block, Instruction
from mmcore_performance.block_order import plain_order
from mmcore_performance.divergence import Divergence, DivergenceRecorder
from mmcore_performance.joined_loads import joined_loads
from mmcore_performance.neighbours import narrow_loads
from mmcore_performance.overlap import OverlapRecorder, Overlaps, Steps
from mmcore_performance.padding import SharedArray
from mmcore_performance.rates import class_of
from mmcore_performance.site_costs import site_cost
from mmcore_performance.thread_work import BatchWork, ThreadWork

_NOWHERE = np.uint64(2**64 - 1)


class Place(NamedTuple):
    """The accesses that are counted together: of one kind, in one expression, to one array."""

    line: Line
    column: int
    kind: str  # "load", "store", "atomic" or "copy"
    space: str  # "global", "shared" or "local"
    array: str  # its name
    nbytes: int  # that a thread accesses at a time


@dataclass(frozen=True)
class Site:
    """The accesses of one place in a launch.

    Attributes:
        place: the place.
        requests: instructions executed, once per warp.
        threads: the same once per thread.
        sectors: sectors of global memory that the requests touch.
        least_sectors: sectors that would do if the elements that a warp touches were neighbours.
        passes: passes through the L1 cache's data pipe.
        wavefronts: passes over the banks of shared memory.
        conflicts: how many of these bank conflicts cost.
        narrow: requests of a thread's loads of neighbours, or of elements that could be, each by itself.
        wide: passes over shared memory if each thread loaded 16 bytes, with its elements side by side.
        joined: requests of loads of neighbours that the assembler joins.
        fragments: requests of loads of a matrix product's fragments, whose width is the instruction's.
        matrices: requests of ldmatrix and stmatrix.
        stride: bytes from a thread's element to the next thread's along x; None if no warp has two such threads.
    """

    place: Place
    requests: int
    threads: int
    sectors: int
    least_sectors: int
    passes: int
    wavefronts: int
    conflicts: int
    narrow: int
    wide: int
    joined: int
    fragments: int
    matrices: int
    stride: int | None


class SiteRecorder(Counting):
    """An observer that counts one launch, its accesses by place and its instructions by class.

    Attributes:
        overlaps: the copies that are under way while the launch multiplies.
        plain_order: where a block's index is read, if blocks take tiles in the order of their numbers.
        work: the multiply-adds of the blocks, and the threads that write C.
        shared: the accesses to each array in shared memory, by its name.
    """

    _copies: OverlapRecorder
    _work: BatchWork

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(blocks)
        self._sites: dict[Place, Counter[str]] = defaultdict(Counter)
        self._strides: dict[Place, int | None] = {}
        self._places: dict[int, Place] = {}
        self._site_costs = Patterns(site_cost)
        self._classes = {id(block): _classes(block) for block in blocks}
        self._mix: dict[Line, Counter[str]] = defaultdict(Counter)
        self.plain_order = plain_order(blocks)
        self._joined = joined_loads(blocks)
        self._narrow = {id(at) for at in narrow_loads(blocks)}
        self._lanes = DivergenceRecorder(blocks)
        self._steps = Steps(blocks)
        self.overlaps = Overlaps()
        self.work = ThreadWork(blocks)
        self.shared: dict[str, SharedArray] = {}

    @property
    def sites(self) -> tuple[Site, ...]:
        """The accesses by place."""
        return tuple(
            Site(
                place,
                requests=counts["requests"],
                threads=counts["threads"],
                sectors=counts["sectors"],
                least_sectors=counts["least"],
                passes=counts["passes"],
                wavefronts=counts["wavefronts"],
                conflicts=counts["conflicts"],
                narrow=counts["narrow"],
                wide=counts["wide"],
                joined=counts["joined"],
                fragments=counts["fragments"],
                matrices=counts["matrices"],
                stride=self._strides.get(place),
            )
            for place, counts in sorted(self._sites.items())
        )

    @property
    def mix(self) -> Mapping[Line, Mapping[str, int]]:
        """The instructions of warps by class and line."""
        return {line: dict(counts) for line, counts in sorted(self._mix.items())}

    @property
    def divergence(self) -> Divergence | None:
        """The instructions that warps execute with few of their lanes; None if there are none."""
        return self._lanes.divergence

    @property
    def executions(self) -> Mapping[Line, float]:
        """The average number of times that a warp executes each line."""
        static: Counter[Line] = Counter()
        for classes in self._classes.values():
            static.update({line: counts.total() for line, counts in classes.items()})
        return {line: sum(counts.values()) / static[line] for line, counts in sorted(self._mix.items())}

    def begin(self, batch: Batch) -> SiteRecorder:
        observer = super().begin(batch)
        observer._copies = OverlapRecorder(self._steps, self.overlaps, batch.extent.size)
        observer._work = self.work.begin(batch)
        return observer

    def enter(self, block: Block, mask: Mask | None) -> None:
        super().enter(block, mask)
        extent, threads = self._patterns.extent(self._batch, mask), self._batch.block.size
        warps = extent.warps
        self._lanes.enter(block, extent, threads / -(-threads // WARP))
        self._copies.enter(block, warps)
        self._work.enter(block, mask)
        for line, classes in self._classes[id(block)].items():
            for name, count in classes.items():
                self._mix[line][name] += warps * count

    def guarded(self, at: Instruction, mask: Mask | None) -> None:
        super().guarded(at, mask)
        self._work.guarded(at, mask)

    def access(self, access: Access) -> None:
        super().access(access)
        self._work.access(access)
        if access.space == "local":
            extent = self._patterns.extent(self._batch, access.mask)
            place = self._place(access)
            if place is not None:
                self._sites[place].update(requests=extent.warps, threads=extent.threads)
        elif access.space in PERIODS and effect(access.at).kind not in OTHERS:
            self._record_joined(access)

    def copy(self, read: Access, written: Access) -> None:
        super().copy(read, written)
        self._record(read)
        self._record(written)

    def bulk_copy(self, transfer: BulkTransfer) -> None:
        super().bulk_copy(transfer)
        self._work.bulk_copy(transfer)

    def event(self, event: Event) -> None:
        super().event(event)
        self._copies.event(event)

    def _record_joined(self, access: Access) -> None:
        """Record an access; loads that the assembler joins are recorded once, with the first of them."""
        place = self._joined.get(id(access.at))
        if place is None or not place.is_aligned(access):
            self._record(access)
        elif place.offset == 0:
            self._record(replace(access, nbytes=place.width))

    def _record(self, access: Access) -> None:
        place = self._place(access)
        if place is None:
            return
        cost = self._site_costs.cost(self._batch, access)
        self._sites[place].update(cost)
        kind, wider = effect(access.at).kind, self._joined.get(id(access.at))
        joined = wider is not None and access.nbytes == wider.width
        for name, counts in (
            ("narrow", id(access.at) in self._narrow and not joined),
            ("joined", joined),
            ("fragments", kind == "fragment move"),
            ("matrices", kind == "matrix move"),
        ):
            self._sites[place][name] += cost["requests"] * counts
        if self._strides.get(place) is None:
            self._strides[place] = self._stride(access)
        if place.space == "shared" and place.kind != "atomic":
            self._array(place.array, access).record(self._batch, access)

    def _array(self, name: str, access: Access) -> SharedArray:
        """Return the accesses to an array of this name."""
        if name not in self.shared:
            array = access.memory.at(self._first(access))
            self.shared[name] = SharedArray(array.base, array.readable) if array else SharedArray(0, 0)
        return self.shared[name]

    def _place(self, access: Access) -> Place | None:
        """Return the place of an access, by the array of its first lane; None if it is near no array."""
        key = hash((id(access.at), access.space))
        if key not in self._places:
            array = access.memory.at(self._first(access))
            if array is None:
                return None
            at = access.at
            name = array.name or array.label
            self._places[key] = Place(line_of(at), at.column, access.kind, access.space, name, access.nbytes)
        return self._places[key]

    @staticmethod
    def _first(access: Access) -> int:
        """Return the least address of an access."""
        active = None if access.mask is None else access.mask.over(access.address.shape)
        return int(access.address.min(where=True if active is None else active, initial=_NOWHERE))

    def _stride(self, access: Access) -> int | None:
        """Return the most frequent distance of neighbouring threads along x, in the warp with the most of them."""
        address, active, _ = by_warp(self._batch, access.address, access.mask)
        width = self._batch.block.x
        row = int(active.sum(axis=1).argmax())
        lanes = np.flatnonzero(active[row][1:] & active[row][:-1])
        warp = row % -(-self._batch.block.size // active.shape[1])
        lanes = lanes[(warp * active.shape[1] + lanes + 1) % width != 0] if width > 1 else lanes[:0]
        if not lanes.size:
            return None
        places = address[row].astype(np.int64)
        distances, counts = np.unique(places[lanes + 1] - places[lanes], return_counts=True)
        return int(distances[counts.argmax()])


def _classes(block: Block) -> Mapping[Line, Counter[str]]:
    """Return the classes of a basic block's instructions by line."""
    lines: dict[Line, Counter[str]] = defaultdict(Counter)
    for at in block.instructions:
        lines[line_of(at)][class_of(at)] += 1
    return lines

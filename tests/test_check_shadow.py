"""Which accesses are in order: what little is remembered of them, against a memory of everything."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mmcore_emulator.machine.dim3 import Dim3
from mmcore_emulator.machine.lanes import WARP, Batch
from mmcore_emulator.sanitizer.happens_before.batch_clocks import BatchClocks
from mmcore_emulator.sanitizer.happens_before.vector_clocks import HappensBefore
from mmcore_emulator.sanitizer.shadow import Accesses, LastAccess

PIECES, LANES, WARPS_OF_BLOCK, WARPS = 3, 4, 2, 4
"""Of each warp only the first lanes do anything."""
EVERYBODY = (1 << LANES) - 1
BATCH = Batch(Dim3(2), Dim3(64), Dim3(0, 0, 0), Dim3(2))
FLAGS = 2


class Event(NamedTuple):
    """One access: by a thread of that number among all that do anything."""

    piece: int
    thread: int


class Threads:
    """Threads that remember everything, and beside them what the emulator remembers."""

    def __init__(self) -> None:
        self.history: list[Event] = []
        self.known: list[set[int]] = [set() for _ in range(WARPS * LANES)]
        self.fenced: list[set[int]] = [set() for _ in range(WARPS * LANES)]
        self.pending: list[set[int]] = [set() for _ in range(WARPS * LANES)]
        self.flags: list[set[int]] = [set() for _ in range(FLAGS)]
        self.order = HappensBefore()
        self.clocks = BatchClocks(self.order, BATCH)
        self.last = LastAccess(PIECES)

    def meet(self, threads: list[int]) -> None:
        """Each then knows what every other knew."""
        for each in (self.known, self.fenced, self.pending):
            shared = set().union(*(each[thread] for thread in threads))
            for thread in threads:
                each[thread] = set(shared)

    def lanes(self, *warps: int, mask: int = 0xFFFFFFFF) -> np.ndarray:
        """The lanes of some warps that the mask names."""
        lanes = np.zeros((WARPS, WARP), np.bool_)
        for warp in warps:
            lanes[warp] = [mask >> lane & 1 for lane in range(WARP)]
        return lanes.reshape(BATCH.shape)

    def barrier(self, warps: list[int], count: int) -> None:
        """All threads of some warps of a block meet at a barrier of the block, which waits for so many."""
        self.meet([warp * LANES + lane for warp in warps for lane in range(LANES)])
        lanes = self.lanes(*warps)
        self.clocks.barrier(lanes, np.full((1,) * 6, 1, np.uint32), np.full((1,) * 6, count, np.uint32))

    def arrive(self, warp: int, other: int) -> None:
        """A warp arrives at a barrier that the other waits at."""
        one = np.full((1,) * 6, 2, np.uint32)
        self.clocks.arrive(self.lanes(warp), one)
        self.clocks.barrier(self.lanes(other), one, np.full((1,) * 6, 32, np.uint32))
        arrived = [warp * LANES + lane for lane in range(LANES)]
        before = [(set(self.known[each]), set(self.fenced[each]), set(self.pending[each])) for each in arrived]
        self.meet(arrived + [other * LANES + lane for lane in range(LANES)])
        for each, (known, fenced, pending) in zip(arrived, before, strict=True):
            self.known[each], self.fenced[each], self.pending[each] = known, fenced, pending

    def warp_barrier(self, warp: int, mask: int) -> None:
        """The threads of a warp meet that the mask names; all others with the last of them that do anything."""
        self.meet([warp * LANES + lane for lane in range(LANES) if mask >> lane & 1])
        if mask == EVERYBODY:
            mask = 0xFFFFFFFF
        self.clocks.meet(self.lanes(warp, mask=mask), np.full((1,) * 6, mask, np.uint32))

    def fence(self, thread: int) -> None:
        """A thread orders what it did, and has seen, before what it will do."""
        self.known[thread] |= self.pending[thread]
        self.fenced[thread] = set(self.known[thread])
        self.clocks.fence("gpu", self.lanes(thread // LANES, mask=1 << thread % LANES))

    def write(self, thread: int, flag: int, *, releases: bool, adds: bool) -> None:
        """A thread writes a flag, or adds to it."""
        told = self.known[thread] if releases else self.fenced[thread]
        self.flags[flag] = told | (self.flags[flag] if adds else set())
        self.order.tick()
        lane = thread // LANES * WARP + thread % LANES
        self.clocks.write((flag,), lane, "gpu" if releases else "", adds)

    def read(self, thread: int, flag: int, *, acquires: bool) -> None:
        """A thread reads a flag."""
        self.pending[thread] |= self.flags[flag]
        if acquires:
            self.known[thread] |= self.pending[thread]
        self.order.read((flag,), thread // LANES * WARP + thread % LANES + 1, thread // 8, "gpu" if acquires else "")

    def unordered(self, event: Event) -> set[int]:
        """Threads with an earlier access to the same piece of which its thread does not know."""
        others = (number for number, each in enumerate(self.history) if each.piece == event.piece)
        return {self.history[number].thread for number in others if number not in self.known[event.thread]}

    def access(self, events: list[Event]) -> tuple[list[set[int]], list[bool]]:
        """Threads access at once; what all of history says of each, and what the emulator does."""
        index = np.array([event.piece for event in events])
        thread = np.array([event.thread for event in events])
        lane = thread // LANES * WARP + thread % LANES
        who = Accesses(self.clocks, lane)
        expected = [self.unordered(event) for event in events]
        found = self.last.unordered_with(index, who).tolist()
        for number, (event, threads) in enumerate(zip(events, expected, strict=True)):
            if threads and found[number]:
                one = np.array([number])
                acted = [each.thread for each in self.history if each.piece == event.piece]
                before = {each // LANES * WARP + each % LANES for each in acted}
                assert self.last.unordered_thread(index[one], who[one]) - 1 in before - {int(lane[number])}
        self.last.note(index, who, 0)
        for event in events:
            self.known[event.thread].add(len(self.history))
            self.history.append(event)
        return expected, found


Step = list[Event] | tuple[str, int, int]

ACCESS = st.lists(
    st.builds(Event, st.integers(0, PIECES - 1), st.integers(0, WARPS * LANES - 1)), min_size=1, max_size=5
)
ONE_ACCESS = ACCESS.map(lambda events: events[:1])
THREAD = st.integers(0, WARPS * LANES - 1)
BLOCK_BARRIER = st.integers(0, WARPS // WARPS_OF_BLOCK - 1).map(lambda block: ("block", block, 0))
WARP_OF_BLOCK = st.integers(0, WARPS - 1)
NAMED_BARRIER = WARP_OF_BLOCK.map(lambda warp: ("named", warp, 0))
ARRIVAL = WARP_OF_BLOCK.map(lambda warp: ("arrive", warp, 0))
FLAG = st.builds(
    lambda what, thread, flag: (what, thread, flag),
    st.sampled_from(["release", "acquire", "fence", "write", "add", "read"]),
    THREAD,
    st.integers(0, FLAGS - 1),
)


@st.composite
def messages(draw: st.DrawFn) -> list[Step]:
    """A thread that tells another by a flag what it did, with or without what that takes, perhaps by a third."""
    piece, flag = draw(st.integers(0, PIECES - 1)), draw(st.integers(0, FLAGS - 1))
    chain = draw(st.lists(THREAD, min_size=2, max_size=3, unique=True))
    steps: list[Step] = [[Event(piece, chain[0])]]
    for sender, receiver in itertools.pairwise(chain):
        steps += draw(st.lists(st.just(("fence", sender, 0)), max_size=1))
        steps.append((draw(st.sampled_from(["release", "write", "add"])), sender, flag))
        steps.append((draw(st.sampled_from(["acquire", "read"])), receiver, flag))
        steps += draw(st.lists(st.just(("fence", receiver, 0)), max_size=1))
    return [*steps, [Event(piece, chain[-1])]]


def steps(masks: st.SearchStrategy[int], *more: st.SearchStrategy[Step]) -> st.SearchStrategy[list[Step]]:
    """Accesses, barriers of blocks and of warps, of those with these masks, and more."""
    warp_barrier = st.builds(lambda warp, mask: ("warp", warp, mask), st.integers(0, WARPS - 1), masks)
    return st.lists(st.one_of(ACCESS, ONE_ACCESS, BLOCK_BARRIER, warp_barrier, *(more or (warp_barrier,))), max_size=16)


def each_access(chosen: list[Step]) -> list[tuple[list[set[int]], list[bool]]]:
    """What is expected and found of each step that is an access."""
    threads, results = Threads(), []
    for step in chosen:
        if isinstance(step, list):
            results.append(threads.access(step))
            continue
        what, who, which = step
        if what == "block":
            threads.barrier([who * WARPS_OF_BLOCK, who * WARPS_OF_BLOCK + 1], 0)
        elif what == "named":
            threads.barrier([who], 32)
        elif what == "arrive":
            threads.arrive(who, who ^ 1)
        elif what == "warp":
            threads.warp_barrier(who, which)
        elif what == "fence":
            threads.fence(who)
        elif what in ("release", "write", "add"):
            threads.write(who, which, releases=what == "release", adds=what == "add")
        else:
            threads.read(who, which, acquires=what == "acquire")
    return results


@settings(max_examples=250, deadline=None)
@given(steps(st.sampled_from([EVERYBODY, 0b0011, 0b1100, 0b0001])))
def test_what_is_remembered_tells_as_much_as_everything(chosen: list[Step]) -> None:
    for expected, found in each_access(chosen):
        assert found == [bool(threads) for threads in expected]


@settings(max_examples=250, deadline=None)
@given(steps(st.integers(1, EVERYBODY)))
def test_nothing_is_missed_where_groups_of_a_warp_overlap(chosen: list[Step]) -> None:
    for expected, found in each_access(chosen):
        assert all(found[number] for number, threads in enumerate(expected) if threads)


# A thread that arrives at a barrier does not learn what those know who wait there.
@example([[[Event(0, 0)], ("release", 0, 0), ("acquire", 13, 0), [Event(0, 13)]], [("arrive", 2, 0), [Event(0, 9)]]])
@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(messages(), steps(st.just(EVERYBODY), NAMED_BARRIER, ARRIVAL, FLAG)), max_size=3))
def test_nothing_is_missed_where_threads_use_flags(chosen: list[list[Step]]) -> None:
    for expected, found in each_access(list(itertools.chain(*chosen))):
        assert all(found[number] for number, threads in enumerate(expected) if threads)


@settings(max_examples=250, deadline=None)
@given(st.lists(messages(), max_size=3))
def test_single_threads_are_put_in_order_by_flags(chosen: list[list[Step]]) -> None:
    """Up to the first access that is not in order, of which only some is remembered afterwards."""
    for (expected,), (found,) in each_access(list(itertools.chain(*chosen))):
        assert found == bool(expected)
        if expected:
            break

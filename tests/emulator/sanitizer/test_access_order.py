"""The order of accesses: the little that the sanitizer remembers of them, against a memory of everything."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.limits import WARP, Dim3
from mmcore_emulator.sanitizer.accesses import Accesses
from mmcore_emulator.sanitizer.happens_before.batch_clocks import BatchClocks
from mmcore_emulator.sanitizer.happens_before.vector_clocks import HappensBefore
from mmcore_emulator.sanitizer.shadow import LastAccess

PIECES, FLAGS, LANES, WARPS_OF_BLOCK, WARPS = 3, 2, 4, 2, 4  # only the first lanes of each warp do anything
EVERY_LANE = (1 << LANES) - 1
BATCH = Batch(Dim3(2), Dim3(64), Dim3(0, 0, 0), Dim3(2))
Knowledge = list[set[int]]


class Event(NamedTuple):
    """An access by a thread, numbered among all that do anything."""

    piece: int
    thread: int


def lane_of(thread: int) -> int:
    return thread // LANES * WARP + thread % LANES


def threads_of(*warps: int, mask: int = EVERY_LANE) -> list[int]:
    return [warp * LANES + lane for warp in warps for lane in range(LANES) if mask >> lane & 1]


def lanes_of(*warps: int, mask: int = 0xFFFFFFFF) -> NDArray[np.bool_]:
    lanes = np.zeros((WARPS, WARP), np.bool_)
    for warp in warps:
        lanes[warp] = [mask >> lane & 1 for lane in range(WARP)]
    return lanes.reshape(BATCH.shape)


def number(value: int) -> NDArray[np.uint32]:
    return np.full((1,) * 6, value, np.uint32)


class Threads:
    """Threads that remember everything, and beside them what the sanitizer remembers."""

    def __init__(self) -> None:
        self.history: list[Event] = []
        self.known: Knowledge = [set() for _ in range(WARPS * LANES)]
        self.fenced: Knowledge = [set() for _ in range(WARPS * LANES)]
        self.pending: Knowledge = [set() for _ in range(WARPS * LANES)]
        self.flags: Knowledge = [set() for _ in range(FLAGS)]
        self.order = HappensBefore()
        self.clocks = BatchClocks(self.order, BATCH)
        self.last = LastAccess(PIECES)
        self.mutual = True  # false if a thread has learnt what others know, and they do not know what it does

    def join(self, threads: list[int]) -> None:
        """Merge the knowledge of some threads."""
        for each in (self.known, self.fenced, self.pending):
            shared = set().union(*(each[thread] for thread in threads))
            for thread in threads:
                each[thread] = set(shared)

    def barrier(self, *warps: int, count: int) -> None:
        """Join warps of a block at a barrier of the block, which waits for ``count`` threads."""
        self.join(threads_of(*warps))
        self.clocks.barrier(lanes_of(*warps), number(1), number(count))

    def arrive(self, warp: int, other: int) -> None:
        """Let a warp arrive at a barrier where the other waits: only the other learns."""
        self.mutual = False
        self.clocks.arrive(lanes_of(warp), number(2))
        self.clocks.barrier(lanes_of(other), number(2), number(32))
        before = [
            [set(each[thread]) for thread in threads_of(warp)] for each in (self.known, self.fenced, self.pending)
        ]
        self.join(threads_of(warp, other))
        for each, sets in zip((self.known, self.fenced, self.pending), before, strict=True):
            each[warp * LANES : (warp + 1) * LANES] = sets

    def warp_barrier(self, warp: int, mask: int) -> None:
        """Join the threads of a warp that the mask names; the other lanes come with the last of them."""
        self.join(threads_of(warp, mask=mask))
        mask = 0xFFFFFFFF if mask == EVERY_LANE else mask
        self.clocks.warp_barrier(lanes_of(warp, mask=mask), number(mask))

    def fence(self, thread: int) -> None:
        """Order a thread's past accesses, and those it has observed, before its next ones."""
        self.known[thread] |= self.pending[thread]
        self.fenced[thread] = set(self.known[thread])
        self.clocks.fence("gpu", lanes_of(thread // LANES, mask=1 << thread % LANES))

    def write(self, thread: int, flag: int, *, releases: bool, adds: bool) -> None:
        released = self.known[thread] if releases else self.fenced[thread]
        self.flags[flag] = released | (self.flags[flag] if adds else set())
        self.order.tick()
        self.clocks.write((flag,), lane_of(thread), "gpu" if releases else "", adds)

    def read(self, thread: int, flag: int, *, acquires: bool) -> None:
        self.mutual = False
        self.pending[thread] |= self.flags[flag]
        if acquires:
            self.known[thread] |= self.pending[thread]
        self.order.read((flag,), lane_of(thread) + 1, thread // 8, "gpu" if acquires else "")

    def access(self, events: list[Event]) -> tuple[list[bool], list[bool]]:
        """Return the accesses that are unordered with an earlier one, by the whole history and by the sanitizer."""
        index, thread = np.array(events).T
        lane = thread // LANES * WARP + thread % LANES
        who = Accesses(self.clocks, lane)
        earlier = [{i for i, each in enumerate(self.history) if each.piece == event.piece} for event in events]
        pairs = zip(events, earlier, strict=True)
        expected = [bool(those - self.known[event.thread]) for event, those in pairs]
        found = self.last.unordered_with(index, who).tolist()
        for i in np.flatnonzero(np.array(expected) & np.array(found)):
            # Of several threads it remembers the latest access: if not mutual, it may name one that is ordered.
            known = self.known[events[i].thread] if self.mutual else set()
            unordered = {lane_of(self.history[each].thread) for each in earlier[i] - known} - {int(lane[i])}
            one = np.array([i])
            assert self.last.unordered_thread(index[one], who[one]) - 1 in unordered
        self.last.note(index, who, 0)
        for event in events:
            self.known[event.thread].add(len(self.history))
            self.history.append(event)
        return expected, found


Step = list[Event] | tuple[str, int, int]
THREAD, WARP_OF_GRID = st.integers(0, WARPS * LANES - 1), st.integers(0, WARPS - 1)
ACCESS = st.lists(st.builds(Event, st.integers(0, PIECES - 1), THREAD), min_size=1, max_size=5)
ONE_ACCESS = ACCESS.map(lambda events: events[:1])
BLOCK_BARRIER = st.integers(0, WARPS // WARPS_OF_BLOCK - 1).map(lambda block: ("block", block, 0))
NAMED_BARRIER, ARRIVAL = (st.tuples(st.just(what), WARP_OF_GRID, st.just(0)) for what in ("named", "arrive"))
FLAG = st.tuples(
    st.sampled_from(["release", "acquire", "fence", "write", "add", "read"]), THREAD, st.integers(0, FLAGS - 1)
)


@st.composite
def messages(draw: st.DrawFn) -> list[Step]:
    """Draw a thread that names an access to another by a flag, with or without fences, perhaps by a third thread."""
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
    """Draw accesses, barriers of blocks, barriers of warps with these masks, and more."""
    warp_barrier = st.tuples(st.just("warp"), WARP_OF_GRID, masks)
    return st.lists(st.one_of(ACCESS, ONE_ACCESS, BLOCK_BARRIER, warp_barrier, *(more or (warp_barrier,))), max_size=16)


def each_access(chosen: list[Step]) -> list[tuple[list[bool], list[bool]]]:
    """Return the expected and the reported races of each step that is an access."""
    threads, results = Threads(), []
    for step in chosen:
        if isinstance(step, list):
            results.append(threads.access(step))
            continue
        match step:
            case "block", block, _:
                threads.barrier(block * WARPS_OF_BLOCK, block * WARPS_OF_BLOCK + 1, count=0)
            case "named", warp, _:
                threads.barrier(warp, count=32)
            case "arrive", warp, _:
                threads.arrive(warp, warp ^ 1)
            case "warp", warp, mask:
                threads.warp_barrier(warp, mask)
            case "fence", thread, _:
                threads.fence(thread)
            case ("release" | "write" | "add") as what, thread, flag:
                threads.write(thread, flag, releases=what == "release", adds=what == "add")
            case what, thread, flag:
                threads.read(thread, flag, acquires=what == "acquire")
    return results


def assert_none_is_missed(chosen: list[Step]) -> None:
    for expected, found in each_access(chosen):
        assert all(itertools.compress(found, expected))


@settings(max_examples=250)
@given(steps(st.sampled_from([EVERY_LANE, 0b0011, 0b1100, 0b0001])))
def test_the_sanitizer_knows_as_much_as_a_memory_of_everything(chosen: list[Step]) -> None:
    for expected, found in each_access(chosen):
        assert found == expected


@settings(max_examples=250)
@given(steps(st.integers(1, EVERY_LANE)))
def test_no_race_is_missed_where_groups_of_a_warp_overlap(chosen: list[Step]) -> None:
    assert_none_is_missed(chosen)


# A thread that arrives at a barrier does not learn what the threads know that wait there.
@example([[[Event(0, 0)], ("release", 0, 0), ("acquire", 13, 0), [Event(0, 13)]], [("arrive", 2, 0), [Event(0, 9)]]])
@settings(max_examples=400)
@given(st.lists(st.one_of(messages(), steps(st.just(EVERY_LANE), NAMED_BARRIER, ARRIVAL, FLAG)), max_size=3))
def test_no_race_is_missed_where_threads_use_flags(chosen: list[list[Step]]) -> None:
    assert_none_is_missed(list(itertools.chain(*chosen)))


@settings(max_examples=250)
@given(st.lists(messages(), max_size=3))
def test_flags_order_single_threads(chosen: list[list[Step]]) -> None:
    """Up to the first access that is unordered: only some of the accesses are remembered after it."""
    for (expected,), (found,) in each_access(list(itertools.chain(*chosen))):
        assert found == expected
        if expected:
            break

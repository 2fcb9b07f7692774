"""Which accesses are in order: what little is remembered of them, against a memory of everything."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcore_emulator.lanes import WARP
from mmcore_emulator.sanitizer.shadow import Accessors, LastAccess, WarpClocks

PIECES, LANES, WARPS_OF_BLOCK, WARPS = 3, 4, 2, 4
"""Of each warp only its first lanes exist."""
EVERYBODY = (1 << LANES) - 1


class Event(NamedTuple):
    """One access: by a thread of that number among all that exist."""

    piece: int
    thread: int


class Threads:
    """Threads that remember everything, and beside them what the emulator remembers."""

    def __init__(self) -> None:
        self.history: list[Event] = []
        self.known: list[set[int]] = [set() for _ in range(WARPS * LANES)]
        self.epochs = [0] * WARPS
        self.clocks = WarpClocks(WARPS)
        self.last = LastAccess(PIECES)

    def meet(self, threads: list[int]) -> None:
        """Each then knows what every other knew."""
        shared = set().union(*(self.known[thread] for thread in threads))
        for thread in threads:
            self.known[thread] = set(shared)

    def block_barrier(self, block: int) -> None:
        """All threads of a block meet."""
        warps = range(block * WARPS_OF_BLOCK, (block + 1) * WARPS_OF_BLOCK)
        self.meet([warp * LANES + lane for warp in warps for lane in range(LANES)])
        for warp in warps:
            self.epochs[warp] += 1

    def warp_barrier(self, warp: int, mask: int) -> None:
        """The threads of a warp meet that the mask names."""
        self.meet([warp * LANES + lane for lane in range(LANES) if mask >> lane & 1])
        lanes, named = np.zeros((WARPS, WARP), np.bool_), np.zeros((WARPS, WARP), np.uint32)
        for lane in range(LANES):
            lanes[warp, lane] = mask >> lane & 1
            named[warp, lane] = mask
        self.clocks.meet(lanes, named)

    def unordered(self, event: Event) -> set[int]:
        """Threads with an earlier access to the same piece of which its thread does not know."""
        others = (number for number, each in enumerate(self.history) if each.piece == event.piece)
        return {self.history[number].thread for number in others if number not in self.known[event.thread]}

    def access(self, events: list[Event]) -> tuple[list[set[int]], list[bool]]:
        """Threads access at once; what all of history says of each, and what the emulator does."""
        index = np.array([event.piece for event in events])
        thread = np.array([event.thread for event in events])
        warp = thread // LANES
        epoch = np.array([self.epochs[each] for each in warp])
        who = Accessors(self.clocks, thread + 1, warp, warp // WARPS_OF_BLOCK, epoch, warp * WARP + thread % LANES)
        expected = [self.unordered(event) for event in events]
        found = self.last.unordered_with(index, who).tolist()
        for number, (event, threads) in enumerate(zip(events, expected, strict=True)):
            if threads and found[number]:
                one = np.array([number])
                before = {each.thread for each in self.history if each.piece == event.piece}
                assert self.last.someone_else(index[one], who[one]) - 1 in before - {event.thread}
        self.last.note(index, who, 0)
        for event in events:
            self.known[event.thread].add(len(self.history))
            self.history.append(event)
        return expected, found


Step = list[Event] | tuple[str, int, int]

ACCESS = st.lists(
    st.builds(Event, st.integers(0, PIECES - 1), st.integers(0, WARPS * LANES - 1)), min_size=1, max_size=5
)
BLOCK_BARRIER = st.integers(0, WARPS // WARPS_OF_BLOCK - 1).map(lambda block: ("block", block, 0))


def steps(masks: st.SearchStrategy[int]) -> st.SearchStrategy[list[Step]]:
    """Accesses, and barriers of blocks and warps, of those with these masks."""
    warp_barrier = st.builds(lambda warp, mask: ("warp", warp, mask), st.integers(0, WARPS - 1), masks)
    return st.lists(st.one_of(ACCESS, ACCESS, BLOCK_BARRIER, warp_barrier, warp_barrier), max_size=16)


def each_access(chosen: list[Step]) -> list[tuple[list[set[int]], list[bool]]]:
    """What is expected and found of each step that is an access."""
    threads, results = Threads(), []
    for step in chosen:
        if isinstance(step, list):
            results.append(threads.access(step))
        elif step[0] == "block":
            threads.block_barrier(step[1])
        else:
            threads.warp_barrier(step[1], step[2])
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

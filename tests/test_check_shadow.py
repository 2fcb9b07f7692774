"""Which accesses are in order: what little is remembered of them, against a memory of everything."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcore_emulator.shadow import Accessors, LastAccess

PIECES, THREADS, WARP, BLOCK = 3, 8, 2, 4


class Event(NamedTuple):
    """One access: by a thread that has passed so many barriers of its block and of its warp."""

    piece: int
    thread: int
    epoch: int
    warp_epoch: int


def in_order(a: Event, b: Event) -> bool:
    """Whether a is in order with the later b."""
    if a.thread == b.thread:
        return True
    if a.thread // BLOCK != b.thread // BLOCK:
        return False
    return a.epoch < b.epoch or (a.thread // WARP == b.thread // WARP and a.warp_epoch < b.warp_epoch)


ACCESS = st.lists(st.tuples(st.integers(0, THREADS - 1), st.integers(0, PIECES - 1)), min_size=1, max_size=5)
BLOCK_BARRIER = st.integers(0, THREADS // BLOCK - 1).map(lambda block: ("block", block))
WARP_BARRIER = st.integers(0, THREADS // WARP - 1).map(lambda warp: ("warp", warp))


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(ACCESS, ACCESS, BLOCK_BARRIER, WARP_BARRIER), max_size=14))
def test_what_is_remembered_tells_as_much_as_everything(steps: list[list[tuple[int, int]] | tuple[str, int]]) -> None:
    last, history = LastAccess(PIECES), list[Event]()
    epochs, warp_epochs = [0] * THREADS, [0] * THREADS
    for step in steps:
        if isinstance(step, tuple):
            kind, number = step
            size, counts = (BLOCK, epochs) if kind == "block" else (WARP, warp_epochs)
            for thread in range(number * size, (number + 1) * size):
                counts[thread] += 1
            continue
        events = [Event(piece, thread, epochs[thread], warp_epochs[thread]) for thread, piece in step]
        index = np.array([event.piece for event in events])
        threads = np.array([event.thread for event in events])
        passed = (np.array([getattr(event, name) for event in events]) for name in ("epoch", "warp_epoch"))
        who = Accessors(threads + 1, threads // WARP, threads // BLOCK, *passed)
        expected = [
            any(before.piece == event.piece and not in_order(before, event) for before in history) for event in events
        ]
        assert last.unordered_with(index, who).tolist() == expected
        for event, unordered in zip(events, expected, strict=True):
            if unordered:
                before = {each.thread for each in history if each.piece == event.piece}
                assert last.someone_else(event.piece, event.thread + 1) - 1 in before - {event.thread}
        last.note(index, who, 0)
        history += events

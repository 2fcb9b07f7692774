"""Clocks that mbarriers pass from the threads that arrive at them to the threads that wait for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mmcore_emulator.machine.asynchronous.events import ArrivalSent
from mmcore_emulator.numerics.types import Flags, Integers
from mmcore_emulator.sanitizer.happens_before.batch_clocks import BatchClocks
from mmcore_emulator.sanitizer.happens_before.event_clocks import Released, Rows
from mmcore_emulator.sanitizer.happens_before.vector_clocks import EMPTY, VectorClock, join


class _Arrival(NamedTuple):
    """The clocks of lanes when they sent an arrival: of events, and those they had acquired from flags."""

    events: Rows
    flags: list[VectorClock]


class MbarrierClocks:
    """The clocks at the mbarriers of a batch's blocks."""

    def __init__(self, clocks: BatchClocks) -> None:
        self._clocks, self._events = clocks, clocks.events
        self._sent: dict[ArrivalSent, _Arrival] = {}
        self._from_events: Released = {}
        self._from_flags: dict[int, VectorClock] = {}
        # The lanes that have waited for each mbarrier without an acquire, and have made no fence since.
        self._to_acquire: dict[int, Flags] = {}

    def reset(self, places: Iterable[int]) -> None:
        """Forget the clocks released at mbarriers that are initialised."""
        for place in places:
            self._from_flags.pop(place, None)
            self._from_events.pop(place, None)

    def send(self, arrival: ArrivalSent, lanes: Integers) -> None:
        """Keep the clocks of lanes that send an arrival."""
        clocks, scope = self._clocks, arrival.relaxed
        times = clocks.fenced_of_block(lanes, scope) if scope else clocks.of_block(lanes)
        threads = clocks.threads(lanes) if clocks.order.flags_read else []
        from_flags = [clocks.order.acquired(thread, scope) for thread in threads]
        self._sent[arrival] = _Arrival(self._events.with_threads(lanes, times), from_flags)

    def deliver(self, arrival: ArrivalSent, places: Integers) -> None:
        """Release the clocks of an arrival at its mbarriers."""
        clocks = self._sent.pop(arrival)
        self._events.release(self._from_events, clocks.events, places)
        for place, clock in zip(places.tolist(), clocks.flags, strict=False):
            self._from_flags[place] = join(self._from_flags.get(place, EMPTY), clock)

    def wait(self, lanes: Integers, places: Integers, relaxed: bool) -> None:
        """Let lanes acquire the clocks at mbarriers that they have waited for; ``relaxed`` at their next fence."""
        if not relaxed:
            self._acquire(lanes, places)
            return
        for place in np.unique(places).tolist():
            waited = self._to_acquire.setdefault(place, np.zeros(self._clocks.numbers.batch.lanes, np.bool_))
            waited[lanes[places == place]] = True

    def fence(self, lanes: Integers) -> None:
        """Let lanes acquire the clocks at mbarriers that they have waited for without an acquire."""
        for place, waited in self._to_acquire.items():
            acquiring = lanes[waited[lanes]]
            self._acquire(acquiring, np.full(len(acquiring), place))
            waited[lanes] = False

    def _acquire(self, lanes: Integers, places: Integers) -> None:
        self._events.acquire_released(self._from_events, lanes, places)
        for place, clock in self._from_flags.items() if lanes.size else ():
            self._clocks.order.acquire(self._clocks.threads(lanes[places == place]), clock)

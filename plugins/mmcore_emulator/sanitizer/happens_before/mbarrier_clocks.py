"""Clocks that mbarriers pass from the threads that arrive in a phase to the threads that wait for its end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mmcore_emulator.machine.asynchronous.events import ArrivalSent
from mmcore_emulator.numerics.types import Integers, Values
from mmcore_emulator.sanitizer.happens_before.batch_clocks import BatchClocks
from mmcore_emulator.sanitizer.happens_before.event_clocks import Released, Rows
from mmcore_emulator.sanitizer.happens_before.vector_clocks import EMPTY, VectorClock, join

_KEPT = 8


class _Arrival(NamedTuple):
    """The clocks of lanes when they sent an arrival: of events, and those they had acquired from flags."""

    events: Rows
    flags: list[VectorClock]


@dataclass
class _Phases:
    """The phases of an mbarrier, numbered from 0."""

    arrived: Integers  # number of the phase in which each lane has last arrived; -1 for none
    current: int = 0
    # The clocks released until the end of each of the latest phases, by its number.
    events: Released = field(default_factory=dict)
    flags: dict[int, VectorClock] = field(default_factory=dict)

    def advance(self, parity: int) -> None:
        """Begin the next phase if the parity of the current one is another."""
        if self.current & 1 != parity:
            self.current += 1
            before = self.current - 1
            if before in self.events:
                self.events[self.current] = self.events[before]
            if before in self.flags:
                self.flags[self.current] = self.flags[before]
            self.events.pop(self.current - _KEPT, None)
            self.flags.pop(self.current - _KEPT, None)

    def awaited(self, lanes: Integers, parity: Values | None) -> Integers:
        """Return the phases that lanes have waited for: those of their own arrivals, or else the last."""
        last = self.current - 1
        if parity is None:
            return np.full(len(lanes), last)
        own = self.arrived[lanes]
        by_state = (own >= 0) & (own < last) & (own & 1 == parity)
        return np.where(by_state, np.maximum(own, self.current - _KEPT + 1), last)


class MbarrierClocks:
    """The clocks at the mbarriers of a batch's blocks."""

    def __init__(self, clocks: BatchClocks) -> None:
        self._clocks, self._events = clocks, clocks.events
        self._sent: dict[ArrivalSent, _Arrival] = {}
        self._phases: dict[int, _Phases] = {}
        # The phase of each mbarrier that each lane has yet to acquire by a fence after a relaxed wait; -1 for none.
        self._to_acquire: dict[int, Integers] = {}

    def reset(self, places: Iterable[int]) -> None:
        """Forget the clocks released at mbarriers that are initialised."""
        for place in places:
            self._phases.pop(place, None)

    def send(self, arrival: ArrivalSent, lanes: Integers) -> None:
        """Keep the clocks of lanes that send an arrival."""
        clocks, scope = self._clocks, arrival.relaxed
        times = clocks.fenced_of_block(lanes, scope) if scope else clocks.of_block(lanes)
        threads = clocks.threads(lanes) if clocks.order.flags_read else []
        from_flags = [clocks.order.acquired(thread, scope) for thread in threads]
        released = self._events.of_warpgroups(lanes, self._events.with_threads(lanes, times))
        self._sent[arrival] = _Arrival(released, from_flags)

    def deliver(self, arrival: ArrivalSent, lanes: Integers, places: Integers, parity: Values) -> None:
        """Release the clocks of an arrival at its mbarriers, in phases of a parity."""
        clocks = self._sent.pop(arrival)
        for place in np.unique(places).tolist():
            here, phases = np.flatnonzero(places == place), self._of(place)
            # The parity changes from lane to lane when an arrival ends a phase.
            runs = np.flatnonzero(np.diff(parity[here], prepend=-1))
            for rows in np.split(here, runs[1:]):
                phases.advance(int(parity[rows[0]]))
                phases.arrived[lanes[rows]] = phases.current
                self._events.release(phases.events, clocks.events[rows], np.full(len(rows), phases.current))
                if clocks.flags:
                    released = (clocks.flags[row] for row in rows.tolist())
                    phases.flags[phases.current] = join(phases.flags.get(phases.current, EMPTY), *released)

    def _of(self, place: int) -> _Phases:
        if place not in self._phases:
            self._phases[place] = _Phases(np.full(self._clocks.numbers.batch.lanes, -1))
        return self._phases[place]

    def wait(self, lanes: Integers, places: Integers, parity: Values, awaited: Values | None, relaxed: bool) -> None:
        """Let lanes acquire the clocks at mbarriers that they have waited for; ``relaxed`` at their next fence.

        ``parity`` is the parity of the current phase. ``awaited`` is the parity of the phase of the arrival that each
        lane names; None if it names none.
        """
        for place in np.unique(places).tolist():
            here, phases = np.flatnonzero(places == place), self._of(place)
            phases.advance(int(parity[here[0]]))
            through = phases.awaited(lanes[here], None if awaited is None else awaited[here])
            if relaxed:
                waited = self._to_acquire.setdefault(place, np.full(len(phases.arrived), -1))
                waited[lanes[here]] = through
            else:
                self._acquire(phases, lanes[here], through)

    def is_new(self, place: int) -> bool:
        """Return True if no phase of an mbarrier has ended."""
        return not self._of(place).current

    def fence(self, lanes: Integers) -> None:
        """Let lanes acquire the clocks at mbarriers that they have waited for without an acquire."""
        for place, waited in self._to_acquire.items():
            acquiring = lanes[waited[lanes] >= 0]
            self._acquire(self._of(place), acquiring, waited[acquiring])
            waited[lanes] = -1

    def _acquire(self, phases: _Phases, lanes: Integers, through: Integers) -> None:
        self._events.acquire_released(phases.events, lanes, through)
        for phase in np.unique(through).tolist() if phases.flags else ():
            self._clocks.order.acquire(self._clocks.threads(lanes[through == phase]), phases.flags.get(phase, EMPTY))

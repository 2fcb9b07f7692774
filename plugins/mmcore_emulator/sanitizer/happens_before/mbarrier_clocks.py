"""Clocks that mbarriers pass from the threads that arrive in a phase to the threads that wait for its end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mmcore_emulator.machine.asynchronous.events import ArrivalSent
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.numerics.types import Integers, Values
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.happens_before.batch_clocks import BatchClocks
from mmcore_emulator.sanitizer.happens_before.event_clocks import WARPS_OF_GROUP, Released, Rows
from mmcore_emulator.sanitizer.happens_before.vector_clocks import EMPTY, VectorClock, join
from mmcore_emulator.sanitizer.recording import SharedReport

_KEPT = 8
_WARPGROUP = WARPS_OF_GROUP * WARP
_MOST_GROUPS = 8  # of a block
_MISSED = (
    "waits for a phase of the mbarrier {}, and arrivals that do not follow this wait end the next phase: if they come "
    "first, the wait is for a later phase, which may never end"
)


class _Arrival(NamedTuple):
    """The clocks of lanes when they sent an arrival: of events, and those they had acquired from flags."""

    events: Rows
    flags: list[VectorClock]


@dataclass
class _Phases:
    """The phases of an mbarrier, numbered from 0."""

    arrived: Integers  # number of the phase in which each lane has last arrived; -1 for none
    waited: Integers  # time when each lane has waited for the phase before the current one; 0 for none
    current: int = 0
    # The latest instruction of a wait for the phase before, and of an arrival in the current one.
    wait: Instruction | None = None
    arrival: Instruction | None = None
    # The clocks released until the end of each of the latest phases, by its number.
    events: Released = field(default_factory=dict)
    flags: dict[int, VectorClock] = field(default_factory=dict)

    def advance(self) -> None:
        """Begin the next phase."""
        self.current += 1
        before = self.current - 1
        if before in self.events:
            self.events[self.current] = self.events[before]
        if before in self.flags:
            self.flags[self.current] = self.flags[before]
        self.events.pop(self.current - _KEPT, None)
        self.flags.pop(self.current - _KEPT, None)
        self.waited[:] = 0

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

    def __init__(self, clocks: BatchClocks, report: SharedReport) -> None:
        self._clocks, self._events, self._report = clocks, clocks.events, report
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
                self._advance(place, int(parity[rows[0]]))
                phases.arrived[lanes[rows]] = phases.current
                phases.arrival = arrival.at
                self._events.release(phases.events, clocks.events[rows], np.full(len(rows), phases.current))
                if clocks.flags:
                    released = (clocks.flags[row] for row in rows.tolist())
                    phases.flags[phases.current] = join(phases.flags.get(phases.current, EMPTY), *released)

    def _of(self, place: int) -> _Phases:
        if place not in self._phases:
            lanes = self._clocks.numbers.batch.lanes
            self._phases[place] = _Phases(np.full(lanes, -1), np.zeros(lanes, np.int64))
        return self._phases[place]

    def wait(
        self, at: Instruction, lanes: Integers, places: Integers, parity: Values, awaited: Values | None, relaxed: bool
    ) -> None:
        """Let lanes acquire the clocks at mbarriers that they have waited for; ``relaxed`` at their next fence.

        ``parity`` is the parity of the current phase. ``awaited`` is the parity of the phase of the arrival that each
        lane names; None if it names none.
        """
        for place in np.unique(places).tolist():
            here, phases = np.flatnonzero(places == place), self._of(place)
            self._advance(place, int(parity[here[0]]))
            through = phases.awaited(lanes[here], None if awaited is None else awaited[here])
            if awaited is None:
                phases.waited[lanes[here]], phases.wait = self._clocks.order.now, at
            if relaxed:
                waited = self._to_acquire.setdefault(place, np.full(len(phases.arrived), -1))
                waited[lanes[here]] = through
            else:
                self._acquire(phases, lanes[here], through)

    def _advance(self, place: int, parity: int) -> None:
        """Begin the next phase of an mbarrier if the parity of the current one is another."""
        phases = self._of(place)
        if phases.current & 1 != parity:
            self._check_waits(place, phases)
            phases.advance()

    def _check_waits(self, place: int, phases: _Phases) -> None:
        """Report waits for the phase before one that ends, if no thread has arrived in that one behind the wait.

        Threads of a warpgroup wait together.
        """
        lanes = np.flatnonzero(phases.waited)
        if phases.wait is None or phases.arrival is None or not lanes.size:
            return
        ended = phases.events.get(phases.current)
        behind = self._events.times_of_threads(ended, lanes) >= phases.waited[lanes] if ended is not None else lanes < 0
        numbers = self._clocks.numbers
        groups = numbers.block_in_batch[lanes] * _MOST_GROUPS + numbers.thread_in_block[lanes] // _WARPGROUP
        missing = ~np.isin(groups, groups[behind])
        if missing.any():
            text = _MISSED.format(self._report.name(place // 4))
            self._report.add("missed-phase", phases.wait, lanes[missing], text, phases.arrival)

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

"""Warps of a batch: the lanes of each, and the lanes that wait for each other at a barrier of a warp (``__syncwarp``).

A lane at such a barrier names the lanes of its warp that it waits for, by a mask with one bit for each. Lanes wait for
each other if they name the same lanes, anywhere in the code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from mmcore_emulator.machine.lanes import THREAD_AXES, Batch, Mask
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.observer import LaneViolation, always
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.ptx.instructions import Instruction

EVERY_LANE = np.uint32(0xFFFFFFFF)
BIT = np.uint32(1) << np.arange(WARP, dtype=np.uint32)
"""The bit of each lane of a warp in a mask."""

PerWarp: TypeAlias = Values
"""A value for each lane of each warp of a batch: one row per warp."""
Collectively: TypeAlias = Callable[..., Sequence[PerWarp]]
_UNIT = 8  # the allocation unit of a thread's registers


class Warps:
    """The warps of a batch."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self.per_block = -(-batch.block.size // WARP)  # number of warps in each block
        self.count = batch.extent.size * self.per_block  # number of warps
        place = batch.block_index() * (self.per_block * WARP) + batch.thread_index()
        # Index of each lane when the warps are stored one after the other.
        self.place = np.broadcast_to(place, batch.shape)

    def together(self, compute: Collectively, sources: Sequence[Values], mask: Mask | None) -> list[Values]:
        """Return values that the threads of each warp compute together from values as lanes.

        ``compute`` maps the executing lanes and the sources, as rows of a warp, to the results as rows.
        """
        taking = self.rows(self._batch.spread(mask))
        return [self.lanes(rows) for rows in compute(taking, *map(self.rows, sources))]

    def active(self, mask: Mask | None) -> Values:
        """Return for each lane a mask of the lanes of its warp that execute the same instruction now."""
        rows = self.rows(self._batch.spread(mask))
        named = np.where(rows, BIT, np.uint32(0)).sum(axis=1, keepdims=True, dtype=np.uint32)
        return self.lanes(np.broadcast_to(named, rows.shape))

    @cached_property
    def lane_numbers(self) -> PerWarp:
        """The number of each lane in the batch, warp by warp; 0 for threads missing from a block's last warp."""
        return self.rows(np.arange(self.place.size).reshape(self.place.shape))

    def rows(self, values: Values) -> PerWarp:
        """Return values of lanes, warp by warp; zero for threads missing from a block's last warp."""
        rows = np.zeros(self.count * WARP, values.dtype)
        rows[self.place] = np.broadcast_to(values, self.place.shape)
        return rows.reshape(self.count, WARP)

    def lanes(self, rows: PerWarp) -> Values:
        """Return the lanes of rows: the inverse of :meth:`rows`."""
        return np.asarray(rows.reshape(-1)[self.place])


@dataclass(frozen=True)
class Gathering:
    """Threads at barriers of their warps; none of them can continue without a barrier."""

    waiting: PerWarp  # lanes at a barrier of their warp
    named: PerWarp  # the mask that each of them names
    present: PerWarp  # lanes that have not left the kernel

    def strays(self) -> PerWarp:
        """Return the lanes that their own mask does not name."""
        return np.asarray(self.waiting & ((self.named & BIT) == 0))

    def complete(self) -> PerWarp:
        """Return the lanes that need not wait: all lanes that they name have come, or have left the kernel."""
        complete = np.zeros_like(self.waiting)
        for group in groups(self.waiting, self.named):
            awaited = self.present & ((self.named[group][0] & BIT) != 0)
            complete |= group & ~(awaited & ~group).any(axis=1, keepdims=True)
        return complete


def groups(lanes: PerWarp, named: PerWarp) -> list[PerWarp]:
    """Return the lanes that name the same mask, for each mask."""
    return [lanes & (named == mask) for mask in np.unique(named[lanes])]


class RegisterPool:
    """The registers of a batch's blocks, of ``registers`` a thread at the launch.

    If these are unknown (0), ``setmaxnreg`` has no effect.
    """

    def __init__(self, batch: Batch, registers: int) -> None:
        self._batch = batch
        self._at_launch = -(-registers // _UNIT) * _UNIT
        self._held = np.full(batch.shape, self._at_launch, np.int64)
        self._asked: dict[int, Instruction] = {}

    def set(self, count: int, mask: Mask | None, at: Instruction) -> None:
        """Set the register count of lanes from now on; lanes may have to wait for it."""
        if self._at_launch:
            self._held[self._batch.spread(mask)] = count
            self._asked[count] = at

    def overdrawn(self) -> Iterator[LaneViolation]:
        """Yield the lanes that wait forever, after all lanes have ended."""
        if not self._asked:
            return
        total = self._held.sum(THREAD_AXES, keepdims=True)
        present = self._at_launch * self._held[(0, slice(None)) * 3].size
        short = (self._held > self._at_launch) & (total > present)
        for count in np.unique(self._held[short]).tolist():
            text = (
                f"waits for {count} registers: its block has {present}, {self._at_launch} a thread at the launch, "
                f"and its threads together ask for {int(total[total > present].max())}"
            )
            lanes = short & (self._held == count)
            yield LaneViolation("deadlock", None, self._asked[count], lanes, always(text))

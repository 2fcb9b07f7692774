"""Warps of a batch: which lanes are whose, and who waits for whom at a barrier of a warp (``__syncwarp``).

Whoever comes to such a barrier names the lanes of its warp that it waits for, by a mask with a bit for each. Lanes wait
for one another when they name the same lanes, wherever in the code they do so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.lanes import WARP, Batch, Mask
from mmcore_emulator.numerics.floats import Values

EVERY_LANE = np.uint32(0xFFFFFFFF)
BIT = np.uint32(1) << np.arange(WARP, dtype=np.uint32)
"""What stands for each lane of a warp in a mask."""

PerWarp = NDArray[Any]
"""A value for each lane of each warp of a batch: a row for a warp."""
Collectively: TypeAlias = Callable[..., Sequence[PerWarp]]


class Warps:
    """The warps of a batch.

    Attributes:
        count, per_block: how many there are, in all and of each block.
        place: for each lane, its place when the warps stand one behind the other.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self.per_block = -(-batch.block.size // WARP)
        self.count = batch.extent.size * self.per_block
        place = batch.block_index() * (self.per_block * WARP) + batch.thread_index()
        self.place = np.broadcast_to(place, batch.shape)

    def together(self, compute: Collectively, sources: Sequence[Values], mask: Mask | None) -> list[Values]:
        """Return what the threads of each warp compute together.

        Args:
            compute: from the lanes that take part and the sources, as rows of a warp, to the results as rows.
            sources: values as lanes.
            mask: the lanes that take part.
        """
        taking = self.rows(self._batch.spread(mask))
        return [self.lanes(each) for each in compute(taking, *map(self.rows, sources))]

    def active(self, mask: Mask | None) -> Values:
        """Return for each lane, as a mask, the lanes of its warp that execute the same instruction now."""
        rows = self.rows(self._batch.spread(mask))
        named = np.where(rows, BIT, np.uint32(0)).sum(axis=1, keepdims=True, dtype=np.uint32)
        return self.lanes(np.broadcast_to(named, rows.shape))

    @cached_property
    def lane_numbers(self) -> PerWarp:
        """The number of each lane in the batch, warp by warp; 0 where a block's last warp has no threads."""
        return self.rows(np.arange(self.place.size).reshape(self.place.shape))

    def rows(self, values: Values) -> PerWarp:
        """Values of lanes, warp by warp; zero where a block's last warp has no threads."""
        rows = np.zeros(self.count * WARP, values.dtype)
        rows[self.place] = np.broadcast_to(values, self.place.shape)
        return rows.reshape(self.count, WARP)

    def lanes(self, rows: PerWarp) -> Values:
        """What :meth:`rows` was made of."""
        return np.asarray(rows.reshape(-1)[self.place])


@dataclass(frozen=True)
class Gathering:
    """Threads at barriers of their warps, none of which can go on without a barrier."""

    waiting: PerWarp  # who is at a barrier of its warp
    named: PerWarp  # the mask that each of them names
    present: PerWarp  # who has not left the kernel

    def strays(self) -> PerWarp:
        """Those whose mask does not name themselves."""
        return np.asarray(self.waiting & ((self.named & BIT) == 0))

    def complete(self) -> PerWarp:
        """Those for whom everybody has come whom they name, and who has not left the kernel."""
        complete = np.zeros_like(self.waiting)
        for group in groups(self.waiting, self.named):
            awaited = self.present & ((self.named[group][0] & BIT) != 0)
            complete |= group & ~(awaited & ~group).any(axis=1, keepdims=True)
        return complete


def groups(lanes: PerWarp, named: PerWarp) -> list[PerWarp]:
    """Those among ``lanes`` that name the same mask, for each mask that is named."""
    return [lanes & (named == mask) for mask in np.unique(named[lanes])]

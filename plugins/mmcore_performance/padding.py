"""A trial of padded rows of an array in shared memory, on the addresses that a launch accesses."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.observer import Access
from mmcore_emulator.numerics.types import Integers
from mmcore_emulator.profiler.coalescing import BANKS, Active, Rows, by_warp, shared_wavefronts

_KEPT = 32  # accesses of each instruction
_WARPS = 32  # of each access
_LINE = BANKS * 4  # bytes of a pass
_STEPS = 4  # paddings that are tried


class _Sample(NamedTuple):
    access: Access
    offset: Rows  # of a lane's element from the array's first
    active: Active


@dataclass
class SharedArray:
    """The accesses to one array.

    Attributes:
        base: its address.
        nbytes: its size.
        samples: the first accesses of each instruction, by its identity.
        executed: how often each instruction accesses the array.
    """

    base: int
    nbytes: int
    samples: dict[int, list[_Sample]] = field(default_factory=lambda: defaultdict(list))
    executed: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def record(self, batch: Batch, access: Access) -> None:
        """Note an access."""
        key = id(access.at)
        self.executed[key] += 1
        if len(self.samples[key]) < _KEPT:
            address, active, _ = by_warp(batch, access.address, access.mask)
            offset: Rows = address[:_WARPS] - np.uint64(self.base)
            inside = active[:_WARPS] & (offset < np.uint64(self.nbytes))
            self.samples[key].append(_Sample(access, np.where(inside, offset, np.uint64(0)), inside))

    def padding(self, least: int) -> int:
        """Return the bytes, a multiple of ``least``, by which longer rows have the fewest conflicts; 0 if none help.

        All accesses to the array count, which keep their alignment. If rows may have several lengths, the one with the
        most conflicts counts.
        """
        row = self._row()
        step = max([least, *(each.access.nbytes for each in self._all())])
        if not row or row % step:
            return 0
        rows = [row, *self._parts(row)]

        def most(padding: int) -> float:
            return max(self._conflicts(each, padding) for each in rows)

        return min((step * times for times in range(_STEPS)), key=lambda padding: (most(padding), padding))

    def _all(self) -> Iterator[_Sample]:
        return (sample for several in self.samples.values() for sample in several)

    def _conflicts(self, row: int, padding: int) -> float:
        """Return the passes that conflicts cost if rows of some bytes get a padding."""
        conflicts = 0.0
        for key, several in self.samples.items():
            found = 0
            for access, offset, active in several:
                moved = offset + offset // np.uint64(row) * np.uint64(padding)
                found += shared_wavefronts(access, moved, active)[1]
            conflicts += found * self.executed[key] / len(several)
        return conflicts

    def _row(self) -> int:
        """Return the bytes from a row to the next, by the gaps between rows or elements in one bank; 0 if unknown."""
        words = np.zeros(-(-self.nbytes // 4) + 1, np.bool_)
        last = np.uint64(len(words) - 1)
        for access, offset, active in self._all():
            for byte in range(0, access.nbytes, 4):
                words[np.minimum((offset[active] + np.uint64(byte)) // np.uint64(4), last)] = True
        first: Integers = np.flatnonzero(words[1:] & ~words[:-1]) + 1
        if first.size:
            return 4 * int(first[0]) if (np.diff(first, prepend=0) == first[0]).all() else 0
        return self._distance()

    def _parts(self, row: int) -> set[int]:
        """Return the lengths that divide a row and are the distance of elements that two instructions of a line access.

        They may be rows of which a warp's access leaves some out, or parts of a row.
        """
        of_line = defaultdict[int, list[_Sample]](list)
        for several in self.samples.values():
            of_line[several[0].access.at.line].append(several[0])
        found = set[int]()
        for samples in of_line.values():
            for one, other in itertools.pairwise(samples):
                lanes = one.active[0] & other.active[0]
                apart = np.abs(one.offset[0][lanes].astype(np.int64) - other.offset[0][lanes].astype(np.int64))
                found |= set(apart.tolist()) if len({*apart.tolist()}) == 1 else set()
        return {each for each in found if 0 < each < row and each % _LINE == row % each == 0}

    def _distance(self) -> int:
        """Return the least distance of two elements that a warp accesses in one bank, if it divides the array."""
        distances = [self.nbytes]
        for _, offset, active in self._all():
            for places, lanes in zip(offset, active, strict=True):
                apart = np.abs(np.diff(places[lanes].astype(np.int64)))
                distances += apart[(apart > 0) & (apart % _LINE == 0)].tolist()
        row = min(distances)
        return row if row < self.nbytes and self.nbytes % row == 0 else 0

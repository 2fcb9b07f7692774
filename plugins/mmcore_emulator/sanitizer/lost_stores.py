"""Stores to shared memory that another store replaces before any thread has read them.

A right kernel may store something in vain. So they are signs of a mistake only where the product is wrong.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from mmcore_emulator.executor.kernel_launch import violation_of
from mmcore_emulator.executor.translation.layout import Layout
from mmcore_emulator.machine.lanes import Batch
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.machine.observer import MEMORIES, Access, LaneViolation, Observer, always
from mmcore_emulator.machine.violations import Violation
from mmcore_emulator.numerics.types import Flags, Integers
from mmcore_emulator.ptx.instructions import Instruction

_Place: TypeAlias = tuple[str | None, int | None]
_NOWHERE = np.uint64(2**64 - 1)
_TEXT = "writes element {} of {}, which line {} writes again before any thread has read it"


class LostStores(Observer):
    """An observer of a launch.

    A line is reported if threads read nothing of what it stores, and another line replaces some of it. Stores of
    zeros are left out: a kernel may clear a tile before it fills it.
    """

    ignores = MEMORIES - {"shared", "generic"}

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.places: list[Instruction | None] = [None]  # the first store of each line
        self.numbers: dict[_Place, int] = {}
        self.read: set[int] = set()  # the numbers of lines of which something was read
        self.lost: dict[int, Violation] = {}

    def begin(self, batch: Batch) -> _BatchStores:
        return _BatchStores(batch, self)

    def found(self) -> list[Violation]:
        """Return the lost stores of the launch."""
        return [violation for number, violation in self.lost.items() if number not in self.read]

    def number(self, at: Instruction) -> int:
        """Return the number of the line of a store."""
        place = at.source, at.line
        if place not in self.numbers:
            self.numbers[place] = len(self.places)
            self.places.append(at)
        return self.numbers[place]


class _BatchStores(Observer):
    """An observer of a batch of blocks."""

    ignores = LostStores.ignores

    def __init__(self, batch: Batch, launch: LostStores) -> None:
        self._batch, self._launch = batch, launch
        self._last: dict[int, Integers] = {}  # by array: the line that stored each byte last, if nothing has read it

    def access(self, access: Access) -> None:
        if access.space != "shared":
            return
        lanes = self._batch.spread(access.mask)
        address = np.broadcast_to(access.address, self._batch.shape)
        array = access.memory.at(int(address[lanes].min(initial=_NOWHERE)))
        if array is None:
            return
        begins = array.index(address, 1)
        inside = lanes & (begins >= 0) & (begins + access.nbytes <= len(array.content))
        bytes_ = begins[inside][:, np.newaxis] + np.arange(access.nbytes)
        last = self._last.setdefault(array.base, np.zeros(len(array.content), np.int64))
        if access.kind == "store":
            self._store(access, array, inside, bytes_, last)
        else:
            self._launch.read.update(np.unique(last[bytes_]).tolist())
            last[bytes_] = 0

    def _store(self, access: Access, array: Array, lanes: Flags, bytes_: Integers, last: Integers) -> None:
        launch, number = self._launch, self._launch.number(access.at)
        before = last[bytes_].max(axis=1, initial=0)
        for other in np.unique(before[(before > 0) & (before != number)]).tolist():
            if other not in launch.lost and (at := launch.places[other]) is not None:
                marked = np.zeros(self._batch.shape, np.bool_)
                marked[lanes] = before == other
                first = self._batch.first_of(marked)
                name = launch.layout.shared_name(array.base) or array.label
                element = int(array.index(np.broadcast_to(access.address, self._batch.shape), access.nbytes)[first])
                text = always(_TEXT.format(element, name, access.at.line))
                launch.lost[other] = violation_of(LaneViolation("lost-store", name, at, marked, text), self._batch)
        last[bytes_] = number if any(np.any(value) for value in access.values) else 0

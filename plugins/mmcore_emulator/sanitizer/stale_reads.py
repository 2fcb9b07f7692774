"""Reads of elements of shared memory that a step of a loop should have written again.

A right kernel may read what an earlier step wrote. So they are signs of a mistake only where the product is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from mmcore_emulator.executor.kernel_launch import violation_of
from mmcore_emulator.executor.translation.layout import Layout
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.machine.observer import MEMORIES, Access, LaneViolation, Observer, always
from mmcore_emulator.machine.violations import Violation
from mmcore_emulator.numerics.types import Flags, Integers, Values
from mmcore_emulator.ptx.instructions import Block

_Key: TypeAlias = tuple[str, int, int, int]
_NOWHERE = np.uint64(2**64 - 1)
_TEXT = (
    "reads element {} of {}, which line {} wrote in an earlier step and not in this one; "
    "where its condition does not hold, set the element to 0"
)


class _Elements:
    """The phase in which each element of a shared array was last written, and the line that wrote it."""

    def __init__(self, count: int) -> None:
        self.phase, self.line = (np.zeros(count, np.int64) for _ in range(2))


class StaleReads(Observer):
    """An observer of a launch.

    Barriers divide the run of a block into phases. A line that writes a tile in one phase, and leaves an element out,
    makes the read of this element stale. Such a read is known by another element: the same expression reads it in the
    same phase, and the same line wrote it in a later phase.

    ``found`` gets the first stale read of each array.
    """

    ignores = MEMORIES - {"shared", "generic"}

    def __init__(self, layout: Layout, found: dict[str, Violation]) -> None:
        self._layout, self._found = layout, found

    def begin(self, batch: Batch) -> _BatchReads:
        return _BatchReads(batch, self._layout, self._found)


class _BatchReads(Observer):
    """An observer of a batch of blocks."""

    ignores = StaleReads.ignores

    def __init__(self, batch: Batch, layout: Layout, found: dict[str, Violation]) -> None:
        self._batch, self._layout, self._found = batch, layout, found
        self._block = np.broadcast_to(batch.block_index(), batch.shape)
        self._now = np.ones(batch.extent.size, np.int64)  # the phase of each block
        self._elements: dict[tuple[int, int], _Elements] = {}
        # By expression: the phase of each block in which it read last, and the newest element with its line.
        self._newest: dict[_Key, tuple[Integers, Integers, Integers]] = {}

    def synchronise(self, left: Sequence[tuple[Block, Mask | None]], number: Values, count: Values) -> None:
        leaving = np.logical_or.reduce([self._batch.spread(mask) for _, mask in left])
        self._now[np.unique(self._block[leaving])] += 1

    def access(self, access: Access) -> None:
        if access.space != "shared" or access.kind not in ("load", "store"):
            return
        lanes = self._batch.spread(access.mask)
        address = np.broadcast_to(access.address, self._batch.shape)
        array = access.memory.at(int(address[lanes].min(initial=_NOWHERE)))
        if array is None:
            return
        index = array.index(address, access.nbytes)
        inside = lanes & (index >= 0) & (index < len(array.content) // access.nbytes)
        key = array.base, access.nbytes
        elements = self._elements.setdefault(key, _Elements(len(array.content) // access.nbytes))
        if access.kind == "store":
            elements.phase[index[inside]] = self._now[self._block[inside]]
            elements.line[index[inside]] = access.at.line
        else:
            self._read(access, array, index, inside, elements)

    def _read(self, access: Access, array: Array, index: Integers, lanes: Flags, elements: _Elements) -> None:
        at = access.at
        none = np.zeros_like(self._now), np.zeros_like(self._now), np.zeros_like(self._now)
        key = at.source, at.line, at.column, array.base
        seen, newest, line = self._newest.setdefault(key, none)
        fresh = seen != self._now
        seen[fresh], newest[fresh], line[fresh] = self._now[fresh], 0, 0
        blocks, phases, lines = self._block[lanes], elements.phase[index[lanes]], elements.line[index[lanes]]
        np.maximum.at(newest, blocks, phases)
        latest = phases == newest[blocks]
        line[blocks[latest]] = lines[latest]
        stale = (phases > 0) & ~latest & (lines == line[blocks])
        name = self._layout.shared_name(array.base) or array.label
        if stale.any() and name not in self._found:
            marked = np.zeros(self._batch.shape, np.bool_)
            marked[lanes] = stale
            first = self._batch.first_of(marked)
            offset = int(np.broadcast_to(access.address, self._batch.shape)[first]) - array.base
            text = _TEXT.format(offset // access.nbytes, name, elements.line[index[first]])
            self._found[name] = violation_of(LaneViolation("stale-read", name, at, marked, always(text)), self._batch)

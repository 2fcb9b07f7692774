"""The order of floating-point additions by atomic operations, which a GPU leaves open between threads."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore_emulator.adapter.profile import profile_cell
from mmcore_emulator.machine.observer import Access
from mmcore_emulator.profiler.by_line import Counting
from mmcore_emulator.ptx.instructions import Block, Instruction

_ADDITION = re.compile(r"\b(?:atom|red)\.[\w.:]*\badd\.[\w.:]*\bb?f(?:16|32|64)")
_FLOATS = frozenset(("f16", "f16x2", "bf16", "bf16x2", "f32", "f64"))
_OF_ALL_BLOCKS = -1


def has_open_order(cell: Cell, device: Device, ptx: str) -> bool:
    """Return whether several threads add to one float by atomic operations, as the emulator runs a cell's ``ptx``."""
    if not _ADDITION.search(ptx):
        return False
    launches: list[AdditionRecorder] = []

    def recorder(blocks: Sequence[Block]) -> AdditionRecorder:
        launches.append(AdditionRecorder(blocks))
        return launches[-1]

    profile_cell(cell, device, counting=recorder)
    return any(launch.is_open for launch in launches)


class AdditionRecorder(Counting):
    """An observer that records the threads that add to each float in one launch."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(blocks)
        self._additions: list[NDArray[np.int64]] = []  # rows: block of the memory, address, thread

    @property
    def is_open(self) -> bool:
        """True if several threads add to one float."""
        if not self._additions:
            return False
        additions = np.unique(np.concatenate(self._additions, axis=1), axis=1)
        return bool((additions[:2, 1:] == additions[:2, :-1]).all(axis=0).any())

    def access(self, access: Access) -> None:
        super().access(access)
        if access.kind != "atomic" or not _adds_floats(access.at):
            return
        batch = self._batch
        lanes = batch.spread(access.mask)
        blocks, threads = (
            np.broadcast_to(each, batch.shape)[lanes] for each in (batch.number_in_grid(), batch.thread_index())
        )
        memory = blocks if access.space == "shared" else np.full_like(blocks, _OF_ALL_BLOCKS)
        address = np.broadcast_to(access.address, batch.shape)[lanes].astype(np.int64)
        added = np.stack([memory, address, blocks * batch.block.size + threads])
        if not self._additions or not np.array_equal(self._additions[-1], added):
            self._additions.append(added)


def _adds_floats(at: Instruction) -> bool:
    return "add" in at.opcode and not _FLOATS.isdisjoint(at.opcode)

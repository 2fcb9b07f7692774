"""Scheduling of a launch's blocks: as many at once as a GPU holds, each running until it waits for others."""

from __future__ import annotations

from collections import deque

import numpy as np

from mmcore_emulator.executor.block_batch import BlockBatchExecutor
from mmcore_emulator.executor.kernel_launch import KernelLaunch


def execute(launch: KernelLaunch) -> None:
    """Execute every block of a launch, and write its output.

    Raises:
        TimeLimit: the launch's deadline has passed.
        UnsupportedInstruction: a thread executes an instruction that the emulator does not support.
    """
    try:
        with np.errstate(all="ignore"):
            _execute(launch)
    finally:
        launch.printed.flush(launch.write)


def _execute(launch: KernelLaunch) -> None:
    """Run every block.

    Batches of blocks run one after the other. If the threads of a batch only poll memory that other blocks write, other
    batches run, and new ones begin if the device has room for their blocks. When all have polled and nothing has
    changed, nothing ever will: that is a deadlock.
    """
    pending = iter(launch.batches())
    coming = next(pending, None)
    resident: deque[BlockBatchExecutor] = deque()
    blocks = idle = 0
    while coming is not None or resident:
        if coming is not None and (not resident or blocks + coming.extent.size <= launch.resident_blocks):
            current, idle = BlockBatchExecutor(launch, coming), 0
            blocks += coming.extent.size
            coming = next(pending, None)
        else:
            current = resident.popleft()
        before = current.machine.memory.changes
        if current.advance():
            blocks -= current.end()
            idle = 0
            continue
        idle = idle + 1 if current.machine.memory.changes == before and current.unchanged() else 0
        resident.append(current)
        # Twice, because the first comparison may be with a state from before other blocks' writes.
        if idle > 2 * len(resident) and (coming is None or blocks + coming.extent.size > launch.resident_blocks):
            for batch in resident:
                batch.give_up()
                blocks -= batch.end()
            resident.clear()

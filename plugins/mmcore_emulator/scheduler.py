"""The blocks of a launch by turns: as many at once as a GPU would hold, each going on until it waits for others."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from mmcore_emulator.launch_run import Run
from mmcore_emulator.lockstep import BatchRun


@dataclass
class _Resident:
    """A batch of blocks that has begun, and what it was like when all that it did was to wait."""

    batch: BatchRun
    state: object = None


def execute(run: Run) -> None:
    """Run every block of a launch; raises TimeLimit where that is reached.

    Batches of blocks run one after the other. One whose threads do nothing but poll memory for what others are to
    write there lets the others run, those that have not begun too as long as the device has room for their blocks. When
    all have polled and nothing has changed, nothing ever will: that is a deadlock.
    """
    with np.errstate(all="ignore"):
        pending = iter(run.batches())
        coming = next(pending, None)
        resident: deque[_Resident] = deque()
        blocks = idle = 0
        while coming is not None or resident:
            if coming is not None and (not resident or blocks + coming.extent.size <= run.resident_blocks):
                current, idle = _Resident(BatchRun(run, coming)), 0
                blocks += coming.extent.size
                coming = next(pending, None)
            else:
                current = resident.popleft()
            before = run.changes
            if current.batch.advance():
                blocks -= current.batch.end()
                idle = 0
                continue
            state = current.batch.state()
            idle = idle + 1 if run.changes == before and state == current.state else 0
            current.state = state
            resident.append(current)
            if idle > len(resident) and (coming is None or blocks + coming.extent.size > run.resident_blocks):
                for each in resident:
                    each.batch.give_up()
                    blocks -= each.batch.end()
                resident.clear()

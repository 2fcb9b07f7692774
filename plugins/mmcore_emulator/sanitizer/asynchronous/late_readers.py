"""Writes of shared memory that wgmma or bulk copies may still be reading, in words."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.machine.asynchronous.events import BLOCK_WORDS
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.sanitizer.happens_before.event_clocks import WARPS_OF_GROUP, Kind
from mmcore_emulator.sanitizer.happens_before.numbering import LaneNumbers
from mmcore_emulator.sanitizer.recording import SharedReport

_OF_BULK_COPY = "a bulk copy", "cp.async.bulk.wait_group.read is missing there, or a barrier behind it"
_OF_WARPGROUP = (
    "wgmma of this warp or another one of its warpgroup",
    "wgmma.wait_group is missing there, or a barrier or mbarrier behind it",
)
_OF_OTHER_WARPGROUP = (
    "wgmma of {}",
    "the writer has not waited for an arrival, or at a barrier, behind the reader's wgmma.wait_group",
)


def early_write(
    report: SharedReport, numbers: LaneNumbers, ending: Kind, word: int, writer: int, cause: str = ""
) -> str:
    """Return what a lane does that writes a word too early for a reader, which it knows by the end of its reads.

    The ``cause`` is usually that nothing orders the write behind the end.
    """
    (kind, warp), name, block = ending, report.name(word), word // BLOCK_WORDS
    group = numbers.thread_in_block[writer] // (WARPS_OF_GROUP * WARP)
    if kind != "wgmma":
        reader, usual = _OF_BULK_COPY
    elif group == warp // WARPS_OF_GROUP and numbers.block_in_batch[writer] == block:
        reader, usual = _OF_WARPGROUP
    else:
        readers = (numbers.thread_in_block == warp * WARP) & (numbers.block_in_batch == block)
        reader, usual = _OF_OTHER_WARPGROUP
        reader = reader.format(report.thread_name(int(np.flatnonzero(readers)[0])))
    return f"writes {name}, which {reader} may still be reading: {cause or usual}"

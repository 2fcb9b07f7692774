"""The passes of an access through the L1 cache's data pipe."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.profiler.coalescing import Active, Rows

_LINE_BITS = 7
_PASS_BYTES = 128  # that threads get in a pass, at most
_NOWHERE = np.uint64(2**64 - 1)


def cache_passes(address: Rows, active: Active, nbytes: int) -> int:
    """Return the distinct lines of 128 bytes that warps touch, summed.

    Accesses of 8 bytes are served to half a warp at a time, of 16 to a quarter.
    """
    threads = min(WARP, _PASS_BYTES // nbytes)
    lines = np.where(active, address >> np.uint64(_LINE_BITS), _NOWHERE).reshape(-1, threads)
    lines.sort(axis=1)
    fresh = np.ones(lines.shape, np.bool_)
    fresh[:, 1:] = lines[:, 1:] != lines[:, :-1]
    return int((fresh & (lines != _NOWHERE)).sum())

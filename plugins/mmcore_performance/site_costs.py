"""The costs of an access of a warp, and the least ones, in sectors and in passes over shared memory."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.machine.observer import Access
from mmcore_emulator.profiler.coalescing import Active, Rows, requests, sectors, shared_wavefronts, wavefronts
from mmcore_emulator.profiler.counters import SECTOR_BYTES
from mmcore_performance.cache_passes import cache_passes
from mmcore_performance.neighbours import WIDEST

_NOWHERE = np.uint64(2**64 - 1)


def site_cost(access: Access, address: Rows, active: Active, times: int) -> dict[str, int]:
    """Return the counts of a :class:`~mmcore_performance.sites.Site` for an access of several warps."""
    counts = {"requests": requests(active), "threads": int(active.sum())}
    if access.space == "global":
        counts |= {"sectors": sectors(address, active), "least": _least_sectors(address, active, access.nbytes)}
        counts["passes"] = cache_passes(address, active, access.nbytes)
    elif access.kind != "atomic":
        passes, conflicts = shared_wavefronts(access, address, active)
        counts |= {"wavefronts": passes, "conflicts": conflicts, "wide": _wide_passes(address, active)}
    return {name: count * times for name, count in counts.items()}


def _least_sectors(address: Rows, active: Active, nbytes: int) -> int:
    """Return the sectors that the distinct elements of each warp would fill, summed over the warps."""
    ordered = np.sort(np.where(active, address, _NOWHERE), axis=1)
    distinct = (ordered != _NOWHERE) & np.diff(ordered, axis=1, prepend=_NOWHERE).astype(np.bool_)
    return int((-(-distinct.sum(axis=1) * nbytes // SECTOR_BYTES)).sum())


def _wide_passes(address: Rows, active: Active) -> int:
    """Return the passes over shared memory if each of a warp's distinct elements were one of 16 bytes, side by side."""
    places = np.where(active, address, _NOWHERE)
    order = np.argsort(places, axis=1)
    ordered = np.take_along_axis(places, order, axis=1)
    number = np.cumsum(np.diff(ordered, axis=1, prepend=ordered[:, :1]) != 0, axis=1, dtype=np.uint64)
    wide = np.zeros_like(places)
    np.put_along_axis(wide, order, number * np.uint64(WIDEST), axis=1)
    return wavefronts(wide, active, WIDEST)[0]

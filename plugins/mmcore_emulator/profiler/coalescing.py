"""What memory makes of the addresses that the threads of a warp ask for together.

Addresses come as arrays of one row per warp and one column per thread, with an array of the same shape that says which
threads take part. What a row costs does not depend on the other rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.lanes import WARP, Batch, Mask
from mmcore_emulator.numerics.floats import Values

Rows = NDArray[np.uint64]
Active = NDArray[np.bool_]

_SECTOR_BITS = 5
BANKS = 32
_WORD_BITS = 2
_HALF_WARP = 16
# log2 of the segment that compute capability 1.2 covers a half-warp's addresses with, by bytes per thread.
_SEGMENT_BITS = {1: 5, 2: 6}
_LARGE_SEGMENT_BITS = 7


def by_warp(batch: Batch, address: Values, mask: Mask | None) -> tuple[Rows, Active, int]:
    """Lanes as rows of a warp each.

    A warp is 32 consecutive threads of a block, x fastest; the last of a block may be short of some.

    Returns:
        addresses and the lanes that take part, of the warps of those blocks that differ in either; and how many blocks
        of the batch each of them stands for.
    """
    lanes = np.ones((1,) * 6, np.bool_) if mask is None else mask.lanes
    each = np.broadcast_shapes(address.shape, lanes.shape)
    blocks = each[0] * each[2] * each[4]
    shape = (each[0], batch.block.z, each[2], batch.block.y, each[4], batch.block.x)
    rows, active = (
        _padded(np.broadcast_to(values, shape).transpose(0, 2, 4, 1, 3, 5).reshape(blocks, batch.block.size))
        for values in (address, lanes)
    )
    return rows, active, batch.extent.size // blocks


def _padded(threads: Values) -> Values:
    """Rows of a block each cut into rows of a warp each; zeros stand for threads that the last warp lacks."""
    missing = -threads.shape[1] % WARP
    return np.pad(threads, ((0, 0), (0, missing))).reshape(-1, WARP) if missing else threads.reshape(-1, WARP)


def requests(active: Active) -> int:
    """Warps of which some thread takes part."""
    return int(active.any(axis=1).sum())


def sectors(address: Rows, active: Active) -> int:
    """Distinct 32-byte sectors, summed over the warps."""
    return int(_distinct(address >> np.uint64(_SECTOR_BITS), active).sum())


def sectors_of_runs(begin: NDArray[np.int64], nbytes: NDArray[np.int64]) -> int:
    """Distinct 32-byte sectors of each run of neighbouring bytes, summed."""
    last = (begin + nbytes - 1) >> _SECTOR_BITS
    return int((last - (begin >> _SECTOR_BITS) + 1)[nbytes > 0].sum())


def transactions_cc1x(address: Rows, active: Active, nbytes: int) -> int:
    """Transactions by compute capability 1.2's rule, summed over the half-warps.

    It covers the half-warp's addresses with aligned segments, and then shrinks a segment of which one half, or quarter,
    is all that is touched: which makes the transaction smaller, but no more of them.
    """
    bits = _SEGMENT_BITS.get(nbytes, _LARGE_SEGMENT_BITS)
    segments = address >> np.uint64(bits)
    return int(_distinct(segments.reshape(-1, _HALF_WARP), active.reshape(-1, _HALF_WARP)).sum())


def wavefronts(address: Rows, active: Active, nbytes: int) -> tuple[int, int]:
    """Passes over the banks of shared memory, summed over the warps, and how many of them conflicts cost.

    Of distinct words in one bank a pass serves one, to however many threads want it. Accesses of 8 bytes are served to
    half a warp at a time, of 16 to a quarter; but halves that want just the same words are served together, and so are
    the two quarters of a half. (On an H200 a 16-byte load of one place by a whole warp takes two passes.)
    """
    parts = max(1, nbytes >> _WORD_BITS)
    unique, counted, served = _words(address, active, parts)
    for later in range(1, parts):
        for earlier in range(later // 2 * 2, later):
            same = (unique[:, later] == unique[:, earlier]).all(axis=1) & served[:, earlier]
            served[:, later] &= ~same
    return _passes(unique, counted, served)


def matrix_wavefronts(address: Rows, active: Active) -> tuple[int, int]:
    """The same of ``ldmatrix`` and ``stmatrix``: threads 8i to 8i + 7 name the 16-byte rows of matrix i.

    Each matrix takes a pass, and one more for each further row in the banks of the same four words.
    """
    return _passes(*_words(address, active, 4))


def _words(address: Rows, active: Active, parts: int) -> tuple[Rows, Active, Active]:
    """The words that each part of a warp wants at once, where a thread wants as many as there are parts.

    Returns:
        distinct words [warps, parts, words], which of them are not filling, and which parts [warps, parts] want any.
    """
    words: Rows = np.add((address >> np.uint64(_WORD_BITS))[..., np.newaxis], np.arange(parts, dtype=np.uint64))
    wanted: Rows = words.reshape(-1, parts, WARP)
    wanting = np.broadcast_to(active[..., np.newaxis], words.shape).reshape(wanted.shape)
    return *_unique(wanted, wanting), np.asarray(wanting.any(axis=2))


def _passes(unique: Rows, counted: Active, served: Active) -> tuple[int, int]:
    """Passes that the parts take which are served, and those that conflicts cost."""
    banks = np.where(counted, unique % np.uint64(BANKS), np.uint64(BANKS)).astype(np.int64)
    passes = _most_frequent(banks)
    return int(passes[served].sum()), int((passes - 1)[served].sum())


def _settled(values: Rows, active: Active) -> Rows:
    """Lanes that take no part hold what one that does holds, so that they add nothing distinct."""
    if active.all():
        return values
    return np.where(active, values, values.max(axis=-1, keepdims=True, where=active, initial=0))


def _distinct(values: Rows, active: Active) -> NDArray[np.int64]:
    """How many distinct values the active lanes of each row hold."""
    ordered = np.sort(_settled(values, active), axis=-1)
    return np.asarray(((np.diff(ordered, axis=-1) != 0).sum(axis=-1) + 1) * active.any(axis=-1))


def _unique(values: Rows, active: Active) -> tuple[Rows, Active]:
    """Each row's distinct values in ascending order, then its largest as filling; and which are not filling."""
    ordered = np.sort(_settled(values, active), axis=-1)
    first = np.ones(ordered.shape, np.bool_)
    first[..., 1:] = np.diff(ordered, axis=-1) != 0
    order = np.argsort(~first, axis=-1, kind="stable")
    unique, counted = np.take_along_axis(ordered, order, -1), np.take_along_axis(first, order, -1)
    return np.where(counted, unique, ordered[..., -1:]), counted


def _most_frequent(banks: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often the most frequent of the numbers below 32 stands in each row."""
    rows = banks.reshape(-1, banks.shape[-1])
    offsets = np.arange(len(rows))[:, np.newaxis] * (BANKS + 1)
    counts = np.bincount((rows + offsets).reshape(-1), minlength=len(rows) * (BANKS + 1))
    return np.asarray(counts.reshape(len(rows), BANKS + 1)[:, :BANKS].max(axis=1).reshape(banks.shape[:-1]))

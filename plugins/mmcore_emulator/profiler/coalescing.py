"""Costs of the addresses that the threads of a warp access together: sectors, transactions and wavefronts.

Addresses are arrays of one row per warp and one column per thread, with an array of the same shape that marks the
threads that take part. The cost of a row does not depend on the other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.isa.table import effect
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.observer import Access
from mmcore_emulator.numerics.types import Flags, Integers, Values

Rows = NDArray[np.uint64]
Active = Flags

_SECTOR_BITS = 5
BANKS = 32
_WORD_BITS = 2
_HALF_WARP = 16
# log2 of the segments in which compute capability 1.2 loads a half-warp's elements, by bytes per thread.
_SEGMENT_BITS = {1: 5, 2: 6}
_LARGE_SEGMENT_BITS = 7
_NONE = np.uint64(2**64 - 1)
# A shift of all addresses by this many bytes leaves the cost of an access as it is: whole segments of global memory,
# whole words of shared memory, whose banks are only permuted, and whole words of local memory.
PERIODS = {"global": 128, "shared": 4, "local": 4}
_LARGEST = np.uint64(2**64 - 1)
_Cost = TypeVar("_Cost")


def by_warp(batch: Batch, address: Values, mask: Mask | None) -> tuple[Rows, Active, int]:
    """Return lanes as rows of a warp each.

    A warp is 32 consecutive threads of a block, x fastest; the last of a block may have fewer.

    Returns:
        addresses and active lanes, of the warps of blocks that differ in either; and how many blocks of the batch each
        of these represents.
    """
    lanes = np.ones((1,) * 6, np.bool_) if mask is None else mask.lanes
    z, _, y, _, x, _ = np.broadcast_shapes(address.shape, lanes.shape)
    shape = (z, batch.block.z, y, batch.block.y, x, batch.block.x)

    def rows(values: Values) -> Values:
        threads = np.broadcast_to(values, shape).transpose(0, 2, 4, 1, 3, 5).reshape(-1, batch.block.size)
        missing = -batch.block.size % WARP
        return (np.pad(threads, ((0, 0), (0, missing))) if missing else threads).reshape(-1, WARP)

    return rows(address), rows(lanes), batch.extent.size // (x * y * z)


def requests(active: Active) -> int:
    """Return the number of warps with an active thread."""
    return int(active.any(axis=1).sum())


def sectors(address: Rows, active: Active) -> int:
    """Return the number of distinct 32-byte sectors, summed over the warps."""
    return _count(address >> np.uint64(_SECTOR_BITS), active)


def local_sectors(address: Rows, active: Active, nbytes: int) -> int:
    """Return the number of distinct sectors of accesses to local memory, summed over the warps.

    Local memory has a word of each thread of a warp side by side, then the next word of each: 8 threads share a sector.
    """
    parts = max(1, nbytes >> _WORD_BITS)
    words: Rows = np.add((address >> np.uint64(_WORD_BITS))[..., np.newaxis], np.arange(parts, dtype=np.uint64))
    threads = np.arange(WARP, dtype=np.uint64)[:, np.newaxis]
    places = (words * np.uint64(WARP) + threads) << np.uint64(_WORD_BITS)
    return sectors(places.reshape(len(address), -1), np.repeat(active, parts, axis=1))


def sectors_of_runs(begin: Integers, nbytes: Integers) -> int:
    """Return the number of distinct 32-byte sectors of each run of neighbouring bytes, summed."""
    last = (begin + nbytes - 1) >> _SECTOR_BITS
    return int((last - (begin >> _SECTOR_BITS) + 1)[nbytes > 0].sum())


def transactions_cc1x(address: Rows, active: Active, nbytes: int) -> int:
    """Return the number of transactions by compute capability 1.2's rule, summed over the half-warps.

    The rule covers the half-warp's addresses with aligned segments. It then shrinks segments that are touched in one
    half or quarter only, which makes transactions smaller, but not fewer.
    """
    segments = address >> np.uint64(_SEGMENT_BITS.get(nbytes, _LARGE_SEGMENT_BITS))
    return _count(segments.reshape(-1, _HALF_WARP), active.reshape(-1, _HALF_WARP))


def wavefronts(address: Rows, active: Active, nbytes: int) -> tuple[int, int]:
    """Return the passes over the banks of shared memory, summed over the warps, and how many of them conflicts cost.

    A pass serves one word of each bank, to any number of threads. Accesses of 8 bytes are served to half a warp at a
    time, of 16 to a quarter. Halves that access the same words are served together, and so are the two quarters of a
    half. (On an H200 a 16-byte load of one place by a whole warp takes two passes.)
    """
    words = _words(address, active, max(1, nbytes >> _WORD_BITS))
    words[:, 1::2][(words[:, ::2] == words[:, 1::2]).all(axis=2)] = _NONE
    return _passes(words)


def shared_wavefronts(access: Access, address: Rows, active: Active) -> tuple[int, int]:
    """Return the passes of an access to shared memory that is not atomic, and how many of them conflicts cost."""
    if effect(access.at).kind == "matrix move":
        return matrix_wavefronts(address, active)
    return wavefronts(address, active, access.nbytes)


def matrix_wavefronts(address: Rows, active: Active) -> tuple[int, int]:
    """Return the same for ``ldmatrix`` and ``stmatrix``: threads 8i to 8i + 7 address the 16-byte rows of matrix i.

    Each matrix takes a pass, and one more for each further row in the banks of the same four words.
    """
    return _passes(_words(address, active, 4))


def _words(address: Rows, active: Active, parts: int) -> Rows:
    """Return the distinct words of each part of a warp as [warps, parts, words], for threads that access ``parts``."""
    words: Rows = np.add((address >> np.uint64(_WORD_BITS))[..., np.newaxis], np.arange(parts, dtype=np.uint64))
    lanes = np.broadcast_to(active[..., np.newaxis], words.shape)
    return np.sort(_distinct(words.reshape(-1, parts, WARP), lanes.reshape(-1, parts, WARP)), axis=-1)


def _passes(words: Rows) -> tuple[int, int]:
    """Return the passes for the distinct words of parts of a warp, and how many of them conflicts cost."""
    banks = np.where(words == _NONE, BANKS, words % np.uint64(BANKS)).astype(np.int64).reshape(-1, WARP)
    offsets = np.arange(len(banks))[:, np.newaxis] * (BANKS + 1)
    counts = np.bincount((banks + offsets).reshape(-1), minlength=len(banks) * (BANKS + 1))
    passes = counts.reshape(-1, BANKS + 1)[:, :BANKS].max(axis=1, initial=0)
    return int(passes.sum()), int((passes[passes > 0] - 1).sum())


def _distinct(values: Rows, active: Active) -> Rows:
    """Return each row's distinct values in active lanes, and _NONE in place of the others."""
    ordered = np.sort(np.where(active, values, _NONE), axis=-1)
    repeated = ordered[..., 1:] == ordered[..., :-1]
    ordered[..., 1:][repeated] = _NONE
    return ordered


def _count(values: Rows, active: Active) -> int:
    return int((_distinct(values, active) != _NONE).sum())


class Extent(NamedTuple):
    """The number of active threads of a batch, and of warps and blocks that contain active threads."""

    threads: int
    warps: int
    blocks: int


class Patterns(Generic[_Cost]):
    """The costs of the accesses of a launch; the same few patterns of masks and addresses recur, shifted.

    ``cost`` returns the cost of an access from the results of :func:`by_warp`.
    """

    def __init__(self, cost: Callable[[Access, Rows, Active, int], _Cost]) -> None:
        self._cost = cost
        self._costs: dict[tuple[object, ...], _Cost] = {}
        self._extents: dict[tuple[object, ...], Extent] = {}

    def __len__(self) -> int:
        return len(self._costs)

    def cost(self, batch: Batch, access: Access) -> _Cost:
        """Return the cost of a batch's access to global, shared or local memory."""
        address, lanes, period = access.address, None, PERIODS[access.space]
        first = address.item(0)
        if access.mask is not None:
            # The other lanes hold no addresses, and must not distinguish two equal patterns.
            active, lanes = access.mask.over(address.shape), access.mask.key
            first = int(address.min(where=active, initial=_LARGEST))
            address = np.where(active, address, np.uint64(first))
        # Addresses below the first wrap around, and keep their distances.
        moved = address - np.uint64(first - first % period)
        what = (access.kind, effect(access.at).kind, access.space, access.nbytes)
        key = (*what, batch.shape, lanes, moved.shape, moved.tobytes())
        if key not in self._costs:
            self._costs[key] = self._cost(access, *by_warp(batch, moved, access.mask))
        return self._costs[key]

    def extent(self, batch: Batch, mask: Mask | None) -> Extent:
        """Return how many threads, warps and blocks are in these lanes (None for all)."""
        key = (batch.shape, None if mask is None else mask.key)
        if key not in self._extents:
            _, active, times = by_warp(batch, np.zeros((1,) * 6, np.uint64), mask)
            blocks = active.reshape(batch.extent.size // times, -1).any(axis=1)
            extent = int(active.sum()), requests(active), int(blocks.sum())
            self._extents[key] = Extent(*(count * times for count in extent))
        return self._extents[key]

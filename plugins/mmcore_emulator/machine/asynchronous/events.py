"""What asynchronous instructions do, as observers are told of it.

A place is a byte or a word of the shared memory of a batch's blocks: the block's number in the batch times
:data:`BLOCK_BYTES` (or a quarter of it), and where it lies in that block's memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction

BLOCK_BYTES = 1 << 18
"""Bytes between the places of a block's shared memory and those of the next."""
BLOCK_WORDS = BLOCK_BYTES // 4
NOWHERE = -1


@dataclass(frozen=True, eq=False)
class Transfer:
    """An asynchronous access to shared memory, for each of some threads or groups of threads.

    Attributes:
        at: the instruction.
        lanes: numbers in the batch of those who issue it together, [transfers, threads].
        words: places of the 4-byte words that it accesses, [transfers, words]; NOWHERE for none.
        writes: whether it writes them.
        origin: address in global memory of each 16 bytes that it writes, 0 for none, [transfers, words / 4].
        mbarriers: place of each transfer's mbarrier, in bytes; NOWHERE for none.
        shape: lines and 16-byte chunks of a line of the matrix that it reads, in order.
        layout: how its descriptor or tensor map says that the matrix lies, in words.
    """

    at: Instruction
    lanes: NDArray[np.int64]
    words: NDArray[np.int64]
    writes: bool
    origin: NDArray[np.int64] | None = None
    mbarriers: NDArray[np.int64] | None = None
    shape: tuple[int, int] = (0, 0)
    layout: str = ""


@dataclass(frozen=True)
class Issued:
    """A transfer begins."""

    transfer: Transfer


@dataclass(frozen=True)
class Landed:
    """What a transfer writes is there, for those who wait for its mbarriers."""

    transfer: Transfer


@dataclass(frozen=True)
class Committed:
    """What lanes have issued of a kind ("wgmma", "bulk") is a group."""

    kind: str
    mask: Mask | None


@dataclass(frozen=True)
class Waited:
    """Lanes know that all but ``most`` of their latest groups have read what they read."""

    kind: str
    most: int
    mask: Mask | None


@dataclass(frozen=True)
class Made:
    """Mbarriers are new, whatever was there before; ``places`` in bytes, as lanes along all axes."""

    places: NDArray[np.int64]
    mask: Mask | None


@dataclass(frozen=True, eq=False)
class ArrivalSent:
    """Lanes arrive at mbarriers, at once or when their copies have landed; ``places`` as of :class:`Made`.

    Where they release nothing by that, ``relaxed`` is the scope ("cta", "gpu") of the fences that do.
    """

    places: NDArray[np.int64]
    mask: Mask | None
    at: Instruction
    relaxed: str = ""


@dataclass(frozen=True)
class Arrived:
    """Those who wait for mbarriers are told what lanes knew when they sent the arrival."""

    sent: ArrivalSent


@dataclass(frozen=True)
class Passed:
    """Lanes have found that a phase of an mbarrier is over; ``places`` as of :class:`Made`.

    ``parity`` is that of the phases that are under way now, as lanes. Where they are ``relaxed``, it takes a fence
    until they know of what others have done before they arrived.
    """

    places: NDArray[np.int64]
    parity: Values
    mask: Mask | None
    at: Instruction
    relaxed: bool = False


@dataclass(frozen=True)
class ProxyFenced:
    """Lanes order writes of threads before what asynchronous instructions read, of shared or ``whole`` memory."""

    mask: Mask | None
    whole: bool = False


@dataclass(frozen=True)
class GridAwaited:
    """Lanes know that the launch in front is over."""

    mask: Mask | None


Event: TypeAlias = (
    Issued | Landed | Committed | Waited | Made | ArrivalSent | Arrived | Passed | ProxyFenced | GridAwaited
)


def words_of(first: NDArray[np.int64], nbytes: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Places of the words of spans, [spans, words], that begin at places in bytes and are so long."""
    lengths = np.broadcast_to(np.asarray(nbytes, np.int64), first.shape) // 4
    steps = np.arange(int(lengths.max(initial=0)))
    return np.where(steps < lengths[:, np.newaxis], first[:, np.newaxis] // 4 + steps, NOWHERE)

"""Events of asynchronous instructions, for observers.

A place is a byte or word offset in the shared memory of a batch's blocks. It is the block's number in the batch times
:data:`BLOCK_BYTES` (or a quarter of it), plus the offset in that block's memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.numerics.types import Integers, Values
from mmcore_emulator.ptx.instructions import Instruction

BLOCK_BYTES = 1 << 18
"""Distance between the shared memories of consecutive blocks, in bytes."""
BLOCK_WORDS = BLOCK_BYTES // 4
NOWHERE = -1


@dataclass(frozen=True, eq=False)
class Transfer:
    """An asynchronous access to shared memory, one for each of some threads or groups of threads."""

    at: Instruction  # the instruction
    lanes: Integers  # numbers in the batch of the lanes that issue it together, [transfers, threads]
    words: Integers  # places of the accessed 4-byte words, [transfers, words]; NOWHERE for none
    writes: bool  # true if it writes them
    # Address in global memory of each written 16 bytes, 0 for none, [transfers, words / 4].
    origin: Integers | None = None
    mbarriers: Integers | None = None  # place of each transfer's mbarrier, in bytes; NOWHERE for none
    shape: tuple[int, int] = (0, 0)  # lines of the matrix that it reads, and 16-byte chunks of a line, in order
    layout: str = ""  # layout of the matrix by its descriptor or tensor map, for messages
    tensor: TensorLayout | None = None  # layout of the tensor map by which it copies
    tensor_name: str = ""  # name of the array in which that map's tensor begins
    # Order of that array, or of the matrix that it reads: "K" if elements along K are neighbours, "MN" if those along
    # M or N are; "" if unknown.
    major: str = ""
    # Changes that may give a transfer its matrix, by the transfer's number and the copy that has written there.
    changes: Callable[[int, Transfer], Iterable[Change]] | None = None


class Change(NamedTuple):
    """Changes of one property of a matrix or of its descriptor.

    Attributes:
        texts: each change in words, the least change first.
        places: places of the 16-byte chunks that each would read, in bytes, [changes, lines, chunks].
        of_descriptor: true if they are of the descriptor's fields.
    """

    texts: Sequence[str]
    places: Integers
    of_descriptor: bool = True


@dataclass(frozen=True)
class Issued:
    """The beginning of a transfer."""

    transfer: Transfer


@dataclass(frozen=True)
class Landed:
    """The arrival of a transfer's data, visible to the threads that wait for its mbarriers."""

    transfer: Transfer


@dataclass(frozen=True)
class Committed:
    """A commit of the transfers of a kind ("wgmma", "bulk", "copy") that lanes have issued as a group."""

    kind: str
    mask: Mask | None


@dataclass(frozen=True)
class Waited:
    """The end of a wait: all but ``most`` of the lanes' latest groups have finished reading, or copying."""

    kind: str  # "wgmma", "bulk", or "copy" for cp.async
    most: int
    mask: Mask | None


@dataclass(frozen=True)
class Made:
    """The initialisation of mbarriers; ``places`` in bytes, as lanes along all axes."""

    places: Integers
    mask: Mask | None


@dataclass(frozen=True, eq=False)
class ArrivalSent:
    """Arrivals of lanes at mbarriers, now or when their copies have arrived; ``places`` as in :class:`Made`.

    ``relaxed`` is "" for an arrival that releases, else the scope ("cta", "gpu") of the fences that release.
    """

    places: Integers
    mask: Mask | None
    at: Instruction
    relaxed: str = ""


@dataclass(frozen=True)
class Arrived:
    """The completion of arrivals: waiting threads see everything that the lanes knew when they issued them.

    ``parity`` is the parity of the phase that each lane arrives in; lanes arrive one after the other.
    """

    sent: ArrivalSent
    parity: Values


@dataclass(frozen=True)
class Passed:
    """The end of a wait for a phase of mbarriers; ``places`` as in :class:`Made`.

    ``parity`` is the parity of the current phases, as lanes. ``awaited`` is the parity of the phases that arrivals have
    returned; None for waits that name a parity. After a ``relaxed`` wait, a fence is needed to see what other threads
    did before they arrived.
    """

    places: Integers
    parity: Values
    mask: Mask | None
    at: Instruction
    relaxed: bool = False
    awaited: Values | None = None


@dataclass(frozen=True)
class EndedEarly:
    """The end of a phase of an mbarrier for which more bytes are on their way than it has expected."""

    place: int  # of the mbarrier, in bytes
    expected: int  # bytes that it has expected
    coming: int  # bytes of the copies that threads have begun
    at: Instruction | None  # the last instruction that has expected some


@dataclass(frozen=True)
class ProxyFenced:
    """A fence that orders writes of threads before asynchronous reads of shared or, if ``whole``, all memory."""

    mask: Mask | None
    whole: bool = False


@dataclass(frozen=True)
class GridAwaited:
    """The end of a wait for the previous launch."""

    mask: Mask | None


Event: TypeAlias = (
    Issued
    | Landed
    | Committed
    | Waited
    | Made
    | ArrivalSent
    | Arrived
    | Passed
    | EndedEarly
    | ProxyFenced
    | GridAwaited
)


def words_of(first: Integers, nbytes: Integers | int) -> Integers:
    """Return the places of the words of spans, [spans, words], from their first bytes and their lengths."""
    lengths = np.broadcast_to(np.asarray(nbytes, np.int64), first.shape) // 4
    steps = np.arange(int(lengths.max(initial=0)))
    return np.where(steps < lengths[:, np.newaxis], first[:, np.newaxis] // 4 + steps, NOWHERE)

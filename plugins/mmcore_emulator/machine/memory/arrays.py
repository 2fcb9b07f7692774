"""The memories a kernel sees, with every access checked.

A memory is a set of arrays, each in the middle of an address range of its own, so that an address that has run out of
an array still tells which array it ran out of. Of an array in shared memory every block has a copy, of local memory,
which is one array, every thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.errors import LaunchError
from mmcore_emulator.numerics.floats import Values

UNWRITTEN_HALFWORD = 0xFFFD
"""The two bytes of memory that was never written: NaN in every floating-point type."""
_RANGE_BITS = 40
_COPIED_RANGE_BITS = 21
_LARGEST = 1 << (_RANGE_BITS - 1)
_PADDING = 64


def poisoned(nbytes: int) -> NDArray[np.uint8]:
    """Bytes that are NaN in every floating-point type, with room behind to be viewed in any."""
    return np.full((nbytes + _PADDING) // 2, UNWRITTEN_HALFWORD, dtype=np.uint16).view(np.uint8)


def leftover(nbytes: int) -> NDArray[np.uint8]:
    """Bytes as others may have left them: random float32 numbers, with room behind as of :func:`poisoned`."""
    words = np.random.default_rng().integers(2**32, size=1024, dtype=np.uint32)
    words = (words & np.uint32(0x807F_FFFF)) | np.uint32(0x3F00_0000)
    return np.resize(words.view(np.uint8), nbytes + _PADDING)


def _zeros(nbytes: int) -> NDArray[np.uint8]:
    return np.zeros(nbytes + _PADDING, np.uint8)


@dataclass
class Array:
    """Bytes, and the addresses at which a kernel finds them.

    Attributes:
        label: what violations call it.
        base: address of its first byte.
        readable: bytes that may be read.
        writable: bytes that may be written.
        content: the bytes; of memory that blocks or threads have copies of, all copies.
        copies: offset of each lane's own copy in ``content``, in bytes; None where there is only one.
        stride: bytes from one copy to the next.
        uploaded: bytes from its start on that the host has written.
        name: what the source calls it, where that is not the label.
        read_only: whether kernels must not write to it at all.
    """

    label: str
    base: int
    readable: int
    writable: int
    content: NDArray[np.uint8]
    copies: NDArray[np.uint64] | None = None
    stride: int = 0
    uploaded: int = 0
    name: str = ""
    read_only: bool = False
    _views: dict[np.dtype[Any], Values] = field(default_factory=dict)

    def __str__(self) -> str:
        """What a sentence calls it: "A", or "tile_a (shared)"."""
        return f"{self.name} ({self.label})" if self.name else self.label

    def permits(self, access: str) -> int:
        """Bytes from its start on that an access ("read" or "write") may go to."""
        if access == "read":
            return self.readable
        return 0 if self.read_only else self.writable

    @property
    def written(self) -> float:
        """The share of it that is no longer NaN as at first."""
        return float((self.content[: self.writable].view(np.uint16) != UNWRITTEN_HALFWORD).mean())

    def view(self, dtype: np.dtype[Any]) -> Values:
        """The content as elements of ``dtype``."""
        if dtype not in self._views:
            whole = len(self.content) // dtype.itemsize * dtype.itemsize
            self._views[dtype] = self.content[:whole].view(dtype)
        return self._views[dtype]

    def index(self, address: Values, itemsize: int) -> NDArray[np.int64]:
        """Which element of ``view`` lies at each address."""
        offset = address - np.uint64(self.base)
        if self.copies is not None:
            offset = offset + self.copies
        return (offset >> np.uint64(itemsize.bit_length() - 1)).view(np.int64)


class Space(Protocol):
    """Something with addresses."""

    @property
    def range_bits(self) -> int:
        """Every array has 2^range_bits addresses to itself."""
        ...

    @property
    def flushes(self) -> bool:
        """Whether its atomic additions of float32 take subnormal numbers for zero, and make none."""
        ...

    def at(self, address: int) -> Array | None:
        """The array that an address lies in or ran out of."""
        ...

    def elsewhere(self, address: int) -> str:
        """One clause on an address that is near no array."""
        ...


def far_from_every_array(space: Space, address: int) -> str:
    """One clause on an address of a memory that has arrays, but none near it."""
    return f"address {address:#x}, far from every array"


class DeviceMemory:
    """All arrays of the device."""

    range_bits = _RANGE_BITS
    flushes = True
    elsewhere = far_from_every_array

    def __init__(self) -> None:
        self._arrays: dict[int, Array] = {}

    def allocate(self, label: str, nbytes: int, over_read_bytes: int) -> Array:
        """A new array, all NaN.

        Raises:
            LaunchError: the host has no memory for it, or the emulator no addresses.
        """
        return self._placed(label, nbytes + over_read_bytes, nbytes, poisoned)

    def define(self, label: str, nbytes: int, initial: bytes) -> Array:
        """A new array that holds ``initial`` and then zeros, all of it as if the host had written it.

        Raises:
            LaunchError: the host has no memory for it, or the emulator no addresses.
        """
        array = self._placed(label, nbytes, nbytes, _zeros)
        array.content[: len(initial)] = np.frombuffer(initial, np.uint8)
        array.uploaded = nbytes
        return array

    def _placed(self, label: str, readable: int, writable: int, fill: Callable[[int], NDArray[np.uint8]]) -> Array:
        slot = next(slot for slot in range(1, 1 << (63 - _RANGE_BITS)) if slot not in self._arrays)
        base = (slot << _RANGE_BITS) + (1 << (_RANGE_BITS - 1))
        if readable > _LARGEST:
            raise LaunchError(f"{label} has {readable} bytes; the emulator has addresses for {_LARGEST} in an array")
        try:
            content = fill(readable)
        except MemoryError:
            raise LaunchError(f"the host has no memory for the {readable} bytes of {label}") from None
        array = Array(label, base, readable, writable, content)
        self._arrays[slot] = array
        return array

    def labelled(self, label: str) -> Array | None:
        """The array of that label."""
        return next((array for array in self._arrays.values() if array.label == label), None)

    def fill_over_reads(self) -> None:
        """Let the room behind the arrays, which may be read, hold numbers."""
        for array in self._arrays.values():
            room = array.readable - array.writable
            if room > 0:
                array.content[array.writable : array.readable] = leftover(room)[:room]

    def free(self, array: Array) -> None:
        """Forget an array; a later access to it is out of bounds."""
        self._arrays.pop(array.base >> _RANGE_BITS, None)

    def at(self, address: int) -> Array | None:
        return self._arrays.get(address >> _RANGE_BITS)


def copied_base(number: int, offset: int = 0) -> int:
    """Address of array ``number`` of a :class:`CopiedMemory`; its lower 20 bits are where it lies in that memory."""
    return (number << _COPIED_RANGE_BITS) + (1 << (_COPIED_RANGE_BITS - 1)) + offset


class CopiedMemory:
    """Shared or local memory: the same addresses, another copy for each block or thread."""

    range_bits = _COPIED_RANGE_BITS
    flushes = False
    elsewhere = far_from_every_array

    def __init__(
        self,
        label: str,
        extents: Sequence[tuple[int, int]],
        owner: NDArray[np.int64],
        fresh: Callable[[int], NDArray[np.uint8]] = poisoned,
        name: Callable[[int], str] = lambda base: "",
    ) -> None:
        """Memory of arrays that begin at a :func:`copied_base` of their number.

        Args:
            label: what violations call them.
            extents: address and bytes of each.
            owner: as lanes, which copy is whose; there are as many as its largest number says.
            fresh: makes the content.
            name: what the source calls the array at an address.
        """
        self.arrays = [_copied(label, base, nbytes, owner, fresh, name(base)) for base, nbytes in extents]

    def of_others(self, owner: NDArray[np.int64]) -> CopiedMemory:
        """The same memory where each lane has the copy of another owner."""
        other = copy(self)
        copies = [owner.astype(np.uint64) * np.uint64(array.stride) for array in self.arrays]
        other.arrays = [replace(array, copies=each) for array, each in zip(self.arrays, copies, strict=True)]
        return other

    def at(self, address: int) -> Array | None:
        number = address >> _COPIED_RANGE_BITS
        return self.arrays[number] if number < len(self.arrays) else None


def _copied(
    label: str, base: int, nbytes: int, owner: NDArray[np.int64], fresh: Callable[[int], NDArray[np.uint8]], name: str
) -> Array:
    stride = -(-nbytes // 16) * 16
    content = fresh(stride * (int(owner.max()) + 1))
    copies = owner.astype(np.uint64) * np.uint64(stride)
    return Array(label, base, nbytes, nbytes, content, copies, stride, name=name)


@dataclass(frozen=True)
class StrayAccess:
    """Accesses of one instruction that must not happen."""

    kind: str  # "out-of-bounds-read", "out-of-bounds-write" or "misaligned"
    space: Space  # the memory
    array: Array | None  # the array they ran out of, None where there is none near
    lanes: NDArray[np.bool_]  # the lanes that made them
    address: Values  # where each lane's went
    nbytes: int  # how many bytes each is wide

    def where(self, address: int) -> str:
        """One clause on one of the addresses."""
        if self.kind == "misaligned":
            near = self.array and f"an address {address - self.array.base} bytes into {self.array}"
            return f"{near or f'address {address:#x}'}, no multiple of {self.nbytes}"
        if self.array is None:
            return self.space.elsewhere(address)
        if self.kind == "out-of-bounds-write" and self.array.read_only:
            return f"to {self.array}, which is constant"
        return _where(self.array, address)


Report = Callable[[StrayAccess], None]


def _where(array: Array, address: int) -> str:
    if address < array.base:
        return f"{array.base - address} bytes before the start of {array}"
    past = address - array.base - array.writable
    if past < 0:
        return f"across the end of {array}"
    return f"{past} bytes past the end of {array}" if past else f"the first byte past the end of {array}"

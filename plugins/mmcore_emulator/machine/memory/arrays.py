"""The memories of a kernel, with every access checked.

A memory is a set of arrays, each in the middle of a separate address range. So an address past an array's end still
identifies the array. An array in shared memory has one copy for each block; local memory is one array with one copy
for each thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.errors import LaunchError
from mmcore_emulator.numerics.types import DType, Flags, Integers, Values

# Generic addresses of shared, local and parameter memory; device arrays have far higher addresses.
SHARED_WINDOW = 1 << 32
LOCAL_WINDOW = 2 << 32
PARAMETER_WINDOW = 3 << 32
WINDOWS = (("global", 0), ("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW), ("param", PARAMETER_WINDOW))
"""The memories of generic addresses, and the begin of each one's window."""
# A generic address in local memory contains the number of its thread in its upper bits; on a GPU all threads have the
# same addresses.
_OWNER_SHIFT = 34
_OWNER_BEGIN, _OWNER_END = 1 << 62, 1 << 63


def owned(address: Values, thread: Integers) -> Values:
    """Return generic addresses in the local memory of threads."""
    number = owner_number(thread).view(np.uint64)
    return address + np.uint64(LOCAL_WINDOW | _OWNER_BEGIN) + (number << np.uint64(_OWNER_SHIFT))


def owner_number(thread: Integers) -> Integers:
    """Return the numbers of threads as addresses have them."""
    return np.asarray(thread, np.int64) & ((_OWNER_BEGIN >> _OWNER_SHIFT) - 1)


def owner(address: Values) -> Integers:
    """Return the number of the thread whose local memory a generic address is in; -1 for another address."""
    is_local = (address & np.uint64(3 << 32)) == np.uint64(LOCAL_WINDOW)
    has_owner = is_local & (address >= np.uint64(_OWNER_BEGIN)) & (address < np.uint64(_OWNER_END))
    thread = (address - np.uint64(_OWNER_BEGIN)) >> np.uint64(_OWNER_SHIFT)
    return np.where(has_owner, thread, np.uint64(2**64 - 1)).view(np.int64)


def without_owner(address: Values) -> Values:
    """Return generic addresses as a GPU has them."""
    if int(address.max()) < _OWNER_BEGIN:
        return address
    return np.where(owner(address) >= 0, address & np.uint64((1 << _OWNER_SHIFT) - 1), address)


def memory_of(address: int) -> str:
    """Return the memory of a generic address: "global", "shared", "local" or "param"."""
    window = int(without_owner(np.array([address], np.uint64))[0]) // SHARED_WINDOW * SHARED_WINDOW
    return next((name for name, begin in WINDOWS if begin == window), "global")


# An address in another block's shared memory contains that block's rank, plus one, in its upper bits.
RANK_SHIFT = 27
RANK_BEGIN = 1 << RANK_SHIFT
MOST_RANK = SHARED_WINDOW // RANK_BEGIN - 2
"""The rank in addresses for this rank and all higher ones; no cluster has as many blocks."""

UNWRITTEN_HALFWORD = 0xFFFD
"""The two-byte pattern of memory that was never written: NaN in every floating-point type."""
_RANGE_BITS = 40
_COPIED_RANGE_BITS = 21
_LARGEST = 1 << (_RANGE_BITS - 1)
_PADDING = 64


def poisoned(nbytes: int) -> NDArray[np.uint8]:
    """Return bytes that are NaN in every floating-point type, padded so that a view of any type is possible."""
    return np.full((nbytes + _PADDING) // 2, UNWRITTEN_HALFWORD, dtype=np.uint16).view(np.uint8)


def leftover(nbytes: int) -> NDArray[np.uint8]:
    """Return bytes as other programs may leave them: random float32 numbers, padded as in :func:`poisoned`."""
    words = np.random.default_rng().integers(2**32, size=1024, dtype=np.uint32)
    words = (words & np.uint32(0x807F_FFFF)) | np.uint32(0x3F00_0000)
    return np.resize(words.view(np.uint8), nbytes + _PADDING)


@dataclass
class Array:
    """Bytes, and their addresses in a kernel."""

    label: str  # name in violations
    base: int  # address of its first byte
    readable: int  # bytes that may be read
    writable: int  # bytes that may be written
    content: NDArray[np.uint8]  # the bytes; with several copies, all of them
    # Offset of each lane's copy in ``content``, in bytes; None if there is only one.
    copies: NDArray[np.uint64] | None = None
    stride: int = 0  # bytes from one copy to the next
    uploaded: int = 0  # bytes from its start that the host has written
    name: str = ""  # name in the source, if different from the label
    read_only: bool = False  # true if kernels must not write to it
    launched: bool = False  # true if the launch gives its size
    major: str = ""  # "K" for A or B whose elements along k are neighbours, "MN" if they are not; "" for others
    _views: dict[DType, Values] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return its name in a sentence: "A", or "tile_a (shared)"."""
        return f"{self.name} ({self.label})" if self.name else self.label

    def behind(self, past: int) -> str:
        """Return a clause on a byte so many behind the first past its end."""
        size = f", of which the launch gives {self.writable} bytes" if self.launched else ""
        return f"{f'{past} bytes' if past else 'the first byte'} past the end of {self}{size}"

    def permits(self, access: str) -> int:
        """Return the bytes from its start that an access ("read" or "write") may use."""
        if access == "read":
            return self.readable
        return 0 if self.read_only else self.writable

    @property
    def written(self) -> float:
        """The share of it that no longer has the initial NaN pattern."""
        return float((self.content[: self.writable].view(np.uint16) != UNWRITTEN_HALFWORD).mean())

    def view(self, dtype: DType) -> Values:
        """Return the content as elements of ``dtype``."""
        if dtype not in self._views:
            nbytes = len(self.content) // dtype.itemsize * dtype.itemsize
            self._views[dtype] = self.content[:nbytes].view(dtype)
        return self._views[dtype]

    def index(self, address: Values, itemsize: int) -> Integers:
        """Return the index in ``view`` of the element at each address."""
        offset = address - np.uint64(self.base)
        if self.copies is not None:
            offset = offset + self.copies
        return (offset >> np.uint64(itemsize.bit_length() - 1)).view(np.int64)


class Space(Protocol):
    """A memory with addresses."""

    @property
    def range_bits(self) -> int:
        """Each array owns 2^range_bits addresses."""
        ...

    @property
    def flushes(self) -> bool:
        """True if atomic additions of float32 flush subnormal inputs and results to zero."""
        ...

    def at(self, address: int) -> Array | None:
        """Return the array whose address range contains an address."""
        ...

    def elsewhere(self, address: int) -> str:
        """Return a clause on an address that is near no array."""
        ...


def far_from_every_array(space: Space, address: int) -> str:
    """Return a clause on an address of a memory that has arrays, but none near it."""
    return f"address {address:#x}, far from every array"


class DeviceMemory:
    """All arrays of the device."""

    range_bits = _RANGE_BITS
    flushes = True
    elsewhere = far_from_every_array

    def __init__(self) -> None:
        self._arrays: dict[int, Array] = {}

    def allocate(self, label: str, nbytes: int, over_read_bytes: int) -> Array:
        """Return a new array, filled with NaN.

        Raises:
            LaunchError: the host has no memory for it, or the emulator no addresses.
        """
        return self._placed(label, nbytes + over_read_bytes, nbytes, poisoned)

    def define(self, label: str, nbytes: int, initial: bytes) -> Array:
        """Return a new array of ``initial`` followed by zeros, which counts as written by the host.

        Raises:
            LaunchError: the host has no memory for it, or the emulator no addresses.
        """
        array = self._placed(label, nbytes, nbytes, lambda size: np.zeros(size + _PADDING, np.uint8))
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
        """Return the array of that label, or None."""
        return next((array for array in self._arrays.values() if array.label == label), None)

    def fill_over_reads(self) -> None:
        """Fill the over-read area behind the arrays with numbers."""
        for array in self._arrays.values():
            room = array.readable - array.writable
            if room > 0:
                array.content[array.writable : array.readable] = leftover(room)[:room]

    def free(self, array: Array) -> None:
        """Remove an array; a later access to it is out of bounds."""
        self._arrays.pop(array.base >> _RANGE_BITS, None)

    def at(self, address: int) -> Array | None:
        return self._arrays.get(address >> _RANGE_BITS)


def copied_base(number: int, offset: int = 0) -> int:
    """Return the address of array ``number`` of a :class:`CopiedMemory`; its lower 20 bits are the offset there."""
    return (number << _COPIED_RANGE_BITS) + (1 << (_COPIED_RANGE_BITS - 1)) + offset


class CopiedMemory:
    """Shared or local memory: the same addresses for all, but one copy for each block or thread."""

    range_bits = _COPIED_RANGE_BITS
    flushes = False
    elsewhere = far_from_every_array

    def __init__(
        self,
        label: str,
        extents: Sequence[tuple[int, int]],
        owner: Integers,
        fresh: Callable[[int], NDArray[np.uint8]] = poisoned,
        name: Callable[[int], str] = lambda base: "",
        launched: int | None = None,
    ) -> None:
        """Create arrays of these addresses and bytes, which begin at the :func:`copied_base` of their number.

        ``owner`` is the number of each lane's copy, as lanes. ``fresh`` creates the content. ``name`` returns the
        source's name of the array at an address. ``launched`` is the address of the array whose size the launch gives.
        """
        self.arrays = [_copied(label, base, nbytes, owner, fresh, name(base)) for base, nbytes in extents]
        for array in self.arrays:
            array.launched = array.base == launched

    def of_others(self, owner: Integers) -> CopiedMemory:
        """Return the same memory with the copies of other owners."""
        other = copy(self)
        copies = [owner.astype(np.uint64) * np.uint64(array.stride) for array in self.arrays]
        other.arrays = [replace(array, copies=offsets) for array, offsets in zip(self.arrays, copies, strict=True)]
        return other

    def at(self, address: int) -> Array | None:
        number = address >> _COPIED_RANGE_BITS
        return self.arrays[number] if number < len(self.arrays) else None


def _copied(
    label: str, base: int, nbytes: int, owner: Integers, fresh: Callable[[int], NDArray[np.uint8]], name: str
) -> Array:
    stride = -(-nbytes // 16) * 16
    content = fresh(stride * (int(owner.max()) + 1))
    copies = owner.astype(np.uint64) * np.uint64(stride)
    return Array(label, base, nbytes, nbytes, content, copies, stride, name=name)


@dataclass(frozen=True)
class StrayAccess:
    """Accesses of one instruction that are not permitted."""

    kind: str  # "out-of-bounds-read", "out-of-bounds-write" or "misaligned"
    space: Space  # the accessed memory
    array: Array | None  # the array that was missed; None if none is near
    lanes: Flags  # the lanes of the accesses
    address: Values  # address of each lane
    nbytes: int  # width of each access in bytes

    def where(self, address: int) -> str:
        """Return a clause on one of the addresses."""
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
    return array.behind(past)

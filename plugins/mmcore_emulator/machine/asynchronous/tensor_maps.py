"""Tensor maps: what cuTensorMapEncodeTiled says of a tensor and its boxes, and where a box's elements lie.

Axes are in the driver's order, the fastest first, as are the coordinates in PTX. Interleaved layouts are left out.
Reference: CUDA driver API, cuTensorMapEncodeTiled; PTX ISA, "Tensors".
"""

from __future__ import annotations

import functools
import math
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.asynchronous.problem import Mask, Problem, first_of
from mmcore_emulator.machine.asynchronous.swizzles import CHUNK, SPANS, swizzled
from mmcore_emulator.numerics.floats import Values

MAP_BYTES = 128
DESTINATION_ALIGNMENT = 128
"""Bytes that the address of a box in shared memory is a multiple of, whatever the swizzle."""
MOST_AXES = 5

_BY_SIZE = {1: ("uint8",), 2: ("uint16", "float16", "bfloat16"), 4: ("uint32", "int32", "float32")}
_BY_SIZE[8] = ("uint64", "int64", "float64")
KINDS = {kind: size for size, kinds in _BY_SIZE.items() for kind in kinds}
"""Bytes of each element type, by numpy's name or "bfloat16"."""
_NAN = {"float16": "7fff", "bfloat16": "7fff", "float32": "7fffffff", "float64": "7fffffffffffffff"}
_MAGIC = b"mmcoreTM"
_CONTENT = struct.Struct("<8sQ4B5I5Q5H5B")
_CHECKSUM = struct.Struct("<I")


@dataclass(frozen=True)
class TensorLayout:
    """A tensor in global memory, and the boxes in which it is copied.

    Attributes:
        address: of its first element.
        kind: element type, by numpy's name or "bfloat16"; "V16" where 16 bytes count as one element.
        extents: of the tensor, in elements, fastest axis first.
        strides: bytes from one index to the next along each axis; the first is the element's size.
        box: elements that a box spans along each axis.
        swizzle: bytes in which chunks of 16 change places in shared memory: 0, 32, 64 or 128.
        steps: indices from one element of a box to the next along each axis; that of the first axis is taken for 1.
        nan: whether what lies out of bounds is NaN in shared memory, instead of zero.
    """

    address: int
    kind: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    steps: tuple[int, ...] = ()
    nan: bool = False

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.kind).itemsize if self.kind.startswith("V") else KINDS[self.kind]

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.extents)

    @property
    def counts(self) -> tuple[int, ...]:
        """Elements of a box along each axis."""
        steps = (1, *self.steps[1:]) if self.steps else (1,) * self.rank
        return tuple(-(-each // step) for each, step in zip(self.box, steps, strict=True))

    @property
    def nbytes(self) -> int:
        """Bytes of a box in shared memory; a copy completes all of them, those out of bounds too."""
        return math.prod(self.counts) * self.itemsize

    @property
    def fill(self) -> bytes:
        """The element that a copy writes for each out of bounds."""
        if not self.nan:
            return bytes(self.itemsize)
        return bytes.fromhex(_NAN[self.kind])[::-1]

    def encode(self) -> bytes:
        """The 128 bytes that a kernel gets and hands on, by their address, without looking at them."""
        content = _CONTENT.pack(
            *(_MAGIC, self.address, tuple(KINDS).index(self.kind), self.rank, SPANS.index(self.swizzle), self.nan),
            *_padded(extent - 1 for extent in self.extents),
            *_padded(self.strides),
            *_padded(self.box),
            *_padded(self.steps),
        ).ljust(MAP_BYTES - _CHECKSUM.size, b"\0")
        return content + _CHECKSUM.pack(zlib.crc32(content))

    def problems(self) -> list[str]:
        """Sentences on what the driver refuses."""
        inner = self.box[0] * self.itemsize
        rules = {
            f"it has {self.rank} axes instead of 1 to {MOST_AXES}": not 1 <= self.rank <= MOST_AXES,
            "it has no box, extents and strides of as many axes": len({*map(len, (self.box, self.strides)), self.rank})
            > 1,
            f"its address {self.address:#x} is no multiple of 16": self.address % 16 != 0,
            "an extent is not between 1 and 2^32": not all(1 <= each <= 2**32 for each in self.extents),
            "a stride is no multiple of 16 bytes below 2^40": any(
                each % 16 or not 0 <= each < 2**40 for each in self.strides[1:]
            ),
            "the box's extents are not between 1 and 256": not all(1 <= each <= 256 for each in self.box),
            f"a row of the box has {inner} bytes, no multiple of 16": inner % 16 != 0,
            f"a row of the box has {inner} bytes, more than the swizzle's {self.swizzle}": 0 < self.swizzle < inner,
            "a step is not between 1 and 8": not all(1 <= each <= 8 for each in self.steps),
            f"the first stride is {self.strides[0]} bytes, not an element's": self.strides[0] != self.itemsize,
            f"{self.kind} has no NaN": self.nan and self.kind not in _NAN,
        }
        return [sentence for sentence, broken in rules.items() if broken]

    def destination_problems(self, address: Values) -> list[Problem]:
        """What is wrong with addresses of boxes in shared memory."""
        misaligned = (address & address.dtype.type(DESTINATION_ALIGNMENT - 1)) != 0
        clause = f"its address in shared memory is no multiple of {DESTINATION_ALIGNMENT}"
        return first_of([Problem(misaligned, clause)])


def _padded(numbers: Iterable[int]) -> list[int]:
    found = list(numbers)
    return [*found, *[0] * (MOST_AXES - len(found))]


def decode(content: bytes) -> TensorLayout | None:
    """The layout in 128 bytes; None where they are no tensor map."""
    if len(content) != MAP_BYTES or not content.startswith(_MAGIC):
        return None
    content, checksum = content[: -_CHECKSUM.size], content[-_CHECKSUM.size :]
    if _CHECKSUM.pack(zlib.crc32(content)) != checksum:
        return None
    _, address, kind, rank, swizzle, nan, *numbers = _CONTENT.unpack(content[: _CONTENT.size])
    extents, strides, box, steps = (tuple(numbers[first : first + rank]) for first in range(0, 20, MOST_AXES))
    return TensorLayout(
        address=address,
        kind=tuple(KINDS)[kind],
        extents=tuple(extent + 1 for extent in extents),
        strides=strides,
        box=box,
        swizzle=SPANS[swizzle],
        steps=steps if any(steps) else (),
        nan=bool(nan),
    )


class BoxElements(NamedTuple):
    """Where the elements of boxes lie, in the order in which they are in shared memory but for the swizzle.

    Attributes:
        global_offsets: bytes from the tensor's address, int64 [..., elements].
        inside: which elements the tensor has, [..., elements]; only these may be accessed in global memory.
        shared_offsets: bytes from the box's address in shared memory, int64 [..., elements]; never negative.
    """

    global_offsets: NDArray[np.int64]
    inside: Mask
    shared_offsets: NDArray[np.int64]


def box_elements(layout: TensorLayout, coordinates: Values, destination: Values | int = 0) -> BoxElements:
    """The elements of boxes.

    Args:
        layout: of the tensor.
        coordinates: integers [..., axes], fastest axis first, of each box's first element; they may be negative.
        destination: address of each box in shared memory, uint64 [...], or one for all; offsets then are [elements].
    """
    coordinates = np.asarray(coordinates).astype(np.int64)
    first = (coordinates * np.array(layout.strides, np.int64)).sum(-1)
    offsets = first[..., None] + _relative(layout.counts, layout.steps, layout.strides)
    addresses = shared_addresses(layout, np.asarray(destination, np.uint64))
    shared = (addresses - np.asarray(destination, np.uint64)[..., None]).view(np.int64)
    return BoxElements(offsets, _inside(layout, coordinates, offsets.shape), shared)


def box_rows(layout: TensorLayout, coordinates: Values) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What copies of boxes access in global memory: the rows of each box along the tensor's fastest axis.

    Args:
        layout: of the tensor.
        coordinates: as of :func:`box_elements`.

    Returns:
        address of each row [..., rows], and how many of its bytes the tensor has, 0 where the row is outside.
    """
    one = replace(layout, box=(1, *layout.box[1:]))
    place = np.asarray(coordinates).astype(np.int64)
    begin, end = (np.clip(place[..., 0] + reach, 0, layout.extents[0]) for reach in (0, layout.box[0]))
    place[..., 0] = begin
    first = layout.address + (place * np.array(layout.strides, np.int64)).sum(-1)
    addresses = first[..., None] + _relative(one.counts, one.steps, one.strides)
    lengths = ((end - begin) * layout.itemsize)[..., None]
    return addresses, np.where(_inside(one, place, addresses.shape), lengths, 0)


def shared_addresses(layout: TensorLayout, destination: Values) -> Values:
    """Addresses in shared memory (uint64 [..., elements]) of boxes that begin at ``destination`` (uint64 [...])."""
    packed = np.arange(0, layout.nbytes, layout.itemsize, dtype=np.uint64)
    return swizzled(np.asarray(destination, np.uint64)[..., None] + packed, layout.swizzle)


def widened(layout: TensorLayout, coordinates: Values) -> tuple[TensorLayout, Values]:
    """The same boxes with 16 bytes as an element (numpy's "V16"), where they are whole ones; else as they are.

    Swizzles and alignments keep 16 bytes together, so what costs time for each element costs less.
    """
    ratio, rest = divmod(CHUNK, layout.itemsize)
    whole = not rest and layout.extents[0] % ratio == 0 and layout.box[0] % ratio == 0 and not layout.nan
    if not whole or (np.asarray(coordinates)[..., 0] % ratio).any():
        return layout, coordinates
    scale = np.array([ratio] + [1] * (layout.rank - 1))
    wide = replace(
        layout,
        kind=f"V{CHUNK}",
        extents=(layout.extents[0] // ratio, *layout.extents[1:]),
        strides=(CHUNK, *layout.strides[1:]),
        box=(layout.box[0] // ratio, *layout.box[1:]),
    )
    return wide, np.asarray(coordinates) // scale


@functools.lru_cache(maxsize=64)
def _relative(counts: tuple[int, ...], steps: tuple[int, ...], strides: tuple[int, ...]) -> NDArray[np.int64]:
    """Offsets in bytes of a box's elements from its first one."""
    offsets = np.zeros((), np.int64)
    for index in reversed(range(len(counts))):
        offsets = offsets[..., None] + _indices(counts, steps, index) * strides[index]
    flat = offsets.reshape(-1)
    flat.flags.writeable = False
    return flat


def _indices(counts: tuple[int, ...], steps: tuple[int, ...], axis: int) -> NDArray[np.int64]:
    """Indices of a box's elements along one axis, from its first one."""
    return np.arange(counts[axis], dtype=np.int64) * (steps[axis] if steps and axis else 1)


def _inside(layout: TensorLayout, coordinates: NDArray[np.int64], shape: tuple[int, ...]) -> Mask:
    """Which elements of boxes the tensor has."""
    counts, steps = layout.counts, layout.steps
    last = np.array([int(_indices(counts, steps, axis)[-1]) for axis in range(layout.rank)])
    if ((coordinates >= 0) & (coordinates + last < np.array(layout.extents))).all():
        return np.broadcast_to(np.True_, shape)
    inside: Mask = np.ones((*coordinates.shape[:-1], *[1] * layout.rank), np.bool_)
    for axis in range(layout.rank):
        index = coordinates[..., axis, None] + _indices(counts, steps, axis)
        index = index.reshape(*index.shape, *[1] * axis)
        index = index.reshape(*coordinates.shape[:-1], *[1] * (layout.rank - 1 - axis), *index.shape[-1 - axis :])
        inside = inside & (index >= 0) & (index < layout.extents[axis])
    return inside.reshape(shape)

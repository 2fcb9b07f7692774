"""Tensor maps: what cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col says of a tensor, and where a box's elements lie.

Axes are in the driver's order, the fastest first, as are the coordinates in PTX. Interleaved layouts are left out.
Reference: CUDA driver API, "Tensor Map Object Management"; PTX ISA, "Tensors".
"""

from __future__ import annotations

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
_NAN = {kind: "7ff7" * (KINDS[kind] // 2) for kind in ("float16", "bfloat16", "float32", "float64")}
"""The NaN that hardware writes for what is out of bounds, as on an H100."""
_CORNER_LIMITS = {3: 2**15, 4: 2**7, 5: 2**4}
_MAGIC = b"mmcoreTM"
_CONTENT = struct.Struct("<8sQ4B5I5Q5H5B6h")
_CHECKSUM = struct.Struct("<I")


@dataclass(frozen=True)
class TensorLayout:
    """A tensor in global memory, and the boxes in which it is copied.

    Attributes:
        address: of its first element.
        kind: element type, by numpy's name or "bfloat16"; "V16" where 16 bytes count as one element.
        extents: of the tensor, in elements, fastest axis first.
        strides: bytes from one index to the next along each axis; the first is the element's size.
        box: elements that a box spans along each axis; in im2col mode channels per pixel and pixels per column.
        swizzle: bytes in which chunks of 16 change places in shared memory: 0, 32, 64 or 128.
        steps: indices from one element of a box to the next along each axis; that of the first axis is taken for 1.
        nan: whether what lies out of bounds is NaN in shared memory, instead of zero.
        corners: in im2col mode, the lower and the upper corner of the bounding box of pixels along W, H and D, as many
            as the tensor has: distances from the tensor's first and last index. None in tiled mode.
    """

    address: int
    kind: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    steps: tuple[int, ...] = ()
    nan: bool = False
    corners: tuple[tuple[int, ...], tuple[int, ...]] | None = None

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
        """Elements of a box along each axis; channels and pixels in im2col mode, whatever the steps."""
        if self.corners:
            return self.box
        steps = (1, *self.steps[1:]) if self.steps else (1,) * self.rank
        return tuple(-(-each // step) for each, step in zip(self.box, steps, strict=True))

    @property
    def nbytes(self) -> int:
        """Bytes of a box in shared memory; a copy completes all of them, those out of bounds too."""
        return math.prod(self.counts) * self.itemsize

    @property
    def row_pitch(self) -> int:
        """Bytes from one row of a box to the next in shared memory, as many as the swizzle spans at least."""
        return max(self.box[0] * self.itemsize, self.swizzle)

    @property
    def span(self) -> int:
        """Bytes of shared memory from the first row of a box to the end of the last."""
        return math.prod(self.counts[1:]) * self.row_pitch

    @property
    def fill(self) -> bytes:
        """The element that a copy writes for each out of bounds."""
        if not self.nan:
            return bytes(self.itemsize)
        return bytes.fromhex(_NAN[self.kind])[::-1]

    def encode(self) -> bytes:
        """The 128 bytes that a kernel gets and hands on, by their address, without looking at them."""
        flags = self.nan + 2 * bool(self.corners)
        content = _CONTENT.pack(
            *(_MAGIC, self.address, tuple(KINDS).index(self.kind), self.rank, SPANS.index(self.swizzle), flags),
            *_padded(extent - 1 for extent in self.extents),
            *_padded(self.strides),
            *_padded(self.box),
            *_padded(self.steps),
            *(each for corner in self.corners or ((), ()) for each in _padded(corner)[:3]),
        ).ljust(MAP_BYTES - _CHECKSUM.size, b"\0")
        return content + _CHECKSUM.pack(zlib.crc32(content))

    def problems(self) -> list[str]:
        """Sentences on what the driver refuses."""
        inner, most = self.box[0] * self.itemsize, 1 if self.corners else MOST_AXES
        rules = {
            f"it has {self.rank} axes instead of 1 to {MOST_AXES}": not 1 <= self.rank <= MOST_AXES,
            "it has no box, extents and strides of as many axes": {len(self.box), len(self.strides)}
            != {2 if self.corners else self.rank, self.rank},
            f"its address {self.address:#x} is no multiple of 16": self.address % 16 != 0,
            "an extent is not between 1 and 2^32": not all(1 <= each <= 2**32 for each in self.extents),
            "a stride is no multiple of 16 bytes below 2^40": any(
                each % 16 or not 0 <= each < 2**40 for each in self.strides[1:]
            ),
            "the box's extents are not between 1 and 256": not all(1 <= each <= 256 for each in self.box[:most]),
            f"a row of the box has {inner} bytes, no multiple of 16": inner % 16 != 0,
            f"a row of the box has {inner} bytes, more than the swizzle's {self.swizzle}": 0 < self.swizzle < inner,
            "a step is not between 1 and 8": not all(1 <= each <= 8 for each in self.steps),
            f"the first stride is {self.strides[0]} bytes, not an element's": self.strides[0] != self.itemsize,
            f"{self.kind} has no NaN": self.nan and self.kind not in _NAN,
        }
        if self.corners:
            limit = _CORNER_LIMITS.get(self.rank, 0)
            rules |= {
                "im2col is for 3 to 5 axes, with corners along all but the first and the last": not limit
                or {*map(len, self.corners)} != {self.rank - 2},
                "a column has not between 1 and 1024 pixels": not 1 <= self.box[-1] <= 1024,
                f"a corner is not between {-limit} and {limit - 1}": any(
                    not -limit <= each < limit for corner in self.corners for each in corner
                ),
                "the bounding box of its pixels is empty": any(low > high for low, high in self.pixel_bounds),
            }
        return [sentence for sentence, broken in rules.items() if broken]

    def copy_problems(self, axes: int, coordinates: Values) -> list[Problem]:
        """Return what is wrong with copies by an instruction of so many axes, with coordinates and offsets."""
        mode, asked = ("im2col" if each else "tiled" for each in (self.corners, coordinates.shape[-1] > axes))
        if (axes, asked) != (self.rank, mode):
            clause = f"copies in {asked} mode with {axes} axes by a tensor map in {mode} mode with {self.rank}"
            return [Problem(np.full(coordinates.shape[:-1], True), clause)]
        outside = np.zeros(coordinates.shape[:-1], np.bool_)
        for axis, (low, high) in enumerate(self.pixel_bounds, start=1):
            outside |= (coordinates[..., axis] < low) | (coordinates[..., axis] > high)
        found = [Problem(outside, "begins at a pixel outside the bounding box of its tensor map")]
        if self.corners:
            crooked = coordinates[..., 0] * self.itemsize % CHUNK != 0
            found.append(Problem(crooked, f"begins at a channel whose place is no multiple of {CHUNK} bytes"))
        return first_of(found)

    @property
    def pixel_bounds(self) -> tuple[tuple[int, int], ...]:
        """The least and the greatest index of pixels along W, H and D in im2col mode, before offsets; else none."""
        boxes = zip(*self.corners, self.extents[1:-1], strict=False) if self.corners else ()
        return tuple((low, size - 1 + high) for low, high, size in boxes)

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
    _, address, kind, rank, swizzle, flags, *numbers = _CONTENT.unpack(content[: _CONTENT.size])
    extents, strides, box, steps = (tuple(numbers[first : first + rank]) for first in range(0, 20, MOST_AXES))
    return TensorLayout(
        address=address,
        kind=tuple(KINDS)[kind],
        extents=tuple(extent + 1 for extent in extents),
        strides=strides,
        box=box[:2] if flags & 2 else box,
        swizzle=SPANS[swizzle],
        steps=steps if any(steps) else (),
        nan=bool(flags & 1),
        corners=(tuple(numbers[20 : 18 + rank]), tuple(numbers[23 : 21 + rank])) if flags & 2 else None,
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
        coordinates: integers [..., axes], fastest axis first, of each box's first element; they may be negative. In
            im2col mode the offsets along W, H and D follow.
        destination: address of each box in shared memory, uint64 [...], or one for all; offsets then are [elements].
    """
    coordinates = np.asarray(coordinates).astype(np.int64)
    rows, there = _rows(layout, coordinates)
    index = coordinates[..., 0, None] + np.arange(layout.box[0])
    offsets = (rows[..., None] + index[..., None, :] * layout.itemsize).reshape(*rows.shape[:-1], -1)
    inside = (there[..., None] & ((index >= 0) & (index < layout.extents[0]))[..., None, :]).reshape(offsets.shape)
    destination = np.asarray(destination, np.uint64)
    shared = (shared_addresses(layout, destination) - destination[..., None]).view(np.int64)
    return BoxElements(offsets, inside, shared)


def box_rows(layout: TensorLayout, coordinates: Values) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What copies of boxes access in global memory: the rows of each box along the tensor's fastest axis.

    Args:
        layout: of the tensor.
        coordinates: as of :func:`box_elements`.

    Returns:
        address of each row [..., rows], and how many of its bytes the tensor has, 0 where the row is outside.
    """
    coordinates = np.asarray(coordinates).astype(np.int64)
    rows, there = _rows(layout, coordinates)
    begin, end = (np.clip(coordinates[..., 0, None] + reach, 0, layout.extents[0]) for reach in (0, layout.box[0]))
    return layout.address + rows + begin * layout.itemsize, np.where(there, (end - begin) * layout.itemsize, 0)


def _rows(layout: TensorLayout, coordinates: NDArray[np.int64]) -> tuple[NDArray[np.int64], Mask]:
    """Return where each row of boxes begins, as if at index 0 of the fastest axis, and which the tensor has."""
    if layout.corners:
        pixels = _pixels(layout, coordinates)
        inside = np.all((pixels >= 0) & (pixels < np.array(layout.extents[1:])), axis=-1)
        return np.sum(pixels * np.array(layout.strides[1:], np.int64), axis=-1), inside
    shape = coordinates.shape[:-1]
    offsets, inside = np.zeros((*shape, 1), np.int64), np.ones((*shape, 1), np.bool_)
    steps = layout.steps or (1,) * layout.rank
    for axis in reversed(range(1, layout.rank)):
        index = coordinates[..., axis, None] + np.arange(layout.counts[axis]) * steps[axis]
        offsets = (offsets[..., None] + index[..., None, :] * layout.strides[axis]).reshape(*shape, -1)
        there = (index >= 0) & (index < layout.extents[axis])
        inside = (inside[..., None] & there[..., None, :]).reshape(offsets.shape)
    return offsets, inside


def _pixels(layout: TensorLayout, coordinates: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the pixels of im2col boxes along W, H, D and N, as many as there are: [..., pixels, axes].

    They run along W in steps from the start to the end of the bounding box, then from its beginning one step further
    along H, likewise along D, and then through images in steps. Offsets move what is accessed, not the bounding box.
    """
    steps, carry, places = layout.steps or (1,) * layout.rank, np.arange(layout.box[1]), []
    for axis, (low, high) in enumerate(layout.pixel_bounds, start=1):
        step, start = steps[axis], coordinates[..., axis, None]
        count = (high - low) // step + 1
        wrapped = carry - ((high - start) // step + 1)
        index = np.where(wrapped < 0, start + carry * step, low + wrapped % count * step)
        places.append(index + coordinates[..., layout.rank + axis - 1, None])
        carry = np.where(wrapped < 0, 0, wrapped // count + 1)
    return np.stack([*places, coordinates[..., layout.rank - 1, None] + carry * steps[-1]], axis=-1)


def shared_addresses(layout: TensorLayout, destination: Values) -> Values:
    """Addresses in shared memory (uint64 [..., elements]) of boxes that begin at ``destination`` (uint64 [...])."""
    rows = np.arange(0, layout.span, layout.row_pitch, dtype=np.uint64)[:, None]
    places = rows + np.arange(0, layout.box[0] * layout.itemsize, layout.itemsize, dtype=np.uint64)
    return swizzled(np.asarray(destination, np.uint64)[..., None] + places.reshape(-1), layout.swizzle)


def widened(layout: TensorLayout, coordinates: Values) -> tuple[TensorLayout, Values]:
    """The same boxes with 16 bytes as an element (numpy's "V16"), where they are whole ones; else as they are.

    Swizzles and alignments keep 16 bytes together, so what costs time for each element costs less.
    """
    ratio, rest = divmod(CHUNK, layout.itemsize)
    whole = not rest and layout.extents[0] % ratio == 0 and layout.box[0] % ratio == 0 and not layout.nan
    if not whole or (np.asarray(coordinates)[..., 0] % ratio).any():
        return layout, coordinates
    scale = np.array([ratio] + [1] * (np.shape(coordinates)[-1] - 1))
    wide = replace(
        layout,
        kind=f"V{CHUNK}",
        extents=(layout.extents[0] // ratio, *layout.extents[1:]),
        strides=(CHUNK, *layout.strides[1:]),
        box=(layout.box[0] // ratio, *layout.box[1:]),
    )
    return wide, np.asarray(coordinates) // scale

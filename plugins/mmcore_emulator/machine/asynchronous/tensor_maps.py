"""Tensor maps, as cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col makes them, and the swizzles of their boxes.

Axes are in the driver's order, the fastest first, as are the coordinates in PTX. Interleaved layouts are not supported.
Reference: CUDA driver API, "Tensor Map Object Management"; PTX ISA, "Tensors".
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mmcore_emulator.machine.violations import Problem, first_of
from mmcore_emulator.numerics.types import Values

CHUNK = 16
"""Bytes that stay together."""
_LINE_BIT, _CHUNK_BIT = 7, 4
# The address bits that may change, by the span in bytes.
_CHANGING = {0: 0, 32: 0b001 << _CHUNK_BIT, 64: 0b011 << _CHUNK_BIT, 128: 0b111 << _CHUNK_BIT}
SPANS = tuple(_CHANGING)
"""Spans in bytes within which chunks change places; 0 for no swizzle."""
MAP_BYTES = 128
DESTINATION_ALIGNMENT = 128
"""Alignment in bytes of the address of a box in shared memory, with any swizzle."""
MOST_AXES = 5
_BY_SIZE = {1: ("uint8",), 2: ("uint16", "float16", "bfloat16"), 4: ("uint32", "int32", "float32")}
_BY_SIZE[8] = ("uint64", "int64", "float64")
KINDS = {kind: size for size, kinds in _BY_SIZE.items() for kind in kinds}
"""Bytes of each element type, by numpy's name or "bfloat16"."""
_NAN = {kind: "7ff7" * (KINDS[kind] // 2) for kind in ("float16", "bfloat16", "float32", "float64")}
"""The NaN that hardware writes for elements out of bounds, as on an H100."""
_CORNER_LIMITS = {3: 2**15, 4: 2**7, 5: 2**4}
_MAGIC = b"mmcoreTM"
_CONTENT = struct.Struct("<8sQ4B5I5Q5H5B6h")
_CHECKSUM = struct.Struct("<I")


def swizzled(address: Values, span: int, first_line: Values | int = 0) -> Values:
    """Return the swizzled addresses (any 64-bit type) of absolute ones in shared memory.

    Within each 128 bytes, chunks of 16 bytes change places within ``span`` bytes, by the number of the 128 bytes in the
    pattern, so that columns spread over the banks. The pattern begins with number ``first_line``, modulo 8. Both writes
    by a tensor map and reads by a matrix descriptor are swizzled. Reference: PTX ISA, "Swizzling Modes".
    """
    if not span:
        return address
    kind = address.dtype.type
    line = (address >> kind(_LINE_BIT)) + (8 - np.asarray(first_line)).astype(kind)
    return np.asarray(address ^ ((line << kind(_CHUNK_BIT)) & kind(_CHANGING[span])))


@dataclass(frozen=True)
class TensorLayout:
    """A tensor in global memory, and the boxes in which it is copied."""

    address: int  # of its first element
    kind: str  # element type, by numpy's name or "bfloat16"; "V16" if 16 bytes count as one element
    extents: tuple[int, ...]  # of the tensor, in elements, fastest axis first
    strides: tuple[int, ...]  # bytes from one index to the next along each axis; the first is the element's size
    # Elements that a box spans along each axis; in im2col mode channels per pixel and pixels per column.
    box: tuple[int, ...]
    swizzle: int = 0  # bytes in which chunks of 16 change places in shared memory: 0, 32, 64 or 128
    # Integers from one element of a box to the next along each axis; the first number is ignored and counts as 1.
    steps: tuple[int, ...] = ()
    nan: bool = False  # true if elements out of bounds are NaN in shared memory instead of zero
    # In im2col mode, the lower and the upper corner of the bounding box of pixels along W, H and D, as many as the
    # tensor has: distances from the tensor's first and last index. None in tiled mode.
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
        """Elements of a box along each axis; channels and pixels in im2col mode, with any steps."""
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
        """The bytes that a copy writes for each element out of bounds."""
        if not self.nan:
            return bytes(self.itemsize)
        return bytes.fromhex(_NAN[self.kind])[::-1]

    def encode(self) -> bytes:
        """Return the 128 bytes that represent the map in memory."""
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
        """Return the reasons why the driver would refuse the map."""
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
        """Return the misuse by copies of an instruction of so many axes, with coordinates and offsets."""
        mode, asked = ("im2col" if each else "tiled" for each in (self.corners, coordinates.shape[-1] > axes))
        if (axes, asked) != (self.rank, mode):
            clause = f"copies in {asked} mode with {axes} axes by a tensor map in {mode} mode with {self.rank}"
            return [Problem(np.full(coordinates.shape[:-1], True), clause)]
        outside = np.zeros(coordinates.shape[:-1], np.bool_)
        for axis, (low, high) in enumerate(self.pixel_bounds, start=1):
            outside |= (coordinates[..., axis] < low) | (coordinates[..., axis] > high)
        misuses = [Problem(outside, "begins at a pixel outside the bounding box of its tensor map")]
        if self.corners:
            crooked = coordinates[..., 0] * self.itemsize % CHUNK != 0
            misuses.append(Problem(crooked, f"begins at a channel whose place is no multiple of {CHUNK} bytes"))
        return first_of(misuses)

    @property
    def pixel_bounds(self) -> tuple[tuple[int, int], ...]:
        """The least and the greatest index of pixels along W, H and D in im2col mode, before offsets; else none."""
        boxes = zip(*self.corners, self.extents[1:-1], strict=False) if self.corners else ()
        return tuple((low, size - 1 + high) for low, high, size in boxes)

    def destination_problems(self, address: Values) -> list[Problem]:
        """Return the misuse of addresses of boxes in shared memory."""
        misaligned = (address & address.dtype.type(DESTINATION_ALIGNMENT - 1)) != 0
        clause = f"its address in shared memory is no multiple of {DESTINATION_ALIGNMENT}"
        return first_of([Problem(misaligned, clause)])


def _padded(numbers: Iterable[int]) -> list[int]:
    padded = list(numbers)
    return [*padded, *[0] * (MOST_AXES - len(padded))]


def decode(content: bytes) -> TensorLayout | None:
    """Return the layout in 128 bytes; None if they are no tensor map."""
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

"""Random copies in im2col mode; axes and coordinates are in PTX's order: C, W, H, D and N."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
SENTINEL = 0xA5
"""The content of shared memory before a copy."""
SIZES = {"uint8": 1, "float16": 2, "bfloat16": 2, "uint32": 4, "float32": 4, "float64": 8}
_SWIZZLES = (0, 32, 64, 128)
_LARGEST = 24 << 10


@dataclass(frozen=True)
class Case:
    """One copy by one tensor map.

    Attributes:
        kind: element type.
        extents: of the tensor.
        channels, pixels: of a column.
        lower, upper: corners of the bounding box along W, H and D.
        steps: of the traversal along all axes.
        swizzle: 0, 32, 64 or 128.
        nan: elements outside the tensor are NaN instead of 0.
        start, offsets: operands of the instruction.
        seed: of the tensor's content.
    """

    kind: str
    extents: tuple[int, ...]
    channels: int
    pixels: int
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    steps: tuple[int, ...]
    swizzle: int
    nan: bool
    start: tuple[int, ...]
    offsets: tuple[int, ...]
    seed: int

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.extents)

    @property
    def row_bytes(self) -> int:
        """Bytes of a pixel in shared memory."""
        return self.channels * SIZES[self.kind]

    @property
    def nbytes(self) -> int:
        """Bytes of the column in shared memory."""
        return self.pixels * self.row_bytes

    @property
    def region(self) -> int:
        """Bytes of shared memory that are compared: the column's, and some behind it."""
        return -(-self.pixels * max(self.row_bytes, self.swizzle) // 1024) * 1024 + 1024

    @property
    def numpy_type(self) -> np.dtype[Any]:
        """Unsigned integers of the elements' size."""
        return np.dtype(f"u{SIZES[self.kind]}")

    def tensor(self) -> NDArray[Any]:
        """Return the tensor's bits, slowest axis first; no element is 0 or NaN."""
        content = np.random.default_rng(self.seed).integers(1, 120, self.extents[::-1]).astype(self.numpy_type)
        content *= self.numpy_type.type(int.from_bytes(b"\1" * SIZES[self.kind], "little"))
        return content

    def data(self) -> Bytes:
        """Return the content of shared memory before a store."""
        return np.random.default_rng(self.seed + 1).integers(0, 256, self.region).astype(np.uint8)

    def operands(self) -> NDArray[np.int32]:
        """Return a kernel's operands: five coordinates, three offsets, the column's bytes and the region's."""
        rest = [0] * (5 - self.rank)
        return np.array([*self.start, *rest, *self.offsets, *rest, self.nbytes, self.region], np.int32)


def drawn(random: np.random.Generator, rank: int, seed: int, *, store: bool = False) -> Case:
    """Draw a case that the driver takes; only the last pixels and channels of a store may be outside."""
    kind = str(random.choice(list(SIZES)))
    unit = 16 // SIZES[kind]
    swizzle = int(random.choice(_SWIZZLES))
    most_units = min((swizzle or 128) // 16, 256 // unit)
    channels = unit * int(random.integers(1, most_units + 1))
    extents = (unit * int(random.integers(1, 12)), *random.integers(2, 9, rank - 1).tolist())
    near, far = (0, 2) if store else (-3, 3)
    lower = random.integers(near, far, rank - 2).tolist()
    upper = random.integers(-far, near + 1 if store else far, rank - 2).tolist()
    # The bounding box has at least one pixel along each axis.
    sizes = extents[1:-1]
    lower = [min(low, size - 1) for low, size in zip(lower, sizes, strict=True)]
    upper = [max(high, low - size + 1) for low, high, size in zip(lower, upper, sizes, strict=True)]
    steps = random.integers(1, 4, rank).tolist() if random.integers(2) else [1] * rank
    inside = [int(random.integers(low, size + high)) for low, high, size in zip(lower, upper, sizes, strict=True)]
    if random.integers(2):  # on the grid that begins at the lower corner
        inside = [low + (each - low) // step * step for each, low, step in zip(inside, lower, steps[1:-1], strict=True)]
    first = int(random.integers(0 if store else -channels, extents[0]))
    image = int(random.integers(0 if store else -1, extents[-1] + (not store)))
    first = first // unit * unit  # else the card raises an illegal instruction
    return Case(
        kind=kind,
        extents=extents,
        channels=channels,
        pixels=int(random.integers(1, min(256, _LARGEST // max(channels * SIZES[kind], swizzle)) + 1)),
        lower=tuple(lower),
        upper=tuple(upper),
        steps=tuple(steps),
        swizzle=swizzle,
        nan="float" in kind and not store and bool(random.integers(2)),
        start=(first, *inside, image),
        offsets=(0,) * (rank - 2) if store else tuple(random.integers(0, 5, rank - 2).tolist()),
        seed=seed,
    )

"""Random copies in im2col mode, and their results by each reading of PTX's description.

These are independent of the emulator: plain Python walks over the pixels one by one. Axes and coordinates are in PTX's
order: C, W, H, D and N.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
SENTINEL = 0xA5
"""The content of shared memory before a copy."""
SIZES = {"uint8": 1, "float16": 2, "bfloat16": 2, "uint32": 4, "float32": 4, "float64": 8}
NANS = {"float16": 0x7FF7, "bfloat16": 0x7FF7, "float32": 0x7FF77FF7, "float64": 0x7FF77FF77FF77FF7}
_SWIZZLES = {0: 0, 32: 1, 64: 3, 128: 7}
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

    @property
    def fill(self) -> int:
        """The bits of an element outside the tensor."""
        return NANS[self.kind] if self.nan else 0

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

    def to_json(self) -> dict[str, Any]:
        """Return the case as JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class Reading:
    """A reading of PTX's description; the first of ``READINGS`` is the emulator's.

    Attributes:
        box_moves: whether offsets move the bounding box too, so that it bounds the pixels before them.
        strides_images: whether the step along N counts.
        carries_rest: whether a step past the end of the bounding box goes as far beyond its beginning.
        to_start: whether a row begins where the first one did.
        slowest_first: whether pixels run along D or H before W.
        exclusive: whether the upper corner is one further.
        swaps_corners, swaps_offsets: whether corners or offsets are written for D, H and W.
        packs_steps: whether the pixels of a column are divided by the steps, as in tiled mode.
        pads_rows: whether a pixel has as many bytes of shared memory as the swizzle.
    """

    box_moves: bool = True
    strides_images: bool = True
    carries_rest: bool = False
    to_start: bool = False
    slowest_first: bool = False
    exclusive: bool = False
    swaps_corners: bool = False
    swaps_offsets: bool = False
    packs_steps: bool = False
    pads_rows: bool = True


READINGS = {
    "as documented": Reading(),
    "the bounding box does not move with offsets": Reading(box_moves=False),
    "the step along N does not count": Reading(strides_images=False),
    "the rest of a step is carried over": Reading(carries_rest=True),
    "rows begin at the start's index": Reading(to_start=True),
    "the slowest axis runs first": Reading(slowest_first=True),
    "the upper corner is one further": Reading(exclusive=True),
    "corners are in the order D, H, W": Reading(swaps_corners=True),
    "offsets are in the order D, H, W": Reading(swaps_offsets=True),
    "pixels are divided by the steps": Reading(packs_steps=True),
    "pixels that are narrower than the swizzle are packed": Reading(pads_rows=False),
}


def pixels(case: Case, reading: Reading) -> Iterator[tuple[int, ...]]:
    """Yield the index of each pixel along W, H, D and N."""
    spatial = range(case.rank - 2)
    order = -1 if reading.swaps_corners else 1
    lower, upper = case.lower[::order], case.upper[::order]
    offsets = case.offsets[::-1] if reading.swaps_offsets else case.offsets
    position, shift = list(case.start[1:]), (*offsets, 0)
    if not reading.box_moves:
        position, shift = [each + more for each, more in zip(position, shift, strict=True)], (0,) * len(shift)
    begin, count = tuple(position), case.pixels
    if reading.packs_steps:
        count = -(-count // int(np.prod(case.steps[1:])))
    for _ in range(count):
        yield tuple(each + more for each, more in zip(position, shift, strict=True))
        for axis in reversed(spatial) if reading.slowest_first else spatial:
            position[axis] += case.steps[axis + 1]
            high = case.extents[axis + 1] - 1 + upper[axis] + reading.exclusive
            if position[axis] <= high:
                break
            rest = position[axis] - high - 1 if reading.carries_rest else 0
            position[axis] = begin[axis] if reading.to_start else lower[axis] + rest
        else:
            position[-1] += case.steps[-1] if reading.strides_images else 1


def row_of(case: Case, tensor: NDArray[Any], pixel: tuple[int, ...]) -> NDArray[Any]:
    """Return the channels of a pixel that a load brings."""
    row = np.full(case.channels, case.fill, case.numpy_type)
    if all(0 <= each < size for each, size in zip(pixel, case.extents[1:], strict=True)):
        first, last = max(case.start[0], 0), min(case.start[0] + case.channels, case.extents[0])
        if first < last:
            row[first - case.start[0] : last - case.start[0]] = tensor[pixel[::-1]][first:last]
    return row


def places(case: Case, row: int, reading: Reading) -> NDArray[np.int64]:
    """Return the place in shared memory of each byte of a row of the column."""
    pitch = max(case.row_bytes, case.swizzle * reading.pads_rows)
    plain = row * pitch + np.arange(case.row_bytes)
    return plain ^ ((plain >> 7 & _SWIZZLES[case.swizzle]) << 4)


def loaded(case: Case, reading: Reading) -> Bytes:
    """Return shared memory after a load."""
    memory, tensor = np.full(case.region, SENTINEL, np.uint8), case.tensor()
    for number, pixel in enumerate(pixels(case, reading)):
        memory[places(case, number, reading)] = row_of(case, tensor, pixel).view(np.uint8)
    return memory


def stored(case: Case, reading: Reading) -> Bytes:
    """Return the tensor's bytes after a store."""
    tensor, data = case.tensor(), case.data()
    for number, pixel in enumerate(pixels(case, reading)):
        if all(0 <= each < size for each, size in zip(pixel, case.extents[1:], strict=True)):
            row = data[places(case, number, reading)].view(case.numpy_type)
            last = min(case.channels, case.extents[0] - case.start[0])
            tensor[pixel[::-1]][case.start[0] : case.start[0] + max(last, 0)] = row[: max(last, 0)]
    return tensor.reshape(-1).view(np.uint8)


def drawn(random: np.random.Generator, rank: int, seed: int, *, store: bool = False) -> Case:
    """Draw a case that the driver takes; only the last pixels and channels of a store may be outside."""
    kind = str(random.choice(list(SIZES)))
    unit = 16 // SIZES[kind]
    swizzle = int(random.choice(list(_SWIZZLES)))
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
        nan=kind in NANS and not store and bool(random.integers(2)),
        start=(first, *inside, image),
        offsets=(0,) * (rank - 2) if store else tuple(random.integers(0, 5, rank - 2).tolist()),
        seed=seed,
    )

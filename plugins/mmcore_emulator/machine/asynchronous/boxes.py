"""The elements of boxes of tensors, in global and in shared memory."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mmcore_emulator.machine.asynchronous.tensor_maps import CHUNK, TensorLayout, swizzled
from mmcore_emulator.numerics.types import Flags, Integers, Values


class BoxElements(NamedTuple):
    """The places of the elements of boxes, in the order of shared memory without a swizzle."""

    global_offsets: Integers  # bytes from the tensor's address, int64 [..., elements]
    inside: Flags  # elements that the tensor has, [..., elements]; only these may be accessed in global memory
    # Bytes from the box's address in shared memory, int64 [..., elements]; never negative.
    shared_offsets: Integers


def box_elements(layout: TensorLayout, coordinates: Values, destination: Values | int = 0) -> BoxElements:
    """Return the places of the elements of boxes.

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


def box_rows(layout: TensorLayout, coordinates: Values) -> tuple[Integers, Integers]:
    """Return the rows of boxes along the tensor's fastest axis, which copies access in global memory.

    For each row, [..., rows]: its address, and the bytes of it that the tensor has; 0 for a row outside.
    """
    coordinates = np.asarray(coordinates).astype(np.int64)
    rows, there = _rows(layout, coordinates)
    begin, end = (np.clip(coordinates[..., 0, None] + reach, 0, layout.extents[0]) for reach in (0, layout.box[0]))
    return layout.address + rows + begin * layout.itemsize, np.where(there, (end - begin) * layout.itemsize, 0)


def _rows(layout: TensorLayout, coordinates: Integers) -> tuple[Integers, Flags]:
    """Return the begin of each row of boxes, as if at index 0 of the fastest axis, and True for rows of the tensor."""
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


def _pixels(layout: TensorLayout, coordinates: Integers) -> Integers:
    """Return the indices of the pixels of im2col boxes along the axes after the channels: [..., pixels, axes].

    They run along W in steps from the start to the end of the bounding box. Then they continue from its beginning, one
    step further along H; in the same way along D, and then through images. Offsets move the pixels, not the box.
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
    """Return addresses in shared memory (uint64 [..., elements]) of boxes that begin at ``destination``."""
    rows = np.arange(0, layout.span, layout.row_pitch, dtype=np.uint64)[:, None]
    places = rows + np.arange(0, layout.box[0] * layout.itemsize, layout.itemsize, dtype=np.uint64)
    return swizzled(np.asarray(destination, np.uint64)[..., None] + places.reshape(-1), layout.swizzle)


def widened(layout: TensorLayout, coordinates: Values) -> tuple[TensorLayout, Values]:
    """Return the same boxes with elements of 16 bytes (numpy's "V16") if possible; else unchanged.

    Swizzles and alignments keep 16 bytes together, and fewer elements cost less time.
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

"""Tensor maps as arguments of a kernel: an array and the boxes in which TMA copies it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.errors import LaunchError
from mmcore_emulator.machine.asynchronous.tensor_maps import KINDS, TensorLayout

_STORED_AS = {"bool": "uint8", "int8": "uint8", "int16": "uint16"}


@dataclass(frozen=True, eq=False)
class TensorMap:
    """A ``CUtensorMap`` of an array, as ``cuTensorMapEncodeTiled`` makes it, or ``cuTensorMapEncodeIm2col``.

    Attributes:
        array: the array, C-contiguous, of one to five axes.
        box: elements that a box spans along each axis of the array, slowest axis first as in ``array.shape``. PTX has
            them, and the coordinates, in the reverse order. In im2col mode pixels per column and channels per pixel.
        swizzle: bytes in which chunks of 16 change places in shared memory: 0, 32, 64 or 128.
        steps: indices from one element of a box to the next along each axis; 1 along each if empty.
        kind: element type, if it is not the array's dtype: "bfloat16" for bits that numpy holds as uint16.
        nan: true if elements of a box outside the array are NaN in shared memory instead of zero.
        corners: in im2col mode, the lower and the upper corner of the bounding box of pixels. Each is a distance from
            the first or the last index, along each axis but the first and the last.
    """

    array: NDArray[np.generic]
    box: tuple[int, ...]
    swizzle: int = 0
    steps: tuple[int, ...] = ()
    kind: str = ""
    nan: bool = False
    corners: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    def encode(self, address: int) -> bytes:
        """Return the 128 bytes that a kernel gets, for an array at an address in device memory.

        Raises:
            LaunchError: the driver would not make such a map.
        """
        dtype = self.array.dtype
        kind = self.kind or _STORED_AS.get(dtype.name, dtype.name)
        if KINDS.get(kind) != dtype.itemsize:
            raise LaunchError(f"a tensor map cannot be made of {dtype.name} as {kind}; it knows {', '.join(KINDS)}")
        if self.swizzle not in (0, 32, 64, 128):
            raise LaunchError(f"a tensor map's swizzle is 0, 32, 64 or 128 bytes, not {self.swizzle}")
        axes = self.array.shape[::-1], self.array.strides[::-1], tuple(self.box)[::-1]
        corners = (tuple(self.corners[0])[::-1], tuple(self.corners[1])[::-1]) if self.corners else None
        layout = TensorLayout(address, kind, *axes, self.swizzle, tuple(self.steps)[::-1], self.nan, corners)
        if problems := layout.problems():
            raise LaunchError(f"the tensor map cannot be made: {problems[0]}")
        return layout.encode()

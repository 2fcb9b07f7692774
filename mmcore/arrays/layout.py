"""Arrays as matrices: their sizes, types, devices and layouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mmcore.devices.base import Device
from mmcore.errors import InvalidProblem
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import dtype_named

DLPACK_CPU = 1
"""DLPack's number of the host's memory."""

ALIGNMENT = 16
"""Bytes of the widest load, which a kernel may make anywhere."""

_DLPACK_CUDA = 2


@dataclass(frozen=True)
class MatrixLayout:
    """The layout of an array on a GPU.

    Attributes:
        shape, dtype: its shape, and the name of its element type.
        leading: elements from one row, or column, to the next.
        by: "rows" or "columns", in which it is stored; empty if in neither, or not aligned.
    """

    shape: tuple[int, ...]
    dtype: str
    leading: int
    by: str

    @classmethod
    def of(cls, label: str, array: Any, device: Device) -> MatrixLayout:
        buffer, shape, strides, dtype = device.borrow(label, array)
        if len(shape) != 2 or min(shape) == 0 or strides is None:
            return cls(shape, dtype, 0, "rows")
        by = ""
        (rows, columns), (down, across) = shape, strides
        if buffer.address % ALIGNMENT == 0:
            if columns == 1 or across == 1:
                by = "rows" if rows == 1 or down >= columns else ""
            if not by and (rows == 1 or down == 1) and across >= rows:
                by = "columns"
        leading = {"rows": down if rows > 1 else columns, "columns": across if columns > 1 else rows}.get(by, 0)
        return cls(shape, dtype, leading, by)


def usable(label: str, array: Any, device: Device) -> tuple[Any, MatrixLayout]:
    """Return an array that is stored by rows or columns and aligned to 16 bytes, copied if need be; and its layout."""
    layout = MatrixLayout.of(label, array, device)
    if not layout.by:
        array = array.clone() if hasattr(array, "clone") else array.copy()
        layout = MatrixLayout.of(label, array, device)
    return array, layout


def sizes(a: tuple[int, ...], b: tuple[int, ...], out: tuple[int, ...] | None) -> tuple[int, int, int]:
    """Return m, n and k of arrays of those shapes. Raises InvalidProblem if they do not fit each other."""
    for label, shape in (("A", a), ("B", b)):
        if len(shape) != 2:
            raise InvalidProblem(f"{label} must have two dimensions, but has shape {shape}")
    if a[1] != b[0]:
        raise InvalidProblem(f"A is {a[0]}×{a[1]} and B is {b[0]}×{b[1]}; A's columns must be as many as B's rows")
    if out is not None and out != (a[0], b[1]):
        raise InvalidProblem(f"the product is {a[0]}×{b[1]}, but out has shape {out}")
    return a[0], b[1], a[1]


def dlpack_type(array: object) -> int:
    """Return DLPack's number of the kind of device whose memory an array is in."""
    device = getattr(array, "__dlpack_device__", None)
    if device is not None and not isinstance(array, np.ndarray):
        return int(device()[0])
    return _DLPACK_CUDA if hasattr(array, "__cuda_array_interface__") else DLPACK_CPU


def check_array(label: str, array: Any) -> None:
    """Raise InvalidProblem unless it is a numpy array with elements in this machine's byte order."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise InvalidProblem(f"{label} is a {type(array).__name__}, not an array")
    if not array.dtype.isnative:
        raise InvalidProblem(f"{label} holds {array.dtype.str} elements, whose byte order is not this machine's")


def check_type(kernel: Kernel, label: str, name: str) -> None:
    """Raise InvalidProblem unless a kernel takes elements of a type for a matrix."""
    dtype = kernel.dtype if label in "AB" else kernel.output
    if name not in (dtype, dtype_named(dtype).storage):
        raise InvalidProblem(f"{kernel.name} takes {dtype}, but {label} is {name}")


def new_like(array: Any, shape: tuple[int, ...]) -> Any:
    """Return a new array of zeros on a GPU, by rows, of another's type."""
    if hasattr(array, "new_zeros"):
        return array.new_zeros(shape)
    if hasattr(array, "__array_function__"):
        return np.zeros_like(array, shape=shape, order="C")
    raise InvalidProblem(f"mmcore cannot make a new {type(array).__name__}; pass out")


def leading_dimension(kernel: Kernel, label: str, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> int:
    """Return the leading dimension of an array on a GPU. Raises InvalidProblem if the kernel cannot read its layout."""
    if len(shape) != 2 or min(shape) == 0:
        return 0
    strides, line = strides or (shape[1], 1), "row"
    if label in kernel.column_major:
        shape, strides, line = shape[::-1], strides[::-1], "column"
    leading = strides[0] if shape[0] > 1 else shape[1]
    if (shape[1] > 1 and strides[1] != 1) or leading < shape[1]:
        raise InvalidProblem(f"{label} is not stored {line} by {line}, and on a GPU it is used where it lies")
    if leading != shape[1] and label not in kernel.strided:
        lie = f"the {line}s of {label} lie {leading} elements apart"
        raise InvalidProblem(f"{kernel.name} takes no ld{label.lower()}, but {lie}")
    return leading

"""Blocks and grids."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from mmcore.errors import InvalidBlock
from mmcore.messages import quoted

_SHAPE = re.compile(r"[0-9]{1,10}(x[0-9]{1,10}){0,2}")


class Dim3(NamedTuple):
    """Extent of a block (in threads) or of a grid (in blocks) along x, y and z.

    Attributes:
        x, y, z: threads, or blocks, along each axis.
    """

    x: int
    y: int = 1
    z: int = 1

    @property
    def size(self) -> int:
        """Number of threads (or blocks): x·y·z."""
        return self.x * self.y * self.z

    def __str__(self) -> str:
        return "×".join(map(str, self if self.z > 1 else self[:2]))

    @property
    def spec(self) -> str:
        """The shape as it is typed: "32x8"."""
        return str(self).replace("×", "x")


def uncut(grid: Dim3, cluster: Dim3) -> str:
    """Return why a grid is no whole number of clusters, as a clause; "" if it is one."""
    if any(blocks % inside for blocks, inside in zip(grid, cluster, strict=True)):
        return f"a grid of {grid} blocks cannot be cut into clusters of {cluster}"
    return ""


Shape: TypeAlias = Sequence[int] | Dim3


def native(number: Any) -> Any:
    """Return numpy's whole number as Python's; anything else unchanged."""
    try:
        return number if isinstance(number, bool) else operator.index(number)
    except TypeError:
        return number


def dim3(shape: int | Shape) -> Dim3:
    """Return ``shape``, one to three whole numbers from 1 to 2⁶³ - 1, x first. Raises :class:`InvalidBlock`."""
    shape = tuple(map(native, shape if isinstance(shape, Iterable) else (shape,)))
    if any(type(extent) is int and abs(extent) >= 2**63 for extent in shape):
        raise InvalidBlock("a block has fewer than 2⁶³ threads along each axis")
    if not 1 <= len(shape) <= 3 or not all(type(extent) is int and extent > 0 for extent in shape):
        raise InvalidBlock(f"{shape} is not a block shape: one to three positive whole numbers, x first")
    return Dim3(*shape)


def parse_shape(text: str) -> tuple[int, ...]:
    """Return the numbers of ``"32"``, ``"32x8"`` or ``"32x8x2"``. Raises :class:`InvalidBlock` for other texts."""
    plain = text.lower().replace("×", "x")
    extents = tuple(map(int, plain.split("x"))) if _SHAPE.fullmatch(plain) else (0,)
    if 0 in extents:
        raise InvalidBlock(f"{quoted(text)} is not a block: give one to three whole numbers, such as 32 or 32x8")
    return extents


def ceil_div(extent: int, step: int) -> int:
    """Return the number of steps that cover ``extent``: the quotient, rounded up."""
    return -(-extent // step)

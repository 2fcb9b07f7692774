"""Blocks and grids."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsIndex, TypeAlias

from mmcore.errors import InvalidBlock


class Dim3(NamedTuple):
    """Extent of a block (in threads) or of a grid (in blocks) along x, y and z."""

    x: int
    y: int = 1
    z: int = 1

    @property
    def size(self) -> int:
        """Number of threads (or blocks): x·y·z."""
        return self.x * self.y * self.z

    def __str__(self) -> str:
        extents = self if self.z > 1 else self[:2]
        return "×".join(map(str, extents))


Shape: TypeAlias = Sequence[int] | Dim3


def native(number: Any) -> Any:
    """A whole number of numpy's as Python's own; anything else as it is, for others to judge."""
    return operator.index(number) if isinstance(number, SupportsIndex) and not isinstance(number, bool) else number


def dim3(shape: Shape) -> Dim3:
    """``shape`` (one to three whole numbers, x first) as a :class:`Dim3`.

    Raises:
        InvalidBlock: unless it is one to three positive ints below 2⁶³.
    """
    shape = tuple(map(native, shape))
    if any(type(extent) is int and abs(extent) >= 2**63 for extent in shape):
        raise InvalidBlock("a block has fewer than 2⁶³ threads along each axis")
    if not 1 <= len(shape) <= 3 or not all(type(extent) is int and extent > 0 for extent in shape):
        raise InvalidBlock(f"{tuple(shape)} is not a block shape: one to three positive whole numbers, x first")
    return Dim3(*shape)


_EXTENT = re.compile(r"[0-9]{1,10}")


def parse_shape(text: str) -> tuple[int, ...]:
    """The numbers of ``"32"``, ``"32x8"`` or ``"32x8x2"``.

    Raises:
        InvalidBlock: for anything else.
    """
    parts = text.lower().replace("×", "x").split("x")
    if not 1 <= len(parts) <= 3 or not all(_EXTENT.fullmatch(part) and int(part) > 0 for part in parts):
        raise InvalidBlock(f"{text!r} is not a block: give one to three positive whole numbers, such as 32 or 32x8")
    return tuple(map(int, parts))


def ceil_div(extent: int, step: int) -> int:
    """How many steps cover ``extent``: the quotient, rounded up."""
    return -(-extent // step)

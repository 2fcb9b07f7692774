"""Extents and indices along x, y and z."""

from __future__ import annotations

from typing import NamedTuple


class Dim3(NamedTuple):
    """Extent of a block (in threads) or a grid (in blocks), or an index in one."""

    x: int
    y: int = 1
    z: int = 1

    @property
    def size(self) -> int:
        """Number of threads or blocks: x·y·z."""
        return self.x * self.y * self.z

    def __str__(self) -> str:
        return "×".join(map(str, self if self.z > 1 else self[:2]))

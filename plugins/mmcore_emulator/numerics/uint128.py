"""Values of 128 bits: numpy has no integers of so many, so complex numbers hold the bits, and nothing else is meant."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.numerics.types import NUMPY

_WIDE = NUMPY["b128"]


def joined(*parts: Values) -> Values:
    """Parts side by side, the first in the lowest bits."""
    return np.stack(np.broadcast_arrays(*parts), axis=-1).view(_WIDE)[..., 0]


def parts_of(whole: Values, count: int) -> tuple[Values, ...]:
    """What :func:`joined` was given, as unsigned numbers."""
    parts = np.ascontiguousarray(whole)[..., np.newaxis].view(f"u{16 // count}")
    return tuple(parts[..., number] for number in range(count))


def swapped(old: Values, expected: Values, new: Values) -> Values:
    """``new`` where ``old`` has the bits of ``expected``."""
    same = [one == other for one, other in zip(parts_of(old, 2), parts_of(expected, 2), strict=True)]
    return np.where(same[0] & same[1], new, old)

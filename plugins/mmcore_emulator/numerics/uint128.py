"""Values of 128 bits, stored in the bits of complex numbers because numpy has no integers that wide."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.numerics.types import NUMPY

_WIDE = NUMPY["b128"]


def joined(*parts: Values) -> Values:
    """Return parts side by side, the first in the lowest bits."""
    return np.stack(np.broadcast_arrays(*parts), axis=-1).view(_WIDE)[..., 0]


def parts_of(value: Values, count: int) -> tuple[Values, ...]:
    """Return the unsigned parts that :func:`joined` combined."""
    parts = np.ascontiguousarray(value)[..., np.newaxis].view(f"u{16 // count}")
    return tuple(parts[..., number] for number in range(count))


def swapped(old: Values, expected: Values, new: Values) -> Values:
    """Return ``new`` where ``old`` has the bits of ``expected``, ``old`` elsewhere."""
    same = [one == other for one, other in zip(parts_of(old, 2), parts_of(expected, 2), strict=True)]
    return np.where(same[0] & same[1], new, old)

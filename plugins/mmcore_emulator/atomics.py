"""Atomic operations: what each makes of the value in memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mmcore_emulator.floats import Values

Combine = Callable[..., Values]
"""From the value in memory and the instruction's operands to the new value."""


def _increased(old: Values, limit: Values) -> Values:
    return np.asarray(np.where(old >= limit, 0, old + 1).astype(old.dtype))


def _decreased(old: Values, limit: Values) -> Values:
    return np.asarray(np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype))


def _exchanged(old: Values, new: Values) -> Values:
    return new


def _swapped(old: Values, expected: Values, new: Values) -> Values:
    return np.asarray(np.where(old == expected, new, old))


_WHOLE = ("u32", "s32", "u64", "s64")
_OPERATIONS: dict[str, tuple[Combine, tuple[str, ...]]] = {
    "add": (np.add, (*_WHOLE, "f32", "f64")),
    "min": (np.minimum, _WHOLE),
    "max": (np.maximum, _WHOLE),
    "inc": (_increased, ("u32",)),
    "dec": (_decreased, ("u32",)),
    "and": (np.bitwise_and, ("b32", "b64")),
    "or": (np.bitwise_or, ("b32", "b64")),
    "xor": (np.bitwise_xor, ("b32", "b64")),
    "exch": (_exchanged, ("b32", "b64")),
    "cas": (_swapped, ("b16", "b32", "b64")),
}


def atomic_operation(name: str, kind: str) -> Combine | None:
    """The operation of ``atom.NAME.KIND``; None for one that is not known."""
    combine, kinds = _OPERATIONS.get(name, (None, ()))
    return combine if kind in kinds else None

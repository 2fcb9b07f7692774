"""Masks of undefined bits."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.executor.translation.shadow_domain import Shadow
from mmcore_emulator.numerics.floats import Values


def bits_of(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """Return the type of the mask of a type's undefined bits."""
    return np.dtype(np.bool_) if dtype.kind == "b" else np.dtype(f"u{dtype.itemsize}")


def all_bits(flags: Values, dtype: np.dtype[np.generic]) -> Values:
    """Return masks of a type with all bits where ``flags`` is true."""
    ones = np.full(1, 0xFF, np.uint8) if dtype.kind != "b" else np.ones(1, np.bool_)
    return np.where(flags, np.repeat(ones, dtype.itemsize).view(bits_of(dtype))[0], bits_of(dtype).type(0))


def known(shadow: Values) -> Shadow:
    """Return a mask, or None if no bit is set."""
    return shadow if shadow.any() else None


def resized(shadow: Shadow, dtype: np.dtype[np.generic]) -> Values:
    """Return a mask of a type's size."""
    return np.zeros((1,) * 6, bits_of(dtype)) if shadow is None else shadow.astype(bits_of(dtype), copy=False)

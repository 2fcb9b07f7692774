"""Tokens of bytes: the number of an element and of one of its bytes, in three planes; a token of zero is none."""

from __future__ import annotations

from typing import Any

import numpy as np

from mmcore_emulator.numerics.types import DType, Flags, Values

PLANES = 3
"""Bytes of a token; those of one rank are a plane, an array of the shape of the bytes that they belong to."""
_BYTE_BITS = 3  # bits of a token for the number of a byte in its element
MOST_ELEMENTS = 1 << (8 * PLANES - _BYTE_BITS)
"""More elements than tokens can number."""


def _ones(bits: DType) -> Any:
    return np.frombuffer(b"\x01" * bits.itemsize, bits)[0]


def _steps(bits: DType) -> Any:
    return np.frombuffer(bytes(range(bits.itemsize)), bits)[0]


def tokens_of(numbers: Values, bits: DType) -> tuple[Values, ...]:
    """Return the planes of the tokens of elements by their numbers, 0 for none."""
    tokens, ones = numbers << np.uint64(_BYTE_BITS), _ones(bits)
    planes = [((tokens >> np.uint64(8 * rank)) & np.uint64(0xFF)).astype(bits) * ones for rank in range(PLANES)]
    planes[0] = np.where(numbers != 0, planes[0] + _steps(bits), bits.type(0))
    return tuple(planes)


def elements_at(planes: tuple[Values, ...]) -> tuple[Values, Flags]:
    """Return the number of the element of each register, and true if it is one whole element."""
    bits = planes[0].dtype
    ones, low = _ones(bits), bits.type(0xFF)
    first = [plane & low for plane in planes]
    whole = (planes[0] == first[0] * ones + _steps(bits)) & ((first[0] & bits.type((1 << _BYTE_BITS) - 1)) == 0)
    number = (first[0] >> bits.type(_BYTE_BITS)).astype(np.int64)
    for rank in range(1, PLANES):
        whole &= planes[rank] == first[rank] * ones
        number |= first[rank].astype(np.int64) << (8 * rank - _BYTE_BITS)
    whole &= number != 0
    return np.where(whole, number, 0), whole

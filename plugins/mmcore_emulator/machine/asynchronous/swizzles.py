"""Swizzles of shared memory: address bits are flipped by others, so that columns spread over the banks.

Within each 128 bytes, chunks of 16 bytes change places, by the number of the 128 bytes in the pattern. The hardware
flips bits of the absolute address, both for writes by a tensor map and for reads by a matrix descriptor.
Reference: PTX ISA, "Swizzling Modes"; CUDA C++ Programming Guide, "Swizzle Pattern Pointer Offset Computation".
"""

from __future__ import annotations

import numpy as np

from mmcore_emulator.numerics.floats import Values

CHUNK = 16
"""Bytes that stay together."""
_LINE_BIT, _CHUNK_BIT = 7, 4
# The address bits that may change, by the span in bytes.
_CHANGING = {0: 0, 32: 0b001 << _CHUNK_BIT, 64: 0b011 << _CHUNK_BIT, 128: 0b111 << _CHUNK_BIT}
SPANS = tuple(_CHANGING)
"""Spans in bytes within which chunks change places; 0 for no swizzle."""


def period(span: int) -> int:
    """Return the bytes after which the pattern of a swizzle repeats: eight spans."""
    return 8 * span or CHUNK


def swizzled(address: Values, span: int, first_line: Values | int = 0) -> Values:
    """Return the swizzled addresses (any 64-bit type).

    Args:
        address: in shared memory, absolute.
        span: bytes within which chunks change places: 0, 32, 64 or 128.
        first_line: number of the 128 bytes that the pattern starts with, modulo 8 (a descriptor's base offset).
    """
    if not span:
        return address
    kind = address.dtype.type
    line = (address >> kind(_LINE_BIT)) + (8 - np.asarray(first_line)).astype(kind)
    return np.asarray(address ^ ((line << kind(_CHUNK_BIT)) & kind(_CHANGING[span])))

"""Elements of matrices: their bits in registers, and the numbers that these represent."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.numerics.floats import float8_values, from_bfloat16
from mmcore_emulator.numerics.types import Values

BITS = {"b1": 1, "s4": 4, "u4": 4} | {"s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8} | {"f16": 16, "bf16": 16}
BITS |= {"tf32": 32, "f32": 32, "s32": 32, "f64": 64}
"""Bits that an element of each type takes in a register."""

RAW: dict[int, type[np.generic]] = {1: np.uint8, 4: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.float64}
"""The type of a raw element, by its bits."""

_TF32 = np.uint32(0xFFFFE000)
_FLOAT8 = {"e4m3": float8_values(exponent_bits=4), "e5m2": float8_values(exponent_bits=5)}
# For two bytes: the real part is the number of the byte at the lower address.
_FLOAT8_PAIRS = {
    type: np.stack([np.tile(numbers, 256), np.repeat(numbers, 256)], axis=1).view(np.complex128)[:, 0]
    for type, numbers in _FLOAT8.items()
}


def split_parts(registers: Values, type: str) -> Values:
    """Return the raw elements ``[..., parts]`` of registers ``[...]``, the lowest bits first."""
    if BITS[type] >= 32:
        return registers[..., np.newaxis]
    raw = np.ascontiguousarray(registers)[..., np.newaxis].view(RAW[BITS[type]])
    if BITS[type] == 1:
        return np.unpackbits(raw, axis=-1, bitorder="little")
    return np.stack([raw & 15, raw >> 4], axis=-1).reshape(*registers.shape, 8) if BITS[type] == 4 else raw


def join_parts(raw: Values, type: str) -> Values:
    """Return the registers ``[...]`` of raw elements ``[..., parts]``: the inverse of ``split_parts``."""
    if BITS[type] == 1:
        raw = np.packbits(raw, axis=-1, bitorder="little")
    if BITS[type] == 4:
        raw = raw[..., ::2] | (raw[..., 1::2] << 4)
    whole = np.float64 if BITS[type] == 64 else np.uint32
    return np.ascontiguousarray(raw).view(whole)[..., 0]


def values(raw: Values, type: str) -> Values:
    """Return the exact numbers of raw elements of a type: float64, or int64 for types of whole numbers."""
    match type:
        case "e4m3" | "e5m2":
            return _of_float8(raw, type)
        case "s4":
            return ((raw << 4).view(np.int8) >> 4).astype(np.int64)
        case "s8" | "s32":
            return raw.view(f"i{raw.itemsize}").astype(np.int64)
        case "b1" | "u4" | "u8":
            return raw.astype(np.int64)
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return _floats(raw, type).astype(np.float64)


def _of_float8(raw: Values, type: str) -> Values:
    """Return the numbers of 8-bit floats, two neighbours in memory at once, which is several times as fast."""
    contiguous = raw.flags.c_contiguous
    lines = np.ascontiguousarray(raw if contiguous else raw.swapaxes(-1, -2))
    if lines.size % 2:
        return _FLOAT8[type][raw]
    numbers = np.take(_FLOAT8_PAIRS[type], lines.reshape(-1).view(np.uint16)).view(np.float64).reshape(lines.shape)
    return numbers if contiguous else numbers.swapaxes(-1, -2)


def _floats(raw: Values, type: str) -> Values:
    """Return raw elements as numbers of their type, or of float32."""
    match type:
        case "f16":
            return raw.view(np.float16)
        case "bf16":
            return from_bfloat16(raw)
        case "tf32":  # the hardware reads no more of it
            return (raw & _TF32).view(np.float32)
        case "f32":
            return raw.view(np.float32)
        case "f64":
            return raw.view(np.float64)
        case _:
            return raw


def bits_of(numbers: Values, type: str) -> Values:
    """Return the raw elements of results: float16 for "f16", float32 for "f32", int32 for "s32", float64 for "f64".

    Results of float32 are rounded to float16.
    """
    if type == "f16":
        with np.errstate(over="ignore"):
            numbers = numbers.astype(np.float16, copy=False)
    return numbers if type == "f64" else np.ascontiguousarray(numbers).view(RAW[BITS[type]])

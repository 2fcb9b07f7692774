"""Types of elements: their sizes, their numbers, and the types that instructions may read them as."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.numerics.floats import from_bfloat16
from mmcore_emulator.numerics.types import NUMPY, Values
from mmcore_emulator.tensor_cores.elements import values as numbers_of

_INTEGERS = tuple(f"{sign}{bits}" for bits in (8, 16, 32, 64) for sign in "su")
KINDS = ("", "f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "pred", *_INTEGERS)
NUMBER = {kind: number for number, kind in enumerate(KINDS)}
SIGNED = [number for kind, number in NUMBER.items() if kind[:1] == "s"]
BYTES = {**{kind: dtype.itemsize for kind, dtype in NUMPY.items()}, "e4m3": 1, "e5m2": 1, "tf32": 4}


def is_integer(kind: str) -> bool:
    """Return True for a type of whole numbers."""
    return kind[:1] in ("s", "u")


def readable_as(kind: str) -> tuple[str, ...]:
    """Return the types of elements that an instruction for a type may read."""
    if kind in ("f32", "tf32"):
        return "f32", "tf32", "bf16"
    if not is_integer(kind):
        return (kind,)
    return tuple(each for each in KINDS if is_integer(each) and same_number(each, kind))


def same_number(kind: str, as_kind: str) -> bool:
    """Return True if an integer of one type, extended by its sign, is the same number in another type.

    Arithmetic on 32 and 64 bits is the same for signed and unsigned numbers.
    """
    size, of_reader = BYTES[kind], BYTES[as_kind]
    return size <= of_reader and (kind[0] == as_kind[0] or of_reader >= 4 or (kind[0] == "u" and size < of_reader))


def as_numbers(value: Values, kind: str) -> Values:
    """Return the numbers that registers hold in a type."""
    match kind:
        case "bf16":
            return from_bfloat16(value.view(np.uint16)).astype(np.float64)
        case "e4m3" | "e5m2":
            return numbers_of(value.view(np.uint8), kind)
        case "pred":
            return value
        case "tf32":
            return (value.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        case _:
            dtype = NUMPY[kind]
            return value.view(dtype) if value.dtype.itemsize == dtype.itemsize else value.astype(dtype)

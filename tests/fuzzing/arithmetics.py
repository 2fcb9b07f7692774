"""Products as the arithmetic of each type makes them: what is declared, in many orders, and what is less.

All of it is numpy: exact products in float64, rounded where the hardware rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tests.narrowing import cut_off, rounded

Values: TypeAlias = NDArray[np.float64]
Multiply: TypeAlias = Callable[[Values, Values], Values]
"""A·B of exact numbers, as some arithmetic sums it."""


@dataclass(frozen=True)
class Arithmetic:
    """Types as a kernel declares them, sums that are as good as that, and such as are not.

    Attributes:
        dtype, accumulator, output: as :class:`mmcore.Kernel` has them.
        right: sums by name that keep what is declared.
        lower: sums by name of a lower precision, or of numbers of a lower precision or a smaller range.
    """

    dtype: str
    accumulator: str
    output: str
    right: Mapping[str, Multiply]
    lower: Mapping[str, Multiply]

    def __str__(self) -> str:
        return f"{self.dtype} summed in {self.accumulator}, {self.output} out"


def summed_in(accumulator: str) -> Multiply:
    """One term after another, each product rounded and each sum."""
    return partial(_one_after_another, accumulator=accumulator)


def _one_after_another(a: Values, b: Values, accumulator: str) -> Values:
    total: NDArray[Any] = np.zeros((len(a), b.shape[1]))
    if accumulator in ("float32", "float64"):
        a, b, total = (each.astype(accumulator) for each in (a, b, total))
        for column, row in zip(a.T, b, strict=True):
            total += np.multiply.outer(column, row)
        return total.astype(np.float64)
    for column, row in zip(a.T, b, strict=True):
        total = rounded(total + rounded(np.multiply.outer(column, row), accumulator), accumulator)
    return total


def backwards(accumulator: str) -> Multiply:
    """The last term first."""
    return lambda a, b: _one_after_another(a[:, ::-1], b[::-1], accumulator)


def split(accumulator: str, parts: int = 4) -> Multiply:
    """Every fourth term in a sum of its own, and these summed."""

    def multiply(a: Values, b: Values) -> Values:
        total = np.zeros((len(a), b.shape[1]))
        for start in range(min(parts, a.shape[1])):
            part = _one_after_another(a[:, start::parts], b[start::parts], accumulator)
            total = rounded(total + part, accumulator)
        return total

    return multiply


def tensor_cores(at_once: int, behind: int, kept: int = 23) -> Multiply:
    """Some products at a time, aligned with the largest of them and the sum, cut off, and summed exactly.

    Args:
        at_once: how many products.
        behind: bits behind the first of the largest one, from which on everything is cut off.
        kept: bits behind the first that are left of the sum.
    """
    return partial(_tensor_cores, at_once=at_once, behind=behind, kept=kept)


def _tensor_cores(a: Values, b: Values, at_once: int, behind: int, kept: int) -> Values:
    total = np.zeros((len(a), b.shape[1]))
    for start in range(0, a.shape[1], at_once):
        terms = a.T[start : start + at_once, :, np.newaxis] * b[start : start + at_once, np.newaxis, :]
        summands = np.concatenate([terms, total[np.newaxis]])
        unit = np.ldexp(1.0, np.frexp(np.abs(summands).max(axis=0))[1] - 1 - behind)
        total = cut_off((np.trunc(summands / unit) * unit).sum(axis=0), kept)
    return total


def promoted(part: Multiply, depth: int = 128) -> Multiply:
    """What tensor cores make of 128 terms at a time, summed in float32."""

    def multiply(a: Values, b: Values) -> Values:
        total = np.zeros((len(a), b.shape[1]))
        for start in range(0, a.shape[1], depth):
            total = rounded(total + part(a[:, start : start + depth], b[start : start + depth]), "float32")
        return total

    return multiply


def of(change: Callable[[Values], Values], multiply: Multiply) -> Multiply:
    """The product of changed numbers."""
    return lambda a, b: multiply(change(a), change(b))


def as_type(dtype: str, multiply: Multiply) -> Multiply:
    """The product of numbers rounded to a type."""
    return of(partial(rounded, dtype=dtype), multiply)


def saturated(a: Values, b: Values) -> Values:
    """Whole numbers in which sums of two products stop at the ends of 16 bits."""
    total = np.zeros((len(a), b.shape[1]))
    for start in range(0, a.shape[1], 2):
        total += np.clip(a[:, start : start + 2] @ b[start : start + 2], -(2**15), 2**15 - 1)
    return total


_FLOAT32: dict[str, Multiply] = {
    "one after another": summed_in("float32"),
    "backwards": backwards("float32"),
    "in four parts": split("float32"),
    "pairs and blocks": np.matmul,
}
EIGHT_BITS = tensor_cores(32, 13, 13)
"""8-bit floats on tensor cores of compute capability 8.9 and 9.0."""
# On tensor cores: float16 and bfloat16 16 terms at once, tf32 8; by how many bits is not documented.
_HALF: dict[str, Multiply] = _FLOAT32 | {
    "tensor cores": tensor_cores(16, 25),
    "tensor cores, 24 bits": tensor_cores(16, 24),
}
_TF32: dict[str, Multiply] = _FLOAT32 | {
    "tensor cores": tensor_cores(8, 25),
    "tensor cores, 24 bits": tensor_cores(4, 24),
}
_FLOAT22 = {"tensor cores": EIGHT_BITS, "promoted every 128": promoted(EIGHT_BITS), "in float32": summed_in("float32")}
_PROMOTED = {name: multiply for name, multiply in _FLOAT22.items() if name != "tensor cores"}
_IN_FLOAT32 = summed_in("float32")
_NARROW_SUMS: dict[str, Multiply] = {f"sums in {name}": summed_in(name) for name in ("float16", "bfloat16")}
_OF_FLOAT32: dict[str, Multiply] = {
    **{f"{name} inputs": as_type(name, _IN_FLOAT32) for name in ("tf32", "float16", "bfloat16")},
    **_NARROW_SUMS,
    "sums cut off behind 13 bits": EIGHT_BITS,
}
_OF_HALF: dict[str, Multiply] = {
    **{f"{name} inputs": as_type(name, _IN_FLOAT32) for name in ("float8_e4m3fn", "float8_e5m2")},
    **_NARROW_SUMS,
    "sums cut off behind 13 bits": EIGHT_BITS,
}
_OTHER = {"float8_e4m3fn": "float8_e5m2", "float8_e5m2": "float8_e4m3fn"}


def _same(types: str) -> Mapping[str, Multiply]:
    return {"one after another": summed_in(types), "in four parts": split(types), "in float32": _IN_FLOAT32}


def _of_float8(dtype: str, output: str) -> list[Arithmetic]:
    inputs = {f"{_OTHER[dtype]} inputs": as_type(_OTHER[dtype], _IN_FLOAT32)}
    cut = {"sums cut off behind 13 bits": EIGHT_BITS}
    return [
        Arithmetic(dtype, "float32", output, _HALF, inputs | _NARROW_SUMS | cut),
        Arithmetic(dtype, "float22", output, _FLOAT22, inputs | _NARROW_SUMS),
        Arithmetic(dtype, "float22/128", output, _PROMOTED, inputs | _NARROW_SUMS | cut),
    ]


ARITHMETICS = (
    Arithmetic("float32", "float32", "float32", _FLOAT32, _OF_FLOAT32),
    Arithmetic(
        "float64",
        "float64",
        "float64",
        {"one after another": summed_in("float64"), "backwards": backwards("float64"), "pairs and blocks": np.matmul},
        {"float32 inputs": as_type("float32", summed_in("float64")), "sums in float32": _IN_FLOAT32},
    ),
    Arithmetic(
        "tf32", "float32", "float32", _TF32, {name: sum for name, sum in _OF_FLOAT32.items() if name != "tf32 inputs"}
    ),
    Arithmetic("float16", "float32", "float32", _HALF, _OF_HALF),
    Arithmetic("float16", "float32", "float16", _HALF, _OF_HALF),
    Arithmetic("float16", "float16", "float16", _same("float16"), {"sums in bfloat16": summed_in("bfloat16")}),
    Arithmetic("bfloat16", "float32", "float32", _HALF, _OF_HALF),
    Arithmetic("bfloat16", "float32", "bfloat16", _HALF, _OF_HALF),
    Arithmetic(
        "bfloat16",
        "bfloat16",
        "bfloat16",
        _same("bfloat16"),
        {f"{name} inputs": as_type(name, _IN_FLOAT32) for name in _OTHER},
    ),
    *_of_float8("float8_e4m3fn", "float32"),
    *_of_float8("float8_e4m3fn", "bfloat16"),
    *_of_float8("float8_e5m2", "float32"),
    *(
        Arithmetic(
            dtype,
            "int32",
            "int32",
            {"exact": np.matmul},
            {
                "inputs without the last bit": of(lambda numbers: 2 * np.floor(numbers / 2), np.matmul),
                "sums in float16": summed_in("float16"),
                "sums in float32": _IN_FLOAT32,
                "pairs saturated at 16 bits": saturated,
            },
        )
        for dtype in ("int8", "uint8", "int32")
    ),
)

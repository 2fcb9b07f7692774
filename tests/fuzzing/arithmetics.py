"""Matrix products in the arithmetic of each type: in many orders of summation, and in a lower precision.

Everything is numpy: exact products in float64, rounded where the hardware rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    """The types of a kernel, and ways to compute its product.

    Attributes:
        dtype, accumulator, output: as :class:`mmcore.Kernel` has them.
        right: sums by name that have the declared precision.
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
    """Return sums of one term after another, in which each product and each sum is rounded."""
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
    """Return sums that begin with the last term."""
    return lambda a, b: _one_after_another(a[:, ::-1], b[::-1], accumulator)


def _in_parts(slices: Callable[[int], Iterable[slice]], part: Multiply, accumulator: str) -> Multiply:
    """Return sums over some parts of k, which are added one after another."""

    def multiply(a: Values, b: Values) -> Values:
        total = np.zeros((len(a), b.shape[1]))
        for each in slices(a.shape[1]):
            total = rounded(total + part(a[:, each], b[each]), accumulator)
        return total

    return multiply


def split(accumulator: str, parts: int = 4) -> Multiply:
    """Return sums of every fourth term, which are added at the end."""
    part = summed_in(accumulator)
    return _in_parts(lambda k: (slice(start, None, parts) for start in range(min(parts, k))), part, accumulator)


def promoted(part: Multiply, depth: int = 128) -> Multiply:
    """Return sums of 128 terms at a time, which are added in float32."""
    return _in_parts(lambda k: (slice(start, start + depth) for start in range(0, k, depth)), part, "float32")


def tensor_cores(at_once: int, behind: int, kept: int = 23) -> Multiply:
    """Return sums that align some products with the largest of them and the sum, truncate them, and add exactly.

    Args:
        at_once: the number of products.
        behind: the number of bits after the first one of the largest that are kept of each product.
        kept: the number of bits after the first one that are kept of the sum.
    """

    def multiply(a: Values, b: Values) -> Values:
        total = np.zeros((len(a), b.shape[1]))
        for start in range(0, a.shape[1], at_once):
            terms = a.T[start : start + at_once, :, np.newaxis] * b[start : start + at_once, np.newaxis, :]
            summands = np.concatenate([terms, total[np.newaxis]])
            unit = np.ldexp(1.0, np.frexp(np.abs(summands).max(axis=0))[1] - 1 - behind)
            total = cut_off((np.trunc(summands / unit) * unit).sum(axis=0), kept)
        return total

    return multiply


def of(change: Callable[[Values], Values], multiply: Multiply) -> Multiply:
    """Return a product of changed numbers."""
    return lambda a, b: multiply(change(a), change(b))


def saturated(a: Values, b: Values) -> Values:
    """Return integer sums in which each sum of two products saturates at the ends of 16 bits."""
    total = np.zeros((len(a), b.shape[1]))
    for start in range(0, a.shape[1], 2):
        total += np.clip(a[:, start : start + 2] @ b[start : start + 2], -(2**15), 2**15 - 1)
    return total


EIGHT_BITS = tensor_cores(32, 13, 13)
"""8-bit floats on tensor cores of compute capability 8.9 and 9.0."""
_IN_FLOAT32 = summed_in("float32")
_FLOAT8 = ("float8_e4m3fn", "float8_e5m2")


def _inputs(types: Iterable[str]) -> dict[str, Multiply]:
    return {f"{name} inputs": of(partial(rounded, dtype=name), _IN_FLOAT32) for name in types}


def _sums(accumulator: str) -> dict[str, Multiply]:
    return {f"sums in {accumulator}": summed_in(accumulator)}


def _orders(accumulator: str) -> dict[str, Multiply]:
    return {"one after another": summed_in(accumulator), "in four parts": split(accumulator)}


_CUT = {"sums cut off behind 13 bits": EIGHT_BITS}
_NARROW_SUMS = _sums("float16") | _sums("bfloat16")
_FLOAT32: dict[str, Multiply] = _orders("float32") | {"backwards": backwards("float32"), "pairs and blocks": np.matmul}
# Tensor cores add 16 products of float16 or bfloat16 at once, and 8 of tf32. The number of bits is not documented.
_HALF = _FLOAT32 | {"tensor cores": tensor_cores(16, 25), "tensor cores, 24 bits": tensor_cores(16, 24)}
_TF32 = _FLOAT32 | {"tensor cores": tensor_cores(8, 25), "tensor cores, 24 bits": tensor_cores(4, 24)}
_PROMOTED = {"promoted every 128": promoted(EIGHT_BITS), "in float32": _IN_FLOAT32}
_LESS_THAN_TF32 = _inputs(("float16", "bfloat16")) | _NARROW_SUMS | _CUT
_LESS_THAN_HALF = _inputs(_FLOAT8) | _NARROW_SUMS | _CUT


def _of_float8(dtype: str, output: str) -> list[Arithmetic]:
    inputs = _inputs(set(_FLOAT8) - {dtype}) | _NARROW_SUMS
    return [
        Arithmetic(dtype, "float32", output, _HALF, inputs | _CUT),
        Arithmetic(dtype, "float22", output, {"tensor cores": EIGHT_BITS} | _PROMOTED, inputs),
        Arithmetic(dtype, "float22/128", output, _PROMOTED, inputs | _CUT),
    ]


_FLOAT64: dict[str, Multiply] = {
    "one after another": summed_in("float64"),
    "backwards": backwards("float64"),
    "pairs and blocks": np.matmul,
}
_LESS_THAN_FLOAT64 = {"float32 inputs": of(partial(rounded, dtype="float32"), summed_in("float64"))}
_LESS_THAN_INTEGERS: dict[str, Multiply] = {
    "inputs without the last bit": of(lambda numbers: 2 * np.floor(numbers / 2), np.matmul),
    "pairs saturated at 16 bits": saturated,
}
_LESS_THAN_INTEGERS |= _sums("float16") | _sums("float32")

ARITHMETICS = (
    Arithmetic("float32", "float32", "float32", _FLOAT32, _inputs(["tf32"]) | _LESS_THAN_TF32),
    Arithmetic("float64", "float64", "float64", _FLOAT64, _LESS_THAN_FLOAT64 | _sums("float32")),
    Arithmetic("tf32", "float32", "float32", _TF32, _LESS_THAN_TF32),
    Arithmetic("float16", "float32", "float32", _HALF, _LESS_THAN_HALF),
    Arithmetic("float16", "float32", "float16", _HALF, _LESS_THAN_HALF),
    Arithmetic("float16", "float16", "float16", _orders("float16") | {"in float32": _IN_FLOAT32}, _sums("bfloat16")),
    Arithmetic("bfloat16", "float32", "float32", _HALF, _LESS_THAN_HALF),
    Arithmetic("bfloat16", "float32", "bfloat16", _HALF, _LESS_THAN_HALF),
    Arithmetic("bfloat16", "bfloat16", "bfloat16", _orders("bfloat16") | {"in float32": _IN_FLOAT32}, _inputs(_FLOAT8)),
    *_of_float8("float8_e4m3fn", "float32"),
    *_of_float8("float8_e4m3fn", "bfloat16"),
    *_of_float8("float8_e5m2", "float32"),
    *(
        Arithmetic(dtype, "int32", "int32", {"exact": np.matmul}, _LESS_THAN_INTEGERS)
        for dtype in ("int8", "uint8", "int32")
    ),
)

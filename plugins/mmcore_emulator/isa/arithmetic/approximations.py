"""Functions that a GPU only approximates: their bits are not specified, and differ from card to card.

They are evaluated in float64 and rounded to their type, which is within every bound of the PTX ISA. Special values
follow its tables. Reference: "Floating Point Instructions" and "Half Precision Floating Point Instructions", the notes
on div, rcp, sqrt, rsqrt, sin, cos, lg2, ex2 and tanh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from mmcore_emulator.isa.arithmetic.float_operations import in_halves
from mmcore_emulator.isa.entries import Compute, Family, Function
from mmcore_emulator.numerics.floats import flushed, from_bfloat16, to_bfloat16, with_one_nan
from mmcore_emulator.numerics.types import Values

_HIGH_WORD = np.uint64(0xFFFF_FFFF_0000_0000)
_ONE_NAN = np.uint64(0x7FFF_FFFF_0000_0000)
_LEAST_NORMAL = 2.0**-1022
# The reciprocal of a larger divisor, which div.approx multiplies with, is subnormal.
_LARGEST_DIVISOR = np.float32(2.0**126)


def _reciprocal(a: Values) -> Values:
    return np.asarray(np.divide(1.0, a))


def _reciprocal_root(a: Values) -> Values:
    return np.asarray(np.divide(1.0, np.sqrt(a)))


_OF_F32: Mapping[str, Function] = {
    "rcp": _reciprocal,
    "sqrt": np.sqrt,
    "rsqrt": _reciprocal_root,
    "sin": np.sin,
    "cos": np.cos,
    "lg2": np.log2,
    "ex2": np.exp2,
}


def _approximations() -> Iterator[tuple[str, Compute]]:
    """Yield every approximate function with its opcode."""

    def operation(compute: Function, kind: str, count: int = 1) -> Compute:
        return Compute(compute, (kind,) * count, kind, approximate=True)

    for name, function in _OF_F32.items():
        compute = partial(_single, function)
        yield f"{name}.approx.f32", operation(compute, "f32")
        yield f"{name}.approx.ftz.f32", operation(_flushing(compute), "f32")
    for way, divide in (("approx", _product_with_reciprocal), ("full", partial(_single, np.divide))):
        yield f"div.{way}.f32", operation(divide, "f32", 2)
        yield f"div.{way}.ftz.f32", operation(_flushing(divide), "f32", 2)
    yield "tanh.approx.f32", operation(partial(_single, np.tanh), "f32")
    yield "rsqrt.approx.f64", operation(_reciprocal_root, "f64")
    yield "rcp.approx.ftz.f64", operation(partial(_of_high_word, _reciprocal), "f64")
    yield "rsqrt.approx.ftz.f64", operation(partial(_of_high_word, _reciprocal_root), "f64")
    for name, function in (("tanh.approx", np.tanh), ("ex2.approx", np.exp2)):
        half = partial(_half, function)
        yield f"{name}.f16", operation(half, "f16")
        yield f"{name}.f16x2", operation(partial(in_halves, half, np.dtype(np.float16)), "b32")
    for name, function in (
        ("tanh.approx", partial(_single, np.tanh)),
        ("ex2.approx.ftz", _flushing(partial(_single, np.exp2))),
    ):
        brain = partial(_brain, function)
        yield f"{name}.bf16", operation(brain, "bf16")
        yield f"{name}.bf16x2", operation(partial(in_halves, brain, np.dtype(np.uint16)), "b32")


def _single(function: Function, *operands: Values) -> Values:
    """Evaluate a function of float32 in float64."""
    return with_one_nan(function(*(operand.astype(np.float64) for operand in operands)).astype(np.float32))


def _half(function: Function, a: Values) -> Values:
    return with_one_nan(function(a.astype(np.float64)).astype(np.float16))


def _brain(function: Function, a: Values) -> Values:
    """Evaluate a function of bfloat16 by one of float32, which is precise enough for any rounding."""
    return to_bfloat16(function(from_bfloat16(a)))


def _flushing(function: Function) -> Callable[..., Values]:
    """Return a function of float32 that flushes subnormal operands and results to zeros of their sign."""
    return lambda *operands: flushed(function(*map(flushed, operands)))


def _product_with_reciprocal(a: Values, b: Values) -> Values:
    """Return a · (1/b), with zero for a subnormal 1/b."""
    large = (np.abs(b) > _LARGEST_DIVISOR) & np.isfinite(b)
    quotient = _single(np.divide, a, b)
    return np.where(large, with_one_nan(a * np.copysign(np.float32(0), b)), quotient) if large.any() else quotient


def _of_high_word(function: Function, a: Values) -> Values:
    """Apply a function to the upper 32 bits of a float64; flush subnormal numbers to zero."""
    upper = (a.view(np.uint64) & _HIGH_WORD).view(np.float64)
    upper = np.where(np.abs(upper) < _LEAST_NORMAL, np.copysign(0.0, upper), upper)
    result = np.asarray(function(upper))
    result = np.where(np.abs(result) < _LEAST_NORMAL, np.copysign(0.0, result), result)
    # Round to nearest; infinity and zero have no lower bits.
    rounded = (result.view(np.uint64) + np.uint64(1 << 31)) & _HIGH_WORD
    return np.where(np.isnan(result), _ONE_NAN, rounded).view(np.float64)


FAMILY = Family("Approximations", exact=_approximations, since=(((9, 0), r"(ex2|tanh)\..*bf16.*"),), proof="opaque")

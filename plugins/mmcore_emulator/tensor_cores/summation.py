"""Sums of products as tensor cores compute them, bit for bit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from mmcore_emulator.numerics import floats
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.tensor_cores.arithmetic import Arithmetic

Tile = tuple[slice, slice, slice]

# Numbers of a work array; with it and its companions the L2 cache of a core is half full.
_TILE = 8192
# Of numpy's inner loop.
_LONG_ROW, _LONGEST_ROW = 64, 512
#: Bits of the significand, without the leading one, of results that are cut off.
_FRACTIONS = {"f32": 23, "float22": 13, "f16 of float22": 13}
_HALVES = ("f16", "f16 of float22")


def multiply_add(a: ArrayLike, b: ArrayLike, c: ArrayLike, arithmetic: Arithmetic) -> Values:
    """Compute A·B + C as a tensor core does: ``a`` [..., M, K], ``b`` [..., K, N] and ``c`` [..., M, N].

    The operands are the exact values: float64, or integers if the result is one. The result [..., M, N] is float32,
    float16, float64 or int32; its NaN has all bits set but the sign.
    """
    if arithmetic.result == "s32":
        return _integers(np.asarray(a), np.asarray(b), np.asarray(c), saturate=arithmetic.saturate)
    a, b, c = (np.asarray(each, np.float64) for each in (a, b, c))
    if arithmetic.result == "f64":
        return _chain(a, b, c)
    if arithmetic.subroutine:
        return _subroutine(a, b, c, arithmetic)
    if arithmetic.unpacked:
        return _unpacked(a, b, c, arithmetic)
    return _as_result(_in_steps(a, b, c, arithmetic), arithmetic)


def _integers(a: Values, b: Values, c: Values, *, saturate: bool) -> Values:
    # Sums of products of bytes are exact in float64, and numpy multiplies matrices of it fastest.
    total = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64) + c.astype(np.int64)
    if saturate:
        total = np.clip(total, -(2**31), 2**31 - 1)
    return total.astype(np.int32)


def _chain(a: Values, b: Values, c: Values) -> Values:
    """Compute fused multiply-adds in order of k."""
    total = c
    with np.errstate(invalid="ignore", over="ignore"):
        for k in range(a.shape[-1]):
            total = floats.fma64(a[..., :, k, None], b[..., None, k, :], total)
    return total


def _subroutine(a: Values, b: Values, c: Values, arithmetic: Arithmetic) -> Values:
    """Compute what ptxas makes of m8n8k4 since compute capability 8.0, read off the machine code of NVRTC 13.

    For float32, four fused multiply-adds from zero are added to C. For float16, the sums of two products each are
    added to C in float32, and the result is rounded.
    """
    a, b, total = (each.astype(np.float32) for each in (a, b, c))
    half = arithmetic.result == "f16"
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, a.shape[-1], arithmetic.at_once):
            # The first product of float16 is a multiplication: it keeps the sign of zero, as adding -0 does.
            part: Values = np.float32(-0.0 if half else 0.0) * np.ones_like(total)
            for k in range(start, start + arithmetic.at_once):
                part = floats.fma32(a[..., :, k, None], b[..., None, k, :], part)
            total = total + part
        return floats.with_one_nan(total.astype(np.float16) if half else total)


def _unpacked(a: Values, b: Values, c: Values, arithmetic: Arithmetic) -> Values:
    """Two steps from zero, whose sum is added to C by an ordinary addition."""
    k = np.arange(a.shape[-1])
    order = np.argsort(k % 4 // 2, kind="stable")
    product = _in_steps(a[..., order], b[..., order, :], np.zeros_like(c), arithmetic)
    dtype = np.float16 if arithmetic.result in _HALVES else np.float32
    with np.errstate(invalid="ignore", over="ignore"):
        return floats.with_one_nan(product.astype(dtype) + c.astype(dtype))


def _as_result(values: Values, arithmetic: Arithmetic) -> Values:
    """Return ``values``, which the result's type can represent, in that type."""
    return floats.with_one_nan(values.astype(np.float16 if arithmetic.result in _HALVES else np.float32))


def _in_steps(a: Values, b: Values, c: Values, arithmetic: Arithmetic) -> Values:
    """Compute the result in float64, tile by tile; every tile's work arrays stay in a core's cache."""
    shape = c.shape
    a, b, c = (each.reshape(-1, *each.shape[-2:]) for each in (a, b, c))
    batch_last = c.shape[-1] < min(len(c), _LONG_ROW)
    # Numpy's inner loop runs over the last axis, which had better be long.
    if batch_last:
        a, b = a.transpose(2, 1, 0)[:, :, None], b.transpose(1, 2, 0)[:, None]
        c = c.transpose(1, 2, 0)
    else:
        a, b = a.transpose(2, 0, 1)[..., None], b.transpose(1, 0, 2)[:, :, None]
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    product = _Product(a, b, arithmetic)
    result = np.empty(c.shape)
    for tile in _tiles(c.shape):
        result[tile] = product.of(tile, np.ascontiguousarray(c[tile]))
    return (result.transpose(2, 0, 1) if batch_last else result).reshape(shape)


def _tiles(shape: tuple[int, ...]) -> Iterator[Tile]:
    """Yield parts of an array of three axes, of at most ``_TILE`` elements, longest along the last."""
    room, sizes = _TILE, []
    for length in reversed(shape):
        sizes.append(max(1, min(length, room, _LONGEST_ROW)))
        room //= sizes[-1]
    starts = (range(0, length, size) for length, size in zip(shape, reversed(sizes), strict=True))
    for x, y, z in itertools.product(*starts):
        yield slice(x, x + sizes[2]), slice(y, y + sizes[1]), slice(z, z + sizes[0])


def _part(operand: Values, tile: Tile) -> Values:
    """Return the part of an operand [K, X, Y, Z] for a tile; it has one element along axes it does not depend on."""
    axes = zip(tile, operand.shape[1:], strict=True)
    return operand[(slice(None), *(part if length > 1 else slice(None) for part, length in axes))]


class _Product:
    """A and B, prepared: [K, X, Y, Z] that broadcast against each other; C and the result are [X, Y, Z]."""

    def __init__(self, a: Values, b: Values, arithmetic: Arithmetic) -> None:
        self.arithmetic = arithmetic
        self.special = None if np.isfinite(a).all() and np.isfinite(b).all() else (a, b)
        if self.special:
            a, b = (np.where(np.isfinite(each), each, 0.0) for each in self.special)
        self.factors = a, b
        self.exponents = tuple(
            _exponents(each, least, arithmetic.zero) for each, least in zip((a, b), arithmetic.least[:2], strict=True)
        )
        self._work = np.empty(_TILE, np.int16), np.empty(_TILE)

    def of(self, tile: Tile, c: Values) -> Values:
        """Return a tile of the result; ``c`` is the same part of C."""
        a, b = (_part(each, tile) for each in self.factors)
        exponents_a, exponents_b = (_part(each, tile) for each in self.exponents)
        special = self.special and tuple(_part(each, tile) for each in self.special)
        for start in range(0, len(a), self.arithmetic.at_once):
            step = slice(start, start + self.arithmetic.at_once)
            total = self._step(a[step], b[step], exponents_a[step], exponents_b[step], c)
            if special or not np.isfinite(c).all():
                left, right = special or (a, b)
                total = _with_special_values(total, left[step], right[step], c)
            c = total
        return c

    def _step(self, a: Values, b: Values, exponents_a: Values, exponents_b: Values, c: Values) -> Values:
        """Compute one step; operands that are no numbers count as zero."""
        arithmetic = self.arithmetic
        if not np.isfinite(c).all():
            c = np.where(np.isfinite(c), c, 0.0)
        largest = np.maximum(_exponents(c, arithmetic.least[2], arithmetic.zero_of_c), np.int16(arithmetic.floor))
        group = max(1, _TILE // max(1, c.size))
        groups = [slice(start, start + group) for start in range(0, len(a), group)]
        sums = self._work[0][: group * c.size].reshape(group, *c.shape)
        for ks in groups:
            left = exponents_a[ks]
            _gather(np.maximum, largest, np.add(left, exponents_b[ks], out=sums[: len(left)]))
        scale = _powers(arithmetic.kept - largest)
        total = np.trunc(c * scale)
        products = self._work[1][: group * c.size].reshape(group, *c.shape)
        for ks in groups:
            left = a[ks]
            terms = np.multiply(left, b[ks], out=products[: len(left)])
            terms *= scale
            np.trunc(terms, out=terms)
            _gather(np.add, total, terms)
        total *= _powers(largest - arithmetic.kept)
        total += 0.0  # a sum of nothing is +0
        return _rounded(total, arithmetic)


def _gather(combine: np.ufunc, total: Values, terms: Values) -> None:
    """Put ``terms`` [G, ...] into ``total`` [...]."""
    combine(total, terms[0] if len(terms) == 1 else combine.reduce(terms, axis=0), out=total)


def _with_special_values(result: Values, a: Values, b: Values, c: Values) -> Values:
    """Return ``result`` with the NaN and infinities that follow from NaN and infinities among the operands."""
    total = c.copy()
    with np.errstate(invalid="ignore"):
        for left, right in zip(a, b, strict=True):
            total += left * right
    return np.where(np.isfinite(total), result, total)


def _exponents(values: Values, least: int, zero: int | None) -> Values:
    """Return the exponents of float64 numbers; ``least`` for numbers that are subnormal in their type."""
    exponents = (values.view(np.int64) >> 52).astype(np.int16)
    exponents &= np.int16(0x7FF)
    exponents -= np.int16(1023)
    if zero is None:
        return np.maximum(exponents, np.int16(least))
    # Zero's own exponent is below everything else's.
    nothing = exponents == -1023
    np.maximum(exponents, np.int16(least), out=exponents)
    exponents[nothing] = zero
    return exponents


def _powers(exponents: Values) -> Values:
    """Return two to the power of ``exponents``, which normal float64 numbers can have."""
    biased = exponents.astype(np.int64)
    biased += 1023
    biased <<= 52
    return biased.view(np.float64)


def _rounded(total: Values, arithmetic: Arithmetic) -> Values:
    """``total`` as the result's type holds it, still in float64."""
    result = _cut_off(total, _FRACTIONS[arithmetic.result]) if arithmetic.result in _FRACTIONS else total
    if arithmetic.result in _HALVES:
        with np.errstate(over="ignore"):
            result = result.astype(np.float16).astype(np.float64)
    if not arithmetic.signed_zeros:
        result += 0.0
    return result


def _cut_off(values: Values, fraction: int) -> Values:
    """``values`` rounded toward zero to 1 + ``fraction`` bits, with the exponents of float32; infinity beyond."""
    result = (values.view(np.int64) & np.int64(-1 << (52 - fraction))).view(np.float64)
    magnitude = np.abs(result)
    tiny = magnitude < 2.0**-126
    if tiny.any():
        unit = 2.0 ** (-126 - fraction)
        result = np.where(tiny, np.trunc(result * (1 / unit)) * unit, result)
    large = magnitude >= 2.0**128
    return np.where(large, np.copysign(np.inf, result), result) if large.any() else result

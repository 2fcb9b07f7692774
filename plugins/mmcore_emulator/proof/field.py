"""Arithmetic of residues modulo two primes, as pairs of uint64 arrays.

The primes are the largest two below 2³², so that a product plus a residue fits 64 bits. A polynomial of degree d that
is not zero vanishes at random residues with a probability of at most (d / 2³²)² (Schwartz, Zippel).
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import numpy as np

from mmcore_emulator.numerics.types import Values

PRIMES = (np.uint64(4294967291), np.uint64(4294967279))
Residues: TypeAlias = tuple[Values, Values]
"""An element of the field for each lane or matrix element: uint64 modulo each of the primes."""

_LIMB = np.uint64(16)
_LEAST_EXPONENT, _LARGEST_EXPONENT = -1140, 1024


def reduced(value: Values, prime: np.uint64) -> Values:
    """Return uint64 numbers modulo a prime; numpy divides by a constant faster than it takes remainders."""
    return np.asarray(value - (value // prime) * prime)


def add(a: Residues, b: Residues) -> Residues:
    """Return a + b."""
    return _pair(lambda x, y, prime: np.where(x >= prime - y, x - (prime - y), x + y), a, b)


def subtract(a: Residues, b: Residues) -> Residues:
    """Return a − b."""
    return _pair(lambda x, y, prime: np.where(x >= y, x - y, x + (prime - y)), a, b)


def negate(a: Residues) -> Residues:
    """Return −a."""
    return _pair(lambda x, prime: np.where(x == 0, x, prime - x), a)


def multiply(a: Residues, b: Residues) -> Residues:
    """Return a · b."""
    return _pair(lambda x, y, prime: reduced(x * y, prime), a, b)


def multiply_add(a: Residues, b: Residues, c: Residues) -> Residues:
    """Return a · b + c."""
    return _pair(lambda x, y, z, prime: reduced(x * y + z, prime), a, b, c)


def matrix_product(a: Residues, b: Residues) -> Residues:
    """Return the products of matrices [..., M, K] and [..., K, N], for K below 2²⁰.

    The factors are split into halves of 16 bits, whose products and sums are exact in float64.
    """
    return _pair(_matrix_product, a, b)


def random_residues(shape: tuple[int, ...], rng: np.random.Generator) -> Residues:
    """Return residues drawn uniformly."""
    one, other = (rng.integers(0, int(prime), shape, np.uint64) for prime in PRIMES)
    return one, other


def zeros(shape: tuple[int, ...] = (1,) * 6) -> Residues:
    """Return residues of zero."""
    return np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)


def of_numbers(numbers: Values) -> Residues:
    """Return the residues of numbers, integers or finite floating-point numbers; others become zero."""
    if numbers.dtype.kind in "iub":
        return _pair(lambda x, prime: np.mod(x.astype(np.int64), np.int64(prime)).astype(np.uint64), (numbers, numbers))
    numbers = np.where(np.isfinite(numbers), numbers, 0).astype(np.float64)
    if not numbers.any():
        return zeros(numbers.shape)
    fraction, exponent = np.frexp(numbers)
    whole = np.ldexp(fraction, 53).astype(np.int64)
    places = np.where(whole == 0, 0, exponent - 53) - _LEAST_EXPONENT
    one, other = (
        reduced(np.mod(whole, np.int64(prime)).astype(np.uint64) * _powers(number)[places], prime)
        for number, prime in enumerate(PRIMES)
    )
    return one, other


def inverse(a: Residues) -> Residues:
    """Return 1 / a; 0 for 0."""

    def powers(x: Values, prime: np.uint64) -> Values:
        result, base, exponent = np.ones_like(x), x, int(prime) - 2
        while exponent:
            if exponent & 1:
                result = reduced(result * base, prime)
            base, exponent = reduced(base * base, prime), exponent >> 1
        return result

    return _pair(powers, a)


def equal(a: Residues, b: Residues) -> Values:
    """Return True where residues are equal."""
    return np.asarray((a[0] == b[0]) & (a[1] == b[1]))


def where(chosen: Values, a: Residues, b: Residues) -> Residues:
    """Return ``a`` where a flag is true, ``b`` elsewhere."""
    return np.where(chosen, a[0], b[0]), np.where(chosen, a[1], b[1])


def _pair(function: object, *operands: Residues) -> Residues:
    one, other = (
        np.asarray(function(*(each[number] for each in operands), prime))  # type: ignore[operator]
        for number, prime in enumerate(PRIMES)
    )
    return one, other


@cache
def _powers(number: int) -> Values:
    """Return the residues of the powers of two from the least exponent on."""
    prime = int(PRIMES[number])
    powers = [pow(2, prime - 1 + _LEAST_EXPONENT % (prime - 1), prime)]
    for _ in range(_LARGEST_EXPONENT - _LEAST_EXPONENT):
        powers.append(powers[-1] * 2 % prime)
    return np.array(powers, np.uint64)


def _matrix_product(a: Values, b: Values, prime: np.uint64) -> Values:
    rows, columns = a.shape[-2], b.shape[-1]
    low = np.uint64((1 << int(_LIMB)) - 1)
    # Products of many small matrices are ten times as slow if one of them is transposed.
    left = np.concatenate([a & low, a >> _LIMB], axis=-2).astype(np.float64, order="C")
    right = np.concatenate([b & low, b >> _LIMB], axis=-1).astype(np.float64, order="C")
    product = (left @ right).astype(np.uint64)
    lowest = product[..., :rows, :columns]
    middle = product[..., :rows, columns:] + product[..., rows:, :columns]
    highest = product[..., rows:, columns:]
    high = reduced((reduced(highest, prime) << _LIMB) + middle, prime)
    return reduced((high << _LIMB) + lowest, prime)

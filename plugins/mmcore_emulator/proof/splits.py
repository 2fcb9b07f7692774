"""Numbers that a kernel splits into parts of fewer bits: x = high + low, with high = x + d and low = −d.

The conversion of an exact element to fewer bits adds an indeterminate d, its rounding error, of order 1. The same
conversion of the same number has the same error. The conversion of −d to fewer bits adds another one, of order 2. So
the parts cancel as polynomials do, and the rest of the orders 1 and 2 is an error.

An element has residues and magnitudes of the orders 0, 1 and 2, and a bound of all higher orders. A magnitude of an
order has the conversions' factor, a power of two.

The difference of two exact elements whose parts of the lowest order are equal is exact (Sterbenz): each is the other
one but for a few roundings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.numerics.types import Flags, Values
from mmcore_emulator.proof import field
from mmcore_emulator.proof.field import Residues
from mmcore_emulator.proof.values import NO_SPLITS, ORDERS, Elements

_SHIFT = (
    7  # bits that a product's magnitude is made larger by for each order above the highest, so that it has few bits
)
_MOST_BITS = 24  # of the quotient of two magnitudes
_LEAST_PLACE = 144  # of its binary places
_Operation: TypeAlias = Callable[[Residues, Residues], Residues]


def residues_of(elements: Elements) -> list[Residues]:
    """Return the residues of the orders 0, 1 and 2."""
    return [elements.residues, *(elements.splits or NO_SPLITS)[: ORDERS - 1]]


def magnitudes_of(elements: Elements) -> list[Residues]:
    """Return the magnitudes of the orders 0, 1 and 2, and the bound of the higher ones."""
    return [elements.magnitudes, *(elements.splits or NO_SPLITS)[ORDERS - 1 :]]


def with_orders(elements: Elements, residues: Sequence[Residues], magnitudes: Sequence[Residues]) -> Elements:
    """Return elements with other residues and magnitudes of each order."""
    splits = (*residues[1:], *magnitudes[1:])
    return replace(elements, residues=residues[0], magnitude=magnitudes[0], splits=splits)


def is_zero(elements: Elements) -> Values:
    """Return True where an element is zero; one of a matrix hardly ever is."""
    zero = (elements.residues[0] == 0) & (elements.residues[1] == 0) & (elements.opaque == 0)
    return np.asarray(reduce(np.bitwise_and, map(_is_none, elements.splits or ()), zero))


def is_exact(elements: Elements) -> Flags:
    """Return True where an element is its polynomial, without a rounding error."""
    exact = np.asarray(elements.error == 0)
    return exact if elements.splits is None else np.asarray(exact & _is_none(elements.splits[-1]))


class Symbols:
    """The indeterminates of roundings: pseudorandom functions of the numbers that are rounded."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._keys: dict[str, NDArray[np.uint64]] = {}

    def of(self, conversion: str, numbers: Sequence[Residues]) -> Residues:
        """Return the indeterminates of the roundings of exact numbers, by the residues of all their orders."""
        if conversion not in self._keys:
            self._keys[conversion] = self._rng.integers(0, 1 << 64, 2, np.uint64, endpoint=False)
        one, other = (
            field.reduced(reduce(_mixed, (each for pair in numbers for each in pair), key), prime)
            for key, prime in zip(self._keys[conversion], field.PRIMES, strict=True)
        )
        return one, other


def _mixed(state: Values, number: Values) -> Values:
    """Return a state of 64 bits that depends on another state and a number."""
    with np.errstate(over="ignore"):
        state = (state ^ number) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(state ^ (state >> np.uint64(31)))


def narrowed(elements: Elements, unit: float, symbols: Symbols, conversion: str) -> Elements:
    """Return the conversion of elements to fewer bits, with relative errors up to ``unit``."""
    exact = is_exact(elements)
    error = np.where(exact, elements.error, elements.error + unit + elements.error * unit)
    residues, magnitudes = residues_of(elements), magnitudes_of(elements)
    added = symbols.of(conversion, residues)
    amount = field.multiply(reduce(field.add, magnitudes), field.of_numbers(np.array(unit)))
    below = exact
    for order in range(1, ORDERS + 1):
        here = below & ~_is_none(residues[order - 1]) if order < ORDERS else below
        below = below & ~here
        if order < ORDERS:
            residues[order] = field.where(here, field.add(residues[order], added), residues[order])
        magnitudes[order] = field.where(here, field.add(magnitudes[order], amount), magnitudes[order])
    return replace(with_orders(elements, residues, magnitudes), error=error)


def negated(elements: Elements) -> Elements:
    """Return elements times −1."""
    residues = [field.negate(each) for each in residues_of(elements)]
    if elements.splits is None:
        return replace(elements, residues=residues[0], magnitude=elements.magnitudes)
    return with_orders(elements, residues, magnitudes_of(elements))


def total(one: Elements, other: Elements, of_residues: _Operation, unit: Values | float) -> tuple[Elements, Values]:
    """Return a sum or difference of elements without its rounding, and the unit of the rounding in each lane."""
    residues = [of_residues(*each) for each in zip(residues_of(one), residues_of(other), strict=True)]
    magnitudes = [field.add(*each) for each in zip(magnitudes_of(one), magnitudes_of(other), strict=True)]
    cancels, above = np.zeros((), np.bool_), np.ones((), np.bool_)
    for left, right, made in zip(residues_of(one), residues_of(other), residues, strict=True):
        some = ~(_is_none(left) & _is_none(right))
        cancels, above = cancels | (above & some & _is_none(made)), above & ~some
    exact = (cancels | above) & is_exact(one) & is_exact(other)
    for order, made in enumerate(residues):
        magnitudes[order] = field.where(exact & _is_none(made), field.zeros(()), magnitudes[order])
    return with_orders(one, residues, magnitudes), np.where(exact, 0.0, unit)


def product(one: Elements, other: Elements, multiply: _Operation, added: Elements | None = None) -> Elements:
    """Return products of elements, or of matrices of them, plus further ones, without rounding or errors."""
    start = added or replace(one, residues=field.zeros(()), magnitude=None, splits=None)
    residues, magnitudes = residues_of(start), magnitudes_of(start)
    for orders, left, right in (
        (residues, residues_of(one), residues_of(other)),
        (magnitudes, magnitudes_of(one), magnitudes_of(other)),
    ):
        for number, a in enumerate(left):
            for place, b in enumerate(right):
                order = min(number + place, ORDERS)
                if order < len(orders) and not (_is_none(a).all() or _is_none(b).all()):
                    beyond = field.of_numbers(np.array(1 << _SHIFT * (number + place - order)))
                    orders[order] = field.add(orders[order], field.multiply(multiply(a, b), beyond))
    return with_orders(one, residues, magnitudes)


def quotients(magnitude: Residues, whole: Residues) -> Values:
    """Return the quotients of magnitudes where they are numbers of a few bits, a power of two apart; NaN elsewhere."""
    made = np.where(field.equal(magnitude, whole), 1.0, np.where(_is_none(magnitude), 0.0, np.nan))
    if not np.isnan(made).any():
        return np.asarray(made)
    of_one, of_other = field.multiply(magnitude, field.inverse(whole))
    for place in range(0, _LEAST_PLACE + 1, 8):
        first, second = field.multiply((of_one, of_other), field.of_numbers(np.array(2.0**place)))
        fits = np.isnan(made) & (first == second) & (first < 1 << _MOST_BITS)
        made = np.where(fits, first.astype(np.float64) * 2.0**-place, made)
    return np.asarray(made)


def bounds(elements: Elements, whole: Residues, part: Residues) -> Values:
    """Return bounds of the errors of elements relative to the magnitudes ``whole``; NaN where they are unknown.

    ``part`` is less than ``whole``: the orders above 0 may be those of a part of the sum.
    """
    first, *others = magnitudes_of(elements)
    sizes = [quotients(first, whole), *(np.fmin(quotients(each, whole), quotients(each, part)) for each in others)]
    left = [
        np.where(_is_none(each), 0.0, size) for each, size in zip(residues_of(elements)[1:], sizes[1:], strict=False)
    ]
    return np.asarray(elements.error * sum(sizes) + sum(left) + sizes[-1])


def _is_none(residues: Residues) -> Flags:
    return np.asarray((residues[0] == 0) & (residues[1] == 0))

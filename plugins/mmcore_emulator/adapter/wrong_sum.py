"""The products that a wrong element of C lacks, or has too often, from the residue of its difference.

A hypothesis predicts the difference as a polynomial. Residues are random, so one that predicts them is true, with an
error probability of at most 2⁻⁶⁰ for each hypothesis.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from mmcore.kernel.problem import Problem
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.proof import field
from mmcore_emulator.proof.field import PRIMES, Residues

_TILE = re.compile(r"(B|T|TILE_?|BLOCK_?)K|TILE", re.IGNORECASE)
"""Names of parameters that hold the number of products of a tile."""
_MOST_TIMES = 16
_SECONDS = 5.0  # of the runs that look for the first row of B in a wrong product
_Index: TypeAlias = int | slice | tuple[int | slice, ...]


class Term(NamedTuple):
    """Another product for each k of a range, as residues and in words."""

    products: Residues
    begin: int
    text: str


@dataclass(frozen=True)
class WrongSum:
    """An element of C that is another sum of products."""

    problem: Problem
    given: Mapping[str, Residues]  # the residues of A, B and C
    wanted: Residues  # the residues of the product
    made: Residues  # the residue of the element
    row: int
    column: int
    config: Mapping[str, object]

    @property
    def name(self) -> str:
        """The element as text."""
        return f"C[{self.row}][{self.column}]"

    def explanation(self, differs: Callable[[Mapping[str, Residues]], Residues]) -> str:
        """Return a sentence on missing products or products too many; "" if no hypothesis is true.

        ``differs`` runs the kernel on other residues and returns the difference of the element.
        """
        text = next(filter(None, self._hypotheses()), "") or self._first_wrong_row(differs)
        return text and text + self._storage(text)

    def _storage(self, text: str) -> str:
        """Return a clause with the index of an element of A or B, where ``text`` has one that is stored by columns."""
        of_columns = {"A": ("m", "lda"), "B": ("k", "ldb")}
        indexes = list[str]()
        for label, (rows, ld) in of_columns.items():
            if label in self.problem.column_major and f"{label}[" in text:
                length = rows if getattr(self.problem, ld) in (0, getattr(self.problem, rows)) else ld
                indexes.append(f"{label}[i][j] has the index j * {length} + i")
        return f"; stored by columns, {' and '.join(indexes)}" if indexes else ""

    def _hypotheses(self) -> Iterator[str]:
        terms = self._terms(self._row(self.row), self._column(self.column))
        for times in (0, 2, 3):
            yield self._range(times, _scaled(terms, times - 1))
        for step in (1 << shift for shift in range(1, self.problem.k.bit_length())):
            for first in range(step):
                some = _sum(_part(terms, slice(first, None, step)))
                which = f"for k = {first}, {first + step}, …"
                for times in (0, 2):
                    if field.equal(_scaled(some, times - 1), self.difference):
                        yield f"{self._has(self._product('k'), times)} {which}"
                if field.equal(field.subtract(some, _sum(terms)), self.difference):
                    yield f"{self.name} has {self._product('k')} only {which}"
        if self.problem.beta:
            before = _scaled(_part(self.given["C"], (self.row, self.column)), self.problem.beta)
            yield from (
                self._has(f"beta·C[{self.row}][{self.column}]", times)
                for times in (0, 2)
                if field.equal(_scaled(before, times - 1), self.difference)
            )
        without_alpha = _sum(field.multiply(self._row(self.row), self._column(self.column)))
        if field.equal(field.subtract(without_alpha, _sum(terms)), self.difference):
            yield f"{self.name} lacks the factor alpha"
        rows, columns = np.nonzero(field.equal(self.wanted, self.made))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            yield f"{self.name} is the element ({row}, {column}) of the product"
        for other in self._others():
            own = _part(terms, slice(other.begin, other.begin + len(other.products[0])))
            if found := _range(field.subtract(other.products, own), self.difference):
                begin, end = (other.begin + each for each in found)
                ks = f"k = {begin}" if end == begin + 1 else f"k = {begin} to {end - 1}"
                yield f"{self.name} has {other.text} instead of {self._product('k')} for {ks}"

    @property
    def difference(self) -> Residues:
        """The residue that the element has too much."""
        return field.subtract(self.made, _part(self.wanted, (self.row, self.column)))

    def _others(self) -> Iterator[Term]:
        """Yield products that may replace A[row][k]·B[k][column]."""
        m, n, k = self.problem.m, self.problem.n, self.problem.k
        row, column = self._row(self.row), self._column(self.column)
        for shift in sorted(range(1 - k, k), key=abs):
            here, there = slice(max(0, -shift), k - max(0, shift)), slice(max(0, shift), k - max(0, -shift))
            far = f"k{shift:+d}".replace("-", "−")
            of_a, of_b = (f"A[{self.row}][{{}}]".format, f"B[{{}}][{self.column}]".format)
            for a, b, text in (
                (there, here, f"{of_a(far)}·{of_b('k')}"),
                (here, there, f"{of_a('k')}·{of_b(far)}"),
                (there, there, f"{of_a(far)}·{of_b(far)}"),
            ):
                yield Term(self._terms(_part(row, a), _part(column, b)), here.start, text)
        for other in range(m):
            yield Term(self._terms(self._row(other), column), 0, f"A[{other}][k]·B[k][{self.column}]")
        for other in range(n):
            yield Term(self._terms(row, self._column(other)), 0, f"A[{self.row}][k]·B[k][{other}]")
        if m == k:
            turned = _part(self.given["A"], (slice(None), self.row))
            yield Term(self._terms(turned, column), 0, f"A[k][{self.row}]·B[k][{self.column}]")
        if n == k:
            turned = _part(self.given["B"], (self.column, slice(None)))
            yield Term(self._terms(row, turned), 0, f"A[{self.row}][k]·B[{self.column}][k]")

    def _first_wrong_row(self, differs: Callable[[Mapping[str, Residues]], Residues]) -> str:
        """Return a wrong product of the first row of B that has one, from runs in which elements of B are zero.

        A wrong product may have elements of A and B of different k, so the row is not a step of the kernel's loop.
        """
        end = time.monotonic() + _SECONDS

        def excess(rows: slice, columns: slice = slice(None)) -> Residues:
            b = field.zeros(self.problem.shape("B"))
            for zeros, values in zip(b, self.given["B"], strict=True):
                zeros[rows, columns] = values[rows, columns]
            return differs({**self.given, "B": b})

        if _is_zero(excess(slice(None))) or not _is_zero(excess(slice(0))):
            return ""
        rows = _first_wrong(self.problem.k, excess, end)
        row, is_one = rows.start, rows.stop - rows.start == 1
        before = f"; products with rows of B before row {row} are right" if row else ""
        which = f"row {row}" if is_one else f"rows {row} to {rows.stop - 1}"
        unknown = f"{self.name} is wrong in a product with an element of {which} of B{before}"
        if not is_one:
            return unknown
        own = excess(rows, slice(self.column, self.column + 1))
        term = self._terms(*(_part(each, rows) for each in (self._row(self.row), self._column(self.column))))
        for times in range(-_MOST_TIMES, _MOST_TIMES):
            if times and field.equal(_scaled(term, times), own):
                return f"{self._has(self._product(row), times + 1)}{self._tile(row, row + 1)}{before}"
        columns = _first_wrong(self.problem.n, lambda several: excess(rows, several), end)
        is_found = columns.stop - columns.start == 1
        other = self._other_product(row, columns.start, excess(rows, columns)) if is_found else ""
        return other or unknown

    def _other_product(self, row: int, column: int, excess: Residues) -> str:
        """Return the wrong product that has one element of B, from its excess; "" if it has no single element of A."""
        terms = self._terms(self.given["A"], _part(self.given["B"], (row, column)))
        if column == self.column:
            further = np.argwhere(field.equal(terms, excess))
            if len(further) == 1:
                of_a, k = map(int, further[0])
                instead = f", where the product has {self._product(k)}" if of_a == self.row else ""
                return f"{self.name} has A[{of_a}][{k}]·B[{row}][{column}] besides {self._product(row)}{instead}"
            terms = field.subtract(terms, _part(terms, (self.row, row)))
        places = np.argwhere(field.equal(terms, excess))
        if len(places) != 1:
            return ""
        of_a, k = map(int, places[0])
        text = f"{self.name} has A[{of_a}][{k}]·B[{row}][{column}]"
        if column == self.column:
            return f"{text} instead of {self._product(row)}"
        return f"{text}, where the product has {self._product(k)}" if of_a == self.row else f"{text}, no product of it"

    def _has(self, product: str, times: int) -> str:
        if not times:
            return f"{self.name} lacks {product}"
        return f"{self.name} has {product} {'twice' if times == 2 else f'{times} times'}"

    def _range(self, times: int, terms: Residues) -> str:
        found = _range(terms, self.difference)
        if not found:
            return ""
        begin, end = found
        k = self.problem.k
        if end - begin == 1:
            return f"{self._has(self._product(begin), times)}{self._tile(begin, end)}"
        several = self._has(self._product("k"), times)
        if (begin, end) == (0, k):
            return f"{several} for every k"
        which = "the first " if begin == 0 else "the last " if end == k else ""
        return f"{several} for k = {begin} to {end - 1}, {which}{end - begin} of {k}{self._tile(begin, end)}"

    def _tile(self, begin: int, end: int) -> str:
        """Return the tile that a range of k is, or begins or ends, where a parameter has the size of a tile."""
        for name, size in self.config.items():
            if not (isinstance(size, int) and _TILE.fullmatch(name) and 1 < size < self.problem.k):
                continue
            tile = f"tile {begin // size + 1} of {-(-self.problem.k // size)} by {name} = {size}"
            last = min(self.problem.k, (begin // size + 1) * size)
            if begin % size == 0 and end == last:
                return f"; that is {tile}"
            if end == begin + 1 and (begin % size == 0 or end == last):
                return f"; k = {begin} is the {'last' if begin % size else 'first'} of {tile}"
        return ""

    def _product(self, k: object) -> str:
        return f"A[{self.row}][{k}]·B[{k}][{self.column}]"

    def _row(self, row: int) -> Residues:
        return _part(self.given["A"], row)

    def _column(self, column: int) -> Residues:
        return _part(self.given["B"], (slice(None), column))

    def _terms(self, a: Residues, b: Residues) -> Residues:
        return _scaled(field.multiply(a, b), self.problem.alpha)


def _first_wrong(count: int, excess: Callable[[slice], Residues], end: float) -> slice:
    """Return the first of some rows or columns with an excess, or at ``end`` a range that it is in."""
    right, wrong = 0, count
    while wrong - right > 1 and time.monotonic() < end:
        middle = (right + wrong) // 2
        right, wrong = (middle, wrong) if _is_zero(excess(slice(middle))) else (right, middle)
    return slice(right, wrong)


def _range(terms: Residues, total: Residues) -> tuple[int, int] | None:
    """Return the range of terms whose sum is ``total``; None if there is none."""
    sums = []
    for each, prime in zip(terms, PRIMES, strict=True):
        sums.append(field.reduced(np.concatenate([[np.uint64(0)], np.cumsum(each)]), prime))
    before = _keys((sums[0], sums[1]))
    without = _keys(field.subtract((sums[0], sums[1]), total))
    _, begins, ends = np.intersect1d(before, without, return_indices=True)
    return next(((int(b), int(e)) for b, e in zip(begins, ends, strict=True) if b < e), None)


def _keys(residues: Residues) -> Values:
    return np.asarray((residues[0] << np.uint64(32)) | residues[1])


def _part(residues: Residues, index: _Index) -> Residues:
    """Return some residues, as an array; numpy warns where a scalar overflows."""
    one, other = (np.atleast_1d(each[index]) for each in residues)
    return one, other


def _scaled(residues: Residues, factor: float) -> Residues:
    return field.multiply(residues, field.of_numbers(np.array([factor])))


def _sum(residues: Residues) -> Residues:
    one, other = (field.reduced(each.sum(keepdims=True), prime) for each, prime in zip(residues, PRIMES, strict=True))
    return one, other


def _is_zero(residues: Residues) -> bool:
    return not (residues[0].any() or residues[1].any())

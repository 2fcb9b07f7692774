"""The sizes along which the subscripts of a kernel's arrays run: ``B[col, p]`` is an array of n×k."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mmcore_sources.cuda_file.inference.body import Body, Term
from mmcore_sources.cuda_file.inference.size_names import SIDES

_BLOCKS = frozenset(("blockIdx.x", "blockIdx.y"))


@dataclass(frozen=True)
class Subscripts:
    """The subscripts of a kernel's arrays of two axes, in its sketch.

    Attributes:
        body: the body of the sketch, in which ``B_shape_1`` is the factor of the first subscript of ``B``.
        names: the parameters that are arrays of two axes, by matrix.
    """

    body: Body
    names: Mapping[str, str]

    @functools.cached_property
    def exchanged(self) -> frozenset[str]:
        """The matrices whose first subscript runs along their columns, or whose second one along their rows."""
        return frozenset(matrix for matrix in self.names if self._is_exchanged(matrix))

    @functools.cached_property
    def compared(self) -> Mapping[str, frozenset[bool]]:
        """The votes of comparisons with each matrix's shape: True for a transposed array; empty without any."""
        votes = {matrix: set[bool]() for matrix in self.names}
        for left, right in self.body.guards:
            sizes = self._sizes_of(self._indexes(self.body.terms(left)))
            words = _words(self.body.terms(right))
            for matrix, name in self.names.items():
                for axis, usual in enumerate(SIDES[matrix]):
                    if f"{name}_shape_{axis}" in words and len(sizes & {*SIDES[matrix]}) == len(sizes) == 1:
                        votes[matrix].add(usual not in sizes)
        return {matrix: frozenset(several) for matrix, several in votes.items()}

    def _is_exchanged(self, matrix: str) -> bool:
        first, second = map(self._sizes_of, self._of(matrix))
        rows, columns = tuple(SIDES[matrix])
        return rows not in first and columns not in second and (columns in first or rows in second)

    @functools.cached_property
    def _sizes(self) -> dict[str, str]:
        """The size along which each index runs: of blocks, or the variable of a loop."""
        pairs = list(self._pairs("A", "m")) + list(self._pairs("B", "n"))
        of_k = {index for index, size in pairs if size == "k"}
        for matrix, size in (("A", "m"), ("B", "n")):  # a loop may run over all rows, or all columns
            one, other = self._of(matrix)
            if not (one | other) & _BLOCKS and bool(one & of_k) != bool(other & of_k):
                pairs += [(index, size) for index in (other if one & of_k else one)]
        sizes: dict[str, set[str]] = {}
        for index, size in pairs:
            sizes.setdefault(index, set()).add(size)
        return {index: min(several) for index, several in sizes.items() if len(several) == 1}

    def _pairs(self, matrix: str, size: str) -> Iterator[tuple[str, str]]:
        """Yield the indexes of a matrix with their sizes: those beside an index of a block run along ``size``."""
        one, other = self._of(matrix)
        if bool(one & _BLOCKS) != bool(other & _BLOCKS):
            outer, inner = (one, other) if one & _BLOCKS else (other, one)
            yield from ((index, size) for index in outer)
            yield from ((index, "k") for index in inner)

    def _of(self, matrix: str) -> tuple[set[str], set[str]]:
        """Return the indexes in the first and in the second subscript of an array; none if it has no subscripts."""
        first, second = set[str](), set[str]()
        row = f"{self.names.get(matrix, '')}_shape_1"
        for terms in self.body.indexes(self.names[matrix]) if matrix in self.names else ():
            first |= self._indexes(term for term in terms if row in term)
            second |= self._indexes(term for term in terms if row not in term)
        return first, second

    def _indexes(self, terms: Iterable[Term]) -> set[str]:
        return _words(terms) & (_BLOCKS | self.body.variables.changing)

    def _sizes_of(self, indexes: Iterable[str]) -> set[str]:
        return {self._sizes[index] for index in indexes if index in self._sizes}


def _words(terms: Iterable[Term]) -> set[str]:
    return {word for term in terms for factor in term for word in factor.split()}

"""The matrices and sizes of a kernel by their names in its source, and the place of an element in its matrix."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mmcore_cuda.cuda_source.tree import Node, text_of
from mmcore_sources.cuda_file.inference.size_names import SIDES

_WEAKER = re.compile(r"[&|^?<>=)(].*[(]|[&|^?<>=]")  # operators that bind less than a comparison, and more parentheses


@dataclass(frozen=True)
class Place:
    """The place of an element in its stored matrix, each as an expression: its row and column, and their bounds."""

    row: str
    rows: str
    column: str
    length: str

    @property
    def inside(self) -> list[str]:
        """The conditions that the element is in the matrix."""
        return [f"{self.row} < {self.rows}", f"{self.column} < {self.length}"]

    @property
    def outside(self) -> str:
        """The condition that it is not."""
        return f"{self.row} >= {self.rows} || {self.column} >= {self.length}"


@dataclass(frozen=True)
class Operands:
    """The names of a kernel's matrices and sizes.

    Attributes:
        matrices: the matrix of each pointer, by name: "A", "B", "C".
        sizes: the role of each size, by name: "m", "n", "k", "lda", "ldb", "ldc".
        column_major: the matrices that are stored by columns.
        zero: an element 0 in C++.
    """

    matrices: Mapping[str, str]
    sizes: Mapping[str, str]
    column_major: str
    zero: str

    def extents(self, matrix: str) -> tuple[str, str]:
        """Return the names of the number of rows and of their length, as stored; "" for unknown ones."""
        names = {role: name for name, role in self.sizes.items()}
        order = SIDES[matrix][::-1] if matrix in self.column_major else SIDES[matrix]
        square = next(iter(names.values())) if len(names) == 1 else ""
        rows, length = (names.get(role, square) for role in order)
        return rows, length

    def strides(self, matrix: str) -> set[str]:
        """Return the names of the length of a row in memory."""
        leading = f"ld{matrix.lower()}"
        return {self.extents(matrix)[1], *(name for name, role in self.sizes.items() if role == leading)} - {""}

    def is_element(self, node: Node, matrices: str) -> bool:
        """Return whether a node is a subscript of one of some matrices."""
        return node.type == "subscript_expression" and self.matrices.get(text_of(node.children[0]), "-") in matrices

    def place(self, element: Node) -> Place | None:
        """Return the place of ``X[row * length + column]``; None for other indexes."""
        matrix = self.matrices[text_of(element.children[0])]
        rows, length = self.extents(matrix)
        strides, row, others = self.strides(matrix), "", list[str]()
        for summand in _summands(element.children[1].named_children[0]):
            left, sign, right = map(text_of, summand.children) if summand.type == "binary_expression" else ("", "", "")
            if sign == "*" and {left, right} & strides and not row:
                row = left if right in strides else right
            else:
                others.append(text_of(summand))
        if row.startswith("(") and row.endswith(")") and not _WEAKER.search(row):
            row = row[1:-1]
        return Place(row, rows, " + ".join(others), length) if row and others and rows and length else None


def _summands(node: Node) -> Iterator[Node]:
    if node.type == "binary_expression" and text_of(node.children[1]) == "+":
        yield from _summands(node.children[0])
        yield from _summands(node.children[2])
    else:
        yield node

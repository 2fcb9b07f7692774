"""The parts of C that a kernel's blocks compute, from the index of its stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mmcore_sources.cuda_file.inference.body import Body, Term, built_in


@dataclass(frozen=True)
class Layout:
    """The mapping of a grid's blocks to C."""

    rows: str  # the axis of the grid for the rows of C, and below for its columns; empty for none
    columns: str
    height: tuple[str, ...] = ()  # factors of a block's index that make the rows and columns of a tile
    width: tuple[str, ...] = ()
    threads: frozenset[str] = frozenset()  # the axes of the block that are used
    tall: tuple[str, ...] = ()  # factors of a thread's index that make the rows and columns which a thread computes
    wide: tuple[str, ...] = ()
    flat: bool = False  # True if one index counts the elements of C

    def turned(self) -> Layout:
        """Return the layout for a C that is stored by columns."""
        turned = replace(self, rows=self.columns, columns=self.rows, height=self.width, width=self.height)
        return replace(turned, tall=self.wide, wide=self.tall)


def layout_of(body: Body, c: str, strides: set[str]) -> Layout | None:
    """Return how a kernel's blocks cover C, according to the index of its stores; None if that is unclear."""
    for terms in body.indexes(c):
        rows = [term for term in terms if strides & set(term)]
        columns = [term for term in terms if not strides & set(term)]
        threads = frozenset(axis for term in terms for kind, axis in built_in(term) if kind == "threadIdx")
        of_rows, of_columns = ({axis: term for term in part for kind, axis in built_in(term) if kind == "blockIdx"}
                               for part in (rows, columns))  # fmt: skip
        if len(of_rows) > 1 or len(of_columns) > 1:
            continue
        row, column = next(iter(of_rows), ""), next(iter(of_columns), "")
        if not row and not column:
            continue
        height, width = (_others(part, strides) for part in (of_rows.get(row), of_columns.get(column)))
        if row == column:
            width = _step_of_quotient(of_columns[column])
        if row == column or (not row and not rows):
            return Layout(row, column, (), width, threads, flat=True)
        tall, wide = (_of_thread(part, axis, strides) for part, axis in ((rows, row), (columns, column)))
        return Layout(row, column, height, width, threads, tall, wide)
    return None


def _of_thread(terms: Sequence[Term], axis: str, strides: set[str]) -> tuple[str, ...]:
    """Return the factors other than a thread's index and the length of a row."""
    index = f"threadIdx.{axis}"
    return next(
        (tuple(each for each in term if each != index and each not in strides) for term in terms if index in term), ()
    )


def _step_of_quotient(term: Term) -> tuple[str, ...]:
    """Return the factor of a block's index within a remainder: ``(blockIdx.x * blockDim.x + threadIdx.x) % n``."""
    words = next((factor for factor in term if factor.startswith("blockIdx")), "").split()
    return tuple(word for word in words[1:2] if not word.startswith("threadIdx"))


def _others(term: Term | None, strides: set[str]) -> tuple[str, ...]:
    """Return the factors other than a block's index and the length of a row."""
    return tuple(each for each in term or () if not each.startswith("blockIdx") and each not in strides)

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
    flat: bool = False  # True if one index counts the elements of C, or its tiles
    of_tiles: bool = False  # True if that is the index of a block alone
    down: tuple[str, ...] = ()  # factors of a loop's variable: the rows and columns between a thread's elements
    across: tuple[str, ...] = ()
    several: bool = False  # True if a thread computes several elements: a loop's variable is in the index, or others
    why: str = "the source's index into C"  # what shows the mapping

    def turned(self) -> Layout:
        """Return the layout for a C that is stored by columns."""
        turned = replace(self, rows=self.columns, columns=self.rows, height=self.width, width=self.height)
        return replace(turned, tall=self.wide, wide=self.tall, down=self.across, across=self.down)


def layout_of(body: Body, c: str, strides: set[str], *, batch: bool = False) -> Layout | None:
    """Return how a kernel's blocks cover C, according to the index of its stores; None if that is unclear.

    An index that divides those of threads, or has none, says less about the block than another one. Blocks along z
    count the products of a ``batch``.
    """
    indexes = ([term for term in index if not (batch and "blockIdx.z" in term)] for index in body.indexes(c))
    for terms in sorted(indexes, key=lambda each: (_divides_threads(each), not any(map(_is_of_thread, each)))):
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
            return Layout(row, column, (), width, threads, flat=True, of_tiles=_is_of_tiles(of_columns.get(column)))
        tall, wide = (_of_thread(part, axis, strides) for part, axis in ((rows, row), (columns, column)))
        single = all(len(set(term) - strides) == 1 for term in filter(_is_of_thread, terms))
        down, across = (_between(part, body.variables.changing, strides) if single else () for part in (rows, columns))
        tiled = (*(rows if row else ()), *(columns if column else ()))  # else a loop covers all rows or columns
        looped = any(body.variables.changing & set(term) for term in tiled)
        several = looped or any(set(other) != set(terms) for other in body.indexes(c))
        return Layout(row, column, height, width, threads, tall, wide, down=down, across=across, several=several)
    return None


def _divides_threads(terms: Sequence[Term]) -> bool:
    """Return whether an index has a quotient or remainder of a thread's index."""
    return any("threadIdx" in factor and " " in factor for term in terms for factor in term)


def _between(terms: Sequence[Term], changing: set[str], strides: set[str]) -> tuple[str, ...]:
    """Return the factors of the loop's variable that moves a thread over a side, 1 for the whole side; empty for none.

    A thread's index with further factors may be that of a warp, or of several elements.
    """
    of_loops = [term for term in terms if changing & set(term)]
    of_threads = [term for term in terms if _is_of_thread(term)]
    if len(of_loops) != 1 or len(of_threads) > 1:
        return ()
    return tuple(each for each in of_loops[0] if each not in changing | strides) if of_threads else ("1",)


def _is_of_thread(term: Term) -> bool:
    return any(kind == "threadIdx" for kind, _ in built_in(term))


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


def _is_of_tiles(term: Term | None) -> bool:
    """Return whether a quotient or remainder in a term contains the index of a block, and not that of a thread."""
    quotients = [factor.split() for factor in term or () if factor.startswith("blockIdx") and " " in factor]
    return any(not any(word.startswith("threadIdx") for word in words) for words in quotients)


def _others(term: Term | None, strides: set[str]) -> tuple[str, ...]:
    """Return the factors other than a block's index and the length of a row."""
    return tuple(each for each in term or () if "blockIdx" not in each and each not in strides)

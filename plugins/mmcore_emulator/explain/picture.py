"""Pictures: cells in rows and columns, as text of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

WIDTH = 80
"""Columns of a terminal that every text fits into."""


@dataclass(frozen=True)
class Cell:
    """A cell."""

    text: str
    shade: int = 0  # number of its colour; cells of one number belong together
    conflict: bool = False  # whether it is marked, in text with a star

    def __str__(self) -> str:
        return f"{self.text}*" if self.conflict else self.text


@dataclass(frozen=True)
class Picture:
    """Cells, with headings and sentences."""

    title: str
    rows: tuple[str, ...]  # headings
    columns: tuple[str, ...]  # headings
    cells: Mapping[tuple[int, int], Cell]  # by the numbers of their row and column
    notes: tuple[str, ...] = ()  # sentences below the cells
    groups: tuple[tuple[str, int], ...] = ()  # headings above so many columns each, of all columns in order; or none
    corner: str = ""  # what the columns' headings count

    @property
    def cell_width(self) -> int:
        """Characters of the widest cell or heading of columns."""
        widths = [len(text) for text in (*self.columns, *map(str, self.cells.values()))]
        return max([*widths, *(-(-(len(text) + 1) // count) - 1 for text, count in self.groups)], default=1)

    @property
    def label_width(self) -> int:
        """Characters of the widest heading of a row."""
        return max(map(len, (*self.rows, self.corner)))

    def text(self) -> str:
        """Return the picture in lines of at most 80 characters; columns that do not fit follow below the others."""
        panels = ["\n".join(self._panel(columns)) for columns in self._panels()]
        notes = "\n".join(line for note in self.notes for line in textwrap.wrap(note, WIDTH))
        return "\n\n".join(filter(None, ["\n".join(textwrap.wrap(self.title, WIDTH)), *panels, notes]))

    def _panels(self) -> Iterator[list[int]]:
        """Yield the columns side by side: whole groups, or parts of a wide group that are about as wide."""
        most = max(1, (WIDTH - self.label_width) // (self.cell_width + 1))
        panel: list[int] = []
        first = 0
        for _, count in self.groups or (("", len(self.columns)),):
            if len(panel) + count > most:
                yield from filter(None, [panel])
                panel = []
            columns = [*panel, *range(first, first + count)]
            size = -(-len(columns) // -(-len(columns) // most))
            *full, panel = [columns[begin : begin + size] for begin in range(0, len(columns), size)]
            yield from full
            first += count
        yield panel

    def _panel(self, columns: list[int]) -> Iterator[str]:
        width, first, groups = self.cell_width, 0, []
        for text, count in self.groups:
            if inside := sum(first <= column < first + count for column in columns):
                groups.append(text.ljust(inside * (width + 1) - 1))
            first += count
        headings = [self.columns[column].rjust(width) for column in columns]
        lines = [("", groups)] if self.groups else []
        lines.append((self.corner, headings))
        for row, heading in enumerate(self.rows):
            lines.append((heading, [str(self.cells.get((row, column), "")).rjust(width) for column in columns]))
        for heading, cells in lines:
            yield " ".join([heading.ljust(self.label_width), *cells]).rstrip()

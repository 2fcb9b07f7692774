"""A picture: cells in rows and columns, as text of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

WIDTH = 80
"""Columns of a terminal that every text fits into."""


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes:
        text: what stands in it.
        shade: number of its colour; cells of one number belong together.
        conflict: whether it is marked, in text with a star.
    """

    text: str
    shade: int = 0
    conflict: bool = False

    def __str__(self) -> str:
        return f"{self.text}*" if self.conflict else self.text


@dataclass(frozen=True)
class Picture:
    """Cells, with headings and sentences.

    Attributes:
        title: what it shows.
        rows, columns: headings.
        cells: by the numbers of their row and column.
        notes: sentences below it.
        groups: headings above the columns, and how many columns each is for; none, or all columns in order.
        corner: what the columns' headings count.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[int, int], Cell]
    notes: tuple[str, ...] = ()
    groups: tuple[tuple[str, int], ...] = ()
    corner: str = ""

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
        """The picture in lines of at most 80 characters; columns that do not fit stand below the others."""
        label = self.label_width
        panels = ["\n".join(self._panel(columns, label)) for columns in self._panels(WIDTH - label)]
        notes = "\n".join(line for note in self.notes for line in textwrap.wrap(note, WIDTH))
        return "\n\n".join(filter(None, ["\n".join(textwrap.wrap(self.title, WIDTH)), *panels, notes]))

    def _panels(self, width: int) -> Iterator[list[int]]:
        """Numbers of the columns that stand beside each other: whole groups, or as many in each panel."""
        most = max(1, width // (self.cell_width + 1))
        panel: list[int] = []
        first = 0
        for _, count in self.groups or (("", len(self.columns)),):
            if len(panel) + count > most:
                yield from filter(None, [panel])
                panel = []
            columns = [*panel, *range(first, first + count)]
            panels = -(-len(columns) // most)
            size = -(-len(columns) // panels)
            *whole, panel = [columns[begin : begin + size] for begin in range(0, len(columns), size)]
            yield from whole
            first += count
        yield panel

    def _panel(self, columns: list[int], label: int) -> Iterator[str]:
        width = self.cell_width
        if self.groups:
            headings = [text.ljust(count * (width + 1) - 1) for text, count in self._groups_of(columns)]
            yield _line("", headings, label)
        yield _line(self.corner, [self.columns[column].rjust(width) for column in columns], label)
        for row, heading in enumerate(self.rows):
            cells = [str(self.cells.get((row, column), "")).rjust(width) for column in columns]
            yield _line(heading, cells, label)

    def _groups_of(self, columns: list[int]) -> Iterator[tuple[str, int]]:
        """The headings above some columns, and above how many of these each stands."""
        first = 0
        for text, count in self.groups:
            here = sum(first <= column < first + count for column in columns)
            if here:
                yield text, here
            first += count


def _line(heading: str, cells: list[str], label: int) -> str:
    return " ".join([heading.ljust(label), *cells]).rstrip()

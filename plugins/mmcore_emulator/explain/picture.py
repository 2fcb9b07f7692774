"""Pictures: cells in rows and columns, as text of 80 columns and as SVG."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

WIDTH = 80
"""Columns of a terminal that every text fits into."""
_CHARACTER, _HEIGHT, _MARGIN, _GAP = 7.3, 20, 16, 28
_TITLE = 100  # characters of a line of a title or note
_SHADES = ("#dbeafe", "#dcfce7", "#fef3c7", "#fae8ff", "#cffafe", "#e0e7ff", "#ecfccb", "#f5f5f4")
_CONFLICT = "#fca5a5"
_FONT = "font-family='ui-monospace, Menlo, Consolas, monospace' font-size='12'"


@dataclass(frozen=True)
class Cell:
    """A cell."""

    text: str
    shade: int = 0  # number of its colour; cells of one number belong together
    conflict: bool = False  # whether it is marked, in text with a star

    def __str__(self) -> str:
        return f"{self.text}*" if self.conflict else self.text


MANY_LANES = "5×3 are lane 5 and two more that want the same."
"""The sentence that explains :func:`lanes_text` below a picture."""


def lanes_text(lanes: Sequence[int]) -> str:
    """Return the text of a cell: the first lane, and how many lanes there are if they are several."""
    return f"{lanes[0]}×{len(lanes)}" if len(lanes) > 1 else str(lanes[0])


def warp_text(warp: int, block: tuple[int, ...]) -> str:
    """Return the name of a warp: "warp 3 in block (0, 1)"; z is left out if it is 0."""
    return f"warp {warp} in block ({', '.join(map(str, block if block[2] else block[:2]))})"


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


def svg_of(pictures: Sequence[Picture]) -> str:
    """Return all pictures in one drawing, one below the other."""
    parts: list[str] = []
    width, top = 0.0, float(_MARGIN)
    for picture in pictures:
        lines, right, bottom = _drawn(picture, top)
        parts += lines
        width, top = max(width, right), bottom + _GAP
    size = f"width='{width + 2 * _MARGIN:.0f}' height='{top - _GAP + _MARGIN:.0f}'"
    head = f"<svg xmlns='http://www.w3.org/2000/svg' {size} {_FONT}>"
    return "\n".join([head, "<rect width='100%' height='100%' fill='white'/>", *parts, "</svg>\n"])


def _drawn(picture: Picture, top: float) -> tuple[list[str], float, float]:
    """Return the elements of a picture that begins at this height, its width and where it ends."""
    label = picture.label_width * _CHARACTER + 8
    cell = picture.cell_width * _CHARACTER + 10
    titles = textwrap.wrap(picture.title, _TITLE)
    notes = [line for note in picture.notes for line in textwrap.wrap(note, _TITLE)]
    lines = [_text(_MARGIN, top + _HEIGHT * index, line, bold=True) for index, line in enumerate(titles)]
    grid = top + _HEIGHT * len(titles) + 4
    left = _MARGIN + label
    edges = list(accumulate((count for _, count in picture.groups), initial=0))
    lines += [_text(left + edges[at] * cell + 4, grid, heading) for at, (heading, _) in enumerate(picture.groups)]
    grid += _HEIGHT * bool(picture.groups)
    lines.append(_text(_MARGIN, grid, picture.corner))
    lines += [_text(left + (at + 0.5) * cell, grid, text, middle=True) for at, text in enumerate(picture.columns)]
    grid += _HEIGHT
    lines += [_text(_MARGIN, grid + _HEIGHT * at, text) for at, text in enumerate(picture.rows)]
    lines += _cells(picture, left, grid, cell)
    below = grid + _HEIGHT * len(picture.rows) + 6
    lines += [_text(_MARGIN, below + _HEIGHT * index, line) for index, line in enumerate(notes)]
    texts = max((len(line) * _CHARACTER for line in (*titles, *notes)), default=0)
    return lines, max(label + cell * len(picture.columns), texts), below + _HEIGHT * len(notes)


def _cells(picture: Picture, left: float, top: float, width: float) -> Iterator[str]:
    for row in range(len(picture.rows)):
        for column in range(len(picture.columns)):
            content = picture.cells.get((row, column))
            shade = _SHADES[content.shade % len(_SHADES)] if content else "none"
            fill = _CONFLICT if content and content.conflict else shade
            x, y = left + column * width, top + row * _HEIGHT
            box = f"x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{_HEIGHT}'"
            yield f"<rect {box} fill='{fill}' stroke='#cbd5e1'/>"
            if content:
                yield _text(x + width / 2, y, content.text, middle=True)
    for column in list(accumulate(count for _, count in picture.groups))[:-1]:
        x, bottom = left + column * width, top + len(picture.rows) * _HEIGHT
        yield f"<line x1='{x:.1f}' y1='{top:.1f}' x2='{x:.1f}' y2='{bottom:.1f}' stroke='#334155'/>"


def _text(x: float, top: float, text: str, *, bold: bool = False, middle: bool = False) -> str:
    style = (" font-weight='bold'" if bold else "") + (" text-anchor='middle'" if middle else "")
    return f"<text x='{x:.1f}' y='{top + 14:.1f}'{style}>{escape(text)}</text>"

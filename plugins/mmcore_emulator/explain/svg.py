"""Pictures as SVG."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from itertools import accumulate

from mmcore_emulator.explain.picture import Picture

_CHARACTER, _HEIGHT, _MARGIN, _GAP = 7.3, 20, 16, 28
_TITLE = 100  # characters of a line of a title or note
_SHADES = ("#dbeafe", "#dcfce7", "#fef3c7", "#fae8ff", "#cffafe", "#e0e7ff", "#ecfccb", "#f5f5f4")
_CONFLICT = "#fca5a5"
_FONT = "font-family='ui-monospace, Menlo, Consolas, monospace' font-size='12'"


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

"""A page's document, tables, lists of facts and pictures. Every text is escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template

from mmcore.view import escaped

_LONG = 40  # rows; longer tables are folded


def document(title: str, body: Iterable[str]) -> str:
    """Return a page with a title and the elements of its body."""
    template = files(__package__).joinpath("page.template").read_text(encoding="utf-8")
    return Template(template).substitute(title=escaped(title), body="\n".join(body))


def table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table that folds; an empty text if it has no rows."""
    if not rows:
        return ""
    columns = zip(names, map(_word, rows[0]), strict=True)
    header = "".join(f'<th scope="col"{word}>{escaped(name)}</th>' for name, word in columns)
    lines = ["".join(f"<td{_word(cell)}>{escaped(cell)}</td>" for cell in row) for row in rows]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    grid = f'<div class="scroll"><table><thead><tr>{header}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
    return folded(title, grid, is_open=len(rows) <= _LONG)


def folded(title: str, element: str, *, is_open: bool) -> str:
    """Return an element below a title that a click folds."""
    return f"<details{' open' * is_open}><summary>{escaped(title)}</summary>\n{element}\n</details>"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Return names with their values; a fact without a value is skipped."""
    shown = "".join(f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in rows if value)
    return f"<dl>{shown}</dl>" if shown else ""


def picture(svg: str, words: str) -> str:
    """Return a drawing; the words describe it where it cannot be seen."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<figure><img alt="{escaped(words)}" src="data:image/svg+xml;base64,{data}"></figure>'


def _word(cell: str) -> str:
    """Return the class attribute of a cell with words; numbers are aligned on the right."""
    return ' class="word"' if cell.strip("0123456789.,") else ""

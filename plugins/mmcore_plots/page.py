"""One page with everything: figures, numbers, the machine, and what was skipped. It needs nothing from a network."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from string import Template

from mmcore_plots.drawing import NARROW, WIDE, Drawing
from mmcore_plots.figures import figures
from mmcore_plots.results import Results
from mmcore_plots.style import FAINT, INK, PALETTE, PAPER
from mmcore_plots.tables import Table, facts, tables

# The page's own colours, which change with the reader's preference for a light or a dark page.
_VARIABLES = {PAPER: "--paper", INK: "--ink", FAINT: "--faint"} | {color: f"--c{i}" for i, color in enumerate(PALETTE)}
_COLOR = re.compile("|".join(_VARIABLES))
_UNFILLED_TEXT = "<text style="
_PROLOGUE = re.compile(r"^.*?(?=<svg )", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
# What elements are called, or called by: unique in the page, where one drawing's names may be another's.
_NAMES = re.compile(r'(\bid="|"#|url\(#)')
# Longer tables are folded.
_LONG = 40
_WIDEST_WORD = 40
_NUMBER = re.compile(r"[\d.]*")


def page(found: Sequence[Results]) -> str:
    """The page of some results, as HTML.

    Raises:
        InvalidResults: there is nothing to draw of some of them.
    """
    title = " and ".join(dict.fromkeys(map(_title, found)))
    parts = [f"<h1>{escape(title)}</h1>"]
    for index, results in enumerate(found):
        if len(found) > 1:
            parts.append(f"<h2>{escape(_title(results))}</h2>")
        parts += _section(index, results)
    template = files("mmcore_plots").joinpath("page.template").read_text(encoding="utf-8")
    return Template(template).substitute(title=escape(title), body="\n".join(parts))


def _title(results: Results) -> str:
    return f"{results.experiment or 'Matrix products'} on {results.device}"


def _section(index: int, results: Results) -> Iterator[str]:
    if results.emulated:
        yield (
            '<p class="note">These are counts that an emulator made of what the code does, <strong>not times</strong>: '
            "they do not say how fast a GPU would be.</p>"
        )
    if results.quick:
        yield '<p class="note">A reduced form of the experiment (<code>--quick</code>).</p>'
    if results.shows and results.whole:
        yield f"<p>What it is to show: {escape(results.shows)}</p>"
    for number, drawing in enumerate(figures(results)):
        yield _figure(f"f{index}-{number}", drawing)
    yield from map(_table, tables(results))
    if results.left_out:
        sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in results.left_out)
        yield f"<h3>What was not run</h3>\n<ul>{sentences}</ul>"
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts(results))
    yield f"<h3>The machine</h3>\n<dl>{rows}</dl>"


def _figure(name: str, drawing: Drawing) -> str:
    """The drawing twice, for a page's width and a phone's; the page's style shows one."""
    shown = "".join(
        f'<div class="{kind}">{inlined(drawing.bare_svg(width), f"{name}-{kind}", drawing.title)}</div>\n'
        for kind, width in (("wide", WIDE), ("narrow", NARROW))
    )
    words = f"<h3>{escape(drawing.title)}</h3><p>{escape(drawing.text)}</p>"
    return f"<figure>{words}\n{shown}<figcaption>{escape(drawing.caption)}</figcaption></figure>"


def inlined(svg: str, name: str, title: str) -> str:
    """An SVG document as an element of a page, in the page's colours, its names its own."""
    svg = _METADATA.sub("", _PROLOGUE.sub("", svg), count=1)
    svg = _NAMES.sub(lambda found: f"{found[1]}{name}-", svg)
    svg = svg.replace(_UNFILLED_TEXT + '"', f'{_UNFILLED_TEXT}"fill: {INK}; ')
    svg = _COLOR.sub(lambda found: f"var({_VARIABLES[found[0]]})", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)


def _table(table: Table) -> str:
    words = [*map(_word, table.rows[0])]
    header = "".join(f'<th scope="col"{word}>{escape(n)}</th>' for n, word in zip(table.header, words, strict=True))
    rows = ["".join(f"<td{_word(cell)}>{escape(cell)}</td>" for cell in row) for row in table.rows]
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    grid = f'<div class="scroll"><table><thead><tr>{header}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
    state = "" if len(table.rows) > _LONG else " open"
    return f"<details{state}><summary>{escape(table.title)}</summary>\n{grid}\n</details>"


def _word(cell: str) -> str:
    """The class of a cell that holds words; numbers stand on the right."""
    if _NUMBER.fullmatch(cell):
        return ""
    return ' class="word long"' if len(cell) > _WIDEST_WORD else ' class="word"'

"""One page with everything: figures, numbers, the machine, and what was skipped. It needs nothing from a network."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import TypeAlias

from mmcore_plots.drawing import NARROW, WIDE, Drawing
from mmcore_plots.figures import figures
from mmcore_plots.published import published
from mmcore_plots.quantity import number
from mmcore_plots.results import Cell, Entry, Results
from mmcore_plots.style import FAINT, INK, PALETTE, PAPER

# The page's own colours, which change with the reader's preference for a light or a dark page.
_VARIABLES = {PAPER: "--paper", INK: "--ink", FAINT: "--faint"} | {color: f"--c{i}" for i, color in enumerate(PALETTE)}
_COLOR = re.compile("|".join(_VARIABLES))
_UNFILLED_TEXT = "<text style="
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
# What elements are called, or called by: unique in the page, where one drawing's names may be another's.
_NAMES = re.compile(r'(\bid="|"#|url\(#)')
# Longer tables are folded.
_LONG = 40
_WIDEST_WORD = 40
_NUMBER = re.compile(r"[\d.]*")

Columns: TypeAlias = Mapping[str, Callable[[Entry], str]]
# The columns of the tables: of all, of measured times, of an emulator's counts, and again of all.
_CELL = ("kernel", "config", "n")
_TIMES: Columns = {
    "time": lambda each: f"{each.cell.measure}, {each.cell.how}",
    "median, ms": lambda each: number(each.ms),
    "GFLOP/s": lambda each: number(each.gflops),
    "spread, %": lambda each: number(each.spread_percent),
    "of peak, %": lambda each: number(each.percent_of_peak),
}
_COUNTS: Columns = {
    "warp instructions": lambda each: number(each.instructions),
    "global sectors": lambda each: number(each.sectors),
    "useful flop per byte": lambda each: number(each.flop_per_byte),
}
_RESOURCES: Columns = {"registers": lambda each: str(each.registers), "shared, B": lambda each: str(each.shared_bytes)}


def page(found: Sequence[Results]) -> str:
    """The page of some results, as HTML; InvalidResults where there is nothing to draw of some of them."""
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
    for place, drawing in enumerate(figures(results)):
        yield _figure(f"f{index}-{place}", drawing)
    yield from filter(None, _tables(results))
    if results.left_out:
        sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in results.left_out)
        yield f"<h3>What was not run</h3>\n<ul>{sentences}</ul>"
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in _facts(results))
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
    svg = _METADATA.sub("", svg[svg.index("<svg ") :], count=1)
    svg = _NAMES.sub(lambda found: f"{found[1]}{name}-", svg)
    svg = svg.replace(_UNFILLED_TEXT + '"', f'{_UNFILLED_TEXT}"fill: {INK}; ')
    svg = _COLOR.sub(lambda found: f"var({_VARIABLES[found[0]]})", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)


def _tables(results: Results) -> Iterator[str]:
    """What was measured or counted, what the lectures published of it, and what was not measured."""
    columns = {**(_COUNTS if results.emulated else _TIMES), **_RESOURCES}
    rows = [[*_of(each.cell), *(text(each) for text in columns.values())] for each in results.entries]
    what = "What the emulator counted (no times)" if results.emulated else "What was measured"
    yield _table(f"{what}: {len(rows)} results", (*_CELL, *columns), rows)
    if not results.emulated:
        header = (*_CELL, "time", "the lecture's GPU", "its ms", "ms now", "times faster")
        yield _table("What the lecture published, and what was measured", header, [*_then_and_now(results)])
    skipped, failed = "What was skipped, and why", "What was run and has no time, and why"
    for title, cells in ((skipped, results.skipped), (failed, results.failed)):
        yield _table(title, (*_CELL, "reason"), [[*_of(each.cell), each.reason] for each in cells])


def _then_and_now(results: Results) -> Iterator[Sequence[str]]:
    now = {(*_of(each.cell), _TIMES["time"](each)): each for each in results.entries}
    for then in published():
        time = f"{then.measure}, {then.how}"
        if each := now.get((then.kernel, f"b={then.block}", str(then.n), time)):
            numbers = (f"{then.ms:.6g}", number(each.ms), number(then.ms / each.ms))
            yield [*_of(each.cell), time, then.gpu, *numbers]


def _of(cell: Cell) -> tuple[str, str, str]:
    return cell.kernel, cell.config, cell.size


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    """What is known of the machine, in words."""
    for name, value in results.machine.items():
        if isinstance(value, str | int | float | list):
            yield name.replace("_", " "), ".".join(map(str, value)) if isinstance(value, list) else str(value)
    yield "date", results.date
    yield "verified", "; ".join(sorted({entry.verification for entry in results.entries}))


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; nothing, where it has no rows."""
    if not rows:
        return ""
    columns = zip(names, map(_word, rows[0]), strict=True)
    header = "".join(f'<th scope="col"{word}>{escape(name)}</th>' for name, word in columns)
    lines = ["".join(f"<td{_word(cell)}>{escape(cell)}</td>" for cell in row) for row in rows]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    grid = f'<div class="scroll"><table><thead><tr>{header}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
    state = "" if len(rows) > _LONG else " open"
    return f"<details{state}><summary>{escape(title)}</summary>\n{grid}\n</details>"


def _word(cell: str) -> str:
    """The class of a cell that holds words; numbers stand on the right."""
    if _NUMBER.fullmatch(cell):
        return ""
    return ' class="word long"' if len(cell) > _WIDEST_WORD else ' class="word"'

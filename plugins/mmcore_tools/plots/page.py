"""A HTML page with figures, numbers, the machine, and skipped cells. It loads nothing from a network."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from string import Template

from mmcore_tools.plots.drawing import Drawing
from mmcore_tools.plots.figures import figures
from mmcore_tools.plots.published import published
from mmcore_tools.plots.results import Entry, Results, number

_LONG = 40  # rows; longer tables are folded
_CELL = ("kernel", "config", "n")  # the first columns of every table


def page(found: Sequence[Results]) -> str:
    """Return the page of some results as HTML. Raises InvalidResults if some of them cannot be drawn."""
    title = " and ".join(dict.fromkeys(map(_title, found)))
    parts = [f"<h1>{escape(title)}</h1>"]
    for results in found:
        if len(found) > 1:
            parts.append(f"<h2>{escape(_title(results))}</h2>")
        parts += _section(results)
    template = files("mmcore_tools.plots").joinpath("page.template").read_text(encoding="utf-8")
    return Template(template).substitute(title=escape(title), body="\n".join(parts))


def _title(results: Results) -> str:
    return f"{results.experiment or 'Matrix products'} on {results.device}"


def _section(results: Results) -> Iterator[str]:
    if results.emulated:
        yield (
            '<p class="note">These are counts that an emulator made of what the code does, <strong>not times</strong>: '
            "they do not say how fast a GPU would be.</p>"
        )
    if results.quick:
        yield '<p class="note">A reduced form of the experiment (<code>--quick</code>).</p>'
    if results.shows and results.whole:
        yield f"<p>What it is to show: {escape(results.shows)}</p>"
    yield from map(_figure, figures(results))
    yield from filter(None, _tables(results))
    if results.left_out:
        sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in results.left_out)
        yield f"<h3>What was not run</h3>\n<ul>{sentences}</ul>"
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in _facts(results))
    yield f"<h3>The machine</h3>\n<dl>{rows}</dl>"


def _figure(drawing: Drawing) -> str:
    words = escape(f"{drawing.title}. {drawing.text} {drawing.caption}")
    data = base64.b64encode(drawing.svg().encode()).decode()
    return f'<figure><img alt="{words}" src="data:image/svg+xml;base64,{data}"></figure>'


def _tables(results: Results) -> Iterator[str]:
    """Yield tables of the results, of the lectures' published times, and of cells without a result."""
    what = "What the emulator counted (no times)" if results.emulated else "What was measured"
    names = list(dict.fromkeys(name for each in results.entries for name in each.numbers))
    columns = [name.replace("_", " ") for name in names]
    rows = [[*_way(each), *(number(each.numbers.get(name)) for name in names)] for each in results.entries]
    yield _table(f"{what}: {len(rows)} results", (*_CELL, "measure", *columns), rows)
    header = (*_CELL, "measure", "the lecture's GPU", "its ms", "ms now", "times faster")
    yield _table("What the lecture published, and what was measured", header, [*_then_and_now(results)])
    skipped, failed = "What was skipped, and why", "What was run and has no time, and why"
    for title, entries in ((skipped, results.skipped), (failed, results.failed)):
        yield _table(title, (*_CELL, "reason"), [[*_cell(each), each.reason] for each in entries])


def _then_and_now(results: Results) -> Iterator[Sequence[str]]:
    now = {each: each.numbers.get("median_ms") for each in results.entries}
    for then in published():
        if ms := now.get(then.entry):
            yield [*_way(then.entry), then.gpu, f"{then.ms:.6g}", number(ms), number(then.ms / ms)]


def _cell(entry: Entry) -> list[str]:
    return [entry.kernel, entry.config, entry.size]


def _way(entry: Entry) -> list[str]:
    return [*_cell(entry), f"{entry.measure}, {entry.how}"]


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    for name, value in results.machine.items():
        if isinstance(value, str | int | float | list):
            yield name.replace("_", " "), ".".join(map(str, value)) if isinstance(value, list) else str(value)
    yield "date", results.date
    yield "verified", "; ".join(sorted({entry.verification for entry in results.entries}))


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; an empty text if it has no rows."""
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
    """Return the class attribute of a cell with words; numbers are aligned on the right."""
    return ' class="word"' if cell.strip("0123456789.") else ""

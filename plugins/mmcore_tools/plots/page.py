"""A HTML page with figures, numbers, the machine, and skipped cells. It loads nothing from a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from mmcore_tools.pages.html import document, facts, picture, table
from mmcore_tools.plots.drawing import Drawing
from mmcore_tools.plots.figures import figures
from mmcore_tools.plots.published import published
from mmcore_tools.plots.results import Entry, Results, number

_CELL = ("kernel", "config", "n")  # the first columns of every table


def page(found: Sequence[Results]) -> str:
    """Return the page of some results as HTML. Raises InvalidResults if some of them cannot be drawn."""
    title = " and ".join(dict.fromkeys(map(_title, found)))
    parts = [f"<h1>{escape(title)}</h1>"]
    for results in found:
        if len(found) > 1:
            parts.append(f"<h2>{escape(_title(results))}</h2>")
        parts += _section(results)
    return document(title, parts)


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
    yield f"<h3>The machine</h3>\n{facts(_facts(results))}"


def _figure(drawing: Drawing) -> str:
    return picture(drawing.svg(), f"{drawing.title}. {drawing.text} {drawing.caption}")


def _tables(results: Results) -> Iterator[str]:
    """Yield tables of the results, of the lectures' published times, and of cells without a result."""
    what = "What the emulator counted (no times)" if results.emulated else "What was measured"
    names = list(dict.fromkeys(name for each in results.entries for name in each.numbers))
    columns = [name.replace("_", " ") for name in names]
    rows = [[*_way(each), *(number(each.numbers.get(name)) for name in names)] for each in results.entries]
    yield table(f"{what}: {len(rows)} results", (*_CELL, "measure", *columns), rows)
    header = (*_CELL, "measure", "the lecture's GPU", "its ms", "ms now", "times faster")
    yield table("What the lecture published, and what was measured", header, [*_then_and_now(results)])
    skipped, failed = "What was skipped, and why", "What was run and has no time, and why"
    for title, entries in ((skipped, results.skipped), (failed, results.failed)):
        yield table(title, (*_CELL, "reason"), [[*_cell(each), each.reason] for each in entries])


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

"""Tables in Markdown, whose headers are written as in Markdown: "kernel | n | µs"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(header: str, rows: Iterable[Sequence[str]]) -> str:
    """Return a table of figures: all columns except the first are aligned to the right."""
    return _lines([header], ["---", *["---:"] * header.count(" | ")], *rows)


def words(header: str, rows: Iterable[Sequence[str]]) -> str:
    """Return a table of text."""
    return _lines([header], ["---"] * (1 + header.count(" | ")), *rows)


def _lines(*rows: Sequence[str]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def in_us(seconds: float) -> str:
    microseconds = seconds * 1e6
    return f"{microseconds:.1f}" if microseconds < 1e4 else f"{microseconds:.0f}"


def in_gflops(n: int, seconds: float) -> str:
    return f"{2 * n**3 / seconds / 1e9:.0f}"

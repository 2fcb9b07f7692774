"""Tables and figures, as Markdown has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of figures: all columns but the first to the right."""
    return _lines(header, ["---:" if index else "---" for index in range(len(header))], *rows)


def words(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of text."""
    return _lines(header, ["---"] * len(header), *rows)


def _lines(*rows: Sequence[str]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def in_us(seconds: float) -> str:
    microseconds = seconds * 1e6
    return f"{microseconds:.1f}" if microseconds < 1e4 else f"{microseconds:.0f}"


def in_gflops(n: int, seconds: float) -> str:
    return f"{2 * n**3 / seconds / 1e9:.0f}"

"""The tables of each page, read from tables.toml and written into it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from bench.studies.study import ROOT
from bench.studies.tables.table import Table


def _tables() -> dict[str, dict[str, Table]]:
    pages = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))
    for rows in pages.values():
        for row in rows.values():
            row |= rows.get(row.pop("like", ""), {}) | row
    return {page: {name: Table(**row) for name, row in rows.items()} for page, rows in pages.items()}


TABLES = _tables()


def with_tables(page: str, text: str) -> str:
    """Return a page's text with its tables between their markers.

    Raises:
        ValueError: a marker is missing.
    """
    for name, table in TABLES[page].items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end)
        if not found or begin in after:
            raise ValueError(f"{page} needs one place for the table {name!r}")
        text = before + begin + table() + end + after
    return text


def main() -> None:
    """Write the tables."""
    for page in TABLES:
        path = ROOT / page
        path.write_text(with_tables(page, path.read_text(encoding="utf-8")), encoding="utf-8")

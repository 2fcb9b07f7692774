"""Writes every table into its page."""

from __future__ import annotations

from bench.studies.study import ROOT
from bench.studies.tables.pages import TABLES, with_tables


def main() -> None:
    """Write the tables."""
    for page in TABLES:
        path = ROOT / page
        path.write_text(with_tables(page, path.read_text(encoding="utf-8")), encoding="utf-8")

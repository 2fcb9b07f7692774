"""A table of figures, made from files of results as tables.toml declares it."""

from __future__ import annotations

import importlib
import json
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from bench.studies.study import RESULTS

Row: TypeAlias = dict[str, Any]


class _Format(string.Formatter):
    """Python's formats; None is an empty cell, and "%" has a space before it."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None:
            return ""
        return percent(value, format_spec[:-1]) if format_spec.endswith("%") else format(value, format_spec)


@dataclass(frozen=True)
class Table:
    """A table in Markdown; tables.toml explains the attributes."""

    files: str = ""
    header: str = ""
    line: str = ""
    rows: str = "rows"
    arguments: Sequence[Any] = ()
    aligned: bool = True

    def __call__(self) -> str:
        """Return the table.

        Raises:
            ValueError: a file is not JSON, or lacks values of the table.
        """
        try:
            documents = [json.loads(path.read_text(encoding="utf-8")) for path in self.paths]
            lines = [self._line(row) for row in self._rows(*documents)]
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{' or '.join(self.files.split())} is damaged: {type(error).__name__}: {error}"
            ) from error
        header, *lines = [self.header, *lines] if self.header else lines
        rule = " | ".join(["---", *["---:" if self.aligned else "---"] * header.count(" | ")])
        return "".join(f"| {line} |\n" for line in (header, rule, *lines))

    @property
    def paths(self) -> Sequence[Path]:
        """The files."""
        return [RESULTS / file for file in self.files.split()]

    def _rows(self, *documents: Any) -> Iterable[Any]:
        module, _, function = self.rows.rpartition(".")
        if not module:
            return documents[0][function]  # type: ignore[no-any-return]
        make = getattr(importlib.import_module(f"bench.studies.tables.{module}"), function)
        return make(*self.arguments, *documents)  # type: ignore[no-any-return]

    def _line(self, row: Any) -> str:
        return _Format().vformat(self.line, (), row) if self.line else " | ".join(row)


def items(name: str, document: Any) -> Iterator[Row]:
    """Yield the names and values of an object in a file."""
    yield from ({"name": name, "value": value} for name, value in document[name].items())


def grouped(rows: Iterable[Row], *names: str) -> dict[Any, list[Row]]:
    """Return rows by their values of these names, or by the one value of one name, in order."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        values = tuple(row[name] for name in names)
        groups.setdefault(values if len(names) > 1 else values[0], []).append(row)
    return groups


def percent(share: float | None, form: str = ".0") -> str:
    """Return a share in percent; an empty text without one."""
    return "" if share is None else f"{100 * share:{form}f} %"

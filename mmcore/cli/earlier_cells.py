"""The statements of a notebook's earlier cells that a Python cell needs, written before the cell's text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

CELL_LINE = re.compile(r"^# %% mmcore: cell (\d+)\n", re.MULTILINE)
"""The line before each cell: its number, or 0 before the text of the cell itself."""


def with_earlier_cells(cell: str, earlier: Sequence[str], values: Mapping[str, Any]) -> str:
    """Return the text of a Python cell after the earlier statements that it needs.

    A cell with a mistake in its syntax, and one that needs none, is returned as it is.

    Args:
        cell: the text.
        earlier: the texts of the earlier cells; that of cell 1 is at index 1.
        values: the values of the session's names; a name of a number is that number.
    """
    statements = _statements(cell)
    needed = {name for each in statements for name in _used(each)} - {each for one in statements for each in _made(one)}
    if not needed:
        return cell
    kept: dict[int, list[ast.stmt]] = {}
    numbers = list[str]()
    for number in range(len(earlier) - 1, 0, -1):
        for statement in reversed(_statements(earlier[number])):
            made = needed.intersection(_made(statement))
            simple = [name for name in made if isinstance(values.get(name), int | float)]
            numbers += [f"{name} = {values[name]!r}" for name in simple]
            needed.difference_update(simple)
            if made.difference(simple):
                needed = needed - made | set(_used(statement))
                kept.setdefault(number, []).append(statement)
    parts = [f"# %% mmcore: cell {number}\n{_lines(earlier[number], kept[number])}\n" for number in sorted(kept)]
    first = "; ".join(dict.fromkeys(numbers))
    return f"{first}\n{''.join(parts)}# %% mmcore: cell 0\n{cell}" if first or parts else cell


def _statements(cell: str) -> list[ast.stmt]:
    try:
        return ast.parse(cell).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _used(statement: ast.stmt) -> Iterator[str]:
    return (each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load))


def _made(statement: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [each.asname or each.name.partition(".")[0] for each in statement.names]
    return [each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]


def _lines(cell: str, kept: Sequence[ast.stmt]) -> str:
    """Return the lines of a cell's statements at their places, and empty lines for the others."""
    lines = set[int]()
    for each in kept:
        decorators = each.decorator_list if isinstance(each, ast.FunctionDef | ast.ClassDef) else []
        first = min([each.lineno, *(decorator.lineno for decorator in decorators)])
        lines.update(range(first, (each.end_lineno or each.lineno) + 1))
    return "\n".join(line if number in lines else "" for number, line in enumerate(cell.split("\n"), 1))

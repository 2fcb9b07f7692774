"""The trial of barriers where threads of a block race."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from mmcore.kernel.declaration import Kernel
from mmcore.result import Result
from mmcore_emulator.adapter.barrier_places import BARRIER_HINT
from mmcore_emulator.adapter.statements import Statement, c_statements, python_statements
from mmcore_sources.cuda_file.hints.tried_cells import is_clean, measured, size_of
from mmcore_sources.cuda_file.repairs.trial import REPAIRED, small_cells
from mmcore_sources.python_file.extraction import FunctionInFile


def barriers(result: Result, kernel: Kernel) -> Iterator[str]:
    """Yield a hint with the barriers that make a kernel right whose threads race, if those of the races do."""
    hints = (each.hint for each in result.violations if each.source == kernel.source.name)
    found = [match for match in map(BARRIER_HINT.fullmatch, hints) if match]
    if not found or (changed := _with_barriers(kernel, found[0][1], {int(match[2]) for match in found})) is None:
        return
    cells = small_cells(result, kernel)[:1]
    if cells and all(is_clean(measured(cell, changed), changed) for cell in cells):
        lines = " and before line ".join(str(line) for line in sorted({int(match[2]) for match in found}))
        yield f"{REPAIRED} {size_of(cells[0])}, without a race, with {found[0][1]} before line {lines}"


def _with_barriers(kernel: Kernel, barrier: str, lines: Iterable[int]) -> Kernel | None:
    """Return a kernel with barriers before the statements that begin in some lines; None if they are unknown."""
    build: Any = kernel.build
    if build is None:
        text = _inserted(kernel.source_text(), c_statements(kernel.source_text()), f"{barrier}; ", lines)
        return None if text is None else replace(kernel, text=text)
    function = getattr(build, "function", None)
    if not isinstance(function, FunctionInFile):
        return None
    in_file = [line + function.lines_before for line in lines]
    text = _inserted(function.text, python_statements(function.text), f"{barrier}\n", in_file)
    return None if text is None else replace(kernel, build=replace(build, function=replace(function, text=text)))


def _inserted(text: str, statements: Sequence[Statement], barrier: str, lines: Iterable[int]) -> str | None:
    """Return a text with a barrier before each statement that begins in a line; None if one is unknown."""
    for line in sorted(lines, reverse=True):
        statement = _beginning(statements, line)
        if statement is None:
            return None
        indent = text[: statement.begin].rpartition("\n")[2] if barrier.endswith("\n") else ""
        text = f"{text[: statement.begin]}{barrier}{indent}{text[statement.begin :]}"
    return text


def _beginning(statements: Sequence[Statement], line: int) -> Statement | None:
    for each in statements:
        if each.line == line:
            return each
        if each.has(line):
            return _beginning(each.body, line)
    return None

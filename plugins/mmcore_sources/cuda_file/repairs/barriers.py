"""The trial of barriers where threads of a block race."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Dim3
from mmcore.result import Result
from mmcore_emulator.adapter.barrier_places import BARRIER_HINT
from mmcore_emulator.adapter.statements import Statement, around, c_statements, python_statements
from mmcore_sources.cuda_file.hints.tried_cells import allowed_at, is_clean, measured, size_of
from mmcore_sources.cuda_file.repairs.trial import REPAIRED, small_cells
from mmcore_sources.python_file.extraction import FunctionInFile

_OF_BLOCK, _OF_WARP, _WARP = "__syncthreads()", "__syncwarp()", 32
_DEEPER = 4  # times as many steps along k
_MOST_INSIDE = 4  # places in a loop that are tried
_THREAD = re.compile(r"\bthread \((\d+(?:, \d+)*)\) of block")


def barriers(result: Result, kernel: Kernel) -> Iterator[str]:
    """Yield the barriers that make a kernel right whose threads race, or that those which the races name do not.

    Those are tried first, then one of them alone, and others in the loop around them. A barrier at its begin orders the
    accesses of the next iteration, too, where tiles have two buffers.
    """
    races = [each for each in result.violations if each.source == kernel.source.name]
    found = [match for match in (BARRIER_HINT.fullmatch(each.hint) for each in races) if match]
    cells = small_cells(result, kernel)[:1] if found else []
    if not cells:
        return
    cells = _deeper(cells[0], kernel)
    named, barrier = sorted({int(match[2]) for match in found}), found[0][1]

    def is_mended(lines: Sequence[int], barrier: str) -> bool | None:
        """Return whether barriers mend the product; None if they cannot be tried."""
        if (changed := _with_barriers(kernel, barrier, lines)) is None:
            return None
        for cell in cells:
            if not is_clean(product := measured(cell, changed), changed):
                return None if product is None else False
        return True

    if (suffices := is_mended(named, barrier)) is None:
        return
    begins, inside = _lines_of_loops(kernel, named)
    fewer = [*([line] for line in named), *begins] if len(named) > 1 else []
    others = fewer if suffices else [*begins, *inside, *([*named, *begin] for begin in begins)]
    lines = next((each for each in others if is_mended(each, barrier)), named if suffices else [])
    if not lines:
        yield f"{barrier} before {_in_words(named)} is not enough at {size_of(cells[0])}"
        return
    within = barrier == _OF_BLOCK and all(_is_of_one_warp(each, result) for each in races)
    barrier = _OF_WARP if within and is_mended(lines, _OF_WARP) else barrier
    instead = "" if {*named} <= {*lines} else f", not before {_in_words(sorted({*named} - {*lines}))}"
    yield f"{REPAIRED} {size_of(cells[0])}, without a race, with {barrier} before {_in_words(sorted(lines))}{instead}"


def _deeper(cell: Cell, kernel: Kernel) -> list[Cell]:
    """Return a small product, and one of more steps along k, which uses buffers again, if that is allowed."""
    for m, n in ((cell.m, cell.n), (_DEEPER * cell.m, _DEEPER * cell.n)):
        if (deeper := allowed_at(cell, kernel, m, n, _DEEPER * cell.k)) is not None:
            return [cell, deeper]
    return [cell]


def _in_words(lines: Iterable[int]) -> str:
    return " and before ".join(f"line {line}" for line in lines)


def _lines_of_loops(kernel: Kernel, lines: Sequence[int]) -> tuple[list[list[int]], list[list[int]]]:
    """Return the first line in each loop of a CUDA source around some lines, and a few others of the outermost loop."""
    bodies = around(c_statements(kernel.source_text()), *lines) if kernel.build is None else []
    loops = [[line for each in loop.body if (line := each.line) > loop.line] for loop in bodies if loop.kind == "loop"]
    begins = [[line] for loop in loops for line in loop[:1] if line not in lines]
    return begins, [[line] for loop in loops[:1] for line in loop[1:] if line not in lines][:_MOST_INSIDE]


def _is_of_one_warp(race: Violation, result: Result) -> bool:
    """Return whether the two threads that a race names are of one warp, in a block of several."""
    block = result.launched[0].block if len(result.launched) == 1 else Dim3(1)
    threads = [[*map(int, each.split(", "))] for each in _THREAD.findall(race.message)[:2]]
    numbers = {(x + block.x * (y + block.y * z)) // _WARP for x, y, z in ((*each, 0, 0)[:3] for each in threads)}
    return block.size > _WARP and len(threads) == 2 and len(numbers) == 1


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

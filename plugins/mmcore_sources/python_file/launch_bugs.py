"""Bugs of launches in Python, with their lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mmcore.devices.violations import Violation
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.python_file.host_text import PythonLaunch
from mmcore_sources.python_file.program import PythonProgram
from mmcore_sources.python_file.rounded_grids import rounded_grids


def launch_bugs(
    program: PythonProgram, launches: Sequence[PythonLaunch], translated: Iterable[Bug] = (), *, loops: bool = False
) -> tuple[Violation, ...]:
    """Return the bugs of a kernel's launches, and others that were found in their translation, by line.

    The blocks of a kernel that ``loops`` go over the tiles of C, so that no grid leaves a part of it out.
    """
    rounded = {*rounded_grids(program, launches)} if not loops else set[Bug]()
    found = rounded | {each for each in translated if not rounded or each.kind != "uncovered-product"}
    in_order = sorted(found, key=lambda bug: (bug.line, bug.kind, bug.message))
    return placed(
        program, (Violation(each.kind, each.message, each.array or None, line=each.line) for each in in_order)
    )


def placed(program: PythonProgram, bugs: Iterable[Violation]) -> tuple[Violation, ...]:
    """Return bugs at lines of a program as bugs at lines of its file, or of a notebook's cells."""
    return tuple(
        replace(
            each,
            message=program.in_cells(each.message),
            source=program.placed(each.line or 1).name,
            line=(each.line or 1) - program.lines_before(each.line or 1),
        )
        for each in bugs
    )

"""Lines of a kernel's source under the violations that name them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mmcore.devices.violations import Violation
from mmcore.kernel.declaration import Kernel

_NEIGHBOURS = 2  # most lines from one violation to the next that is shown with it


def source_line(kernel: Kernel, source: str | None, number: int | None) -> str | None:
    """Return a line of the kernel's own file, with its indent; None for a line of another file."""
    if source is None or source != kernel.source.name:
        return None
    lines = kernel.source_text().splitlines()
    return lines[number - 1] if number and number <= len(lines) else None


def folded(violations: Iterable[Violation]) -> list[tuple[Violation, str]]:
    """Return the violations without those that repeat the one before in a neighbouring line.

    Each has a clause on the lines in which it is repeated; an empty one if there are none.
    """
    groups: list[list[Violation]] = []
    for each in violations:
        if groups and _repeats(each, groups[-1][-1]):
            groups[-1].append(each)
        else:
            groups.append([each])
    return [(first, _further(rest)) for first, *rest in groups]


def _repeats(violation: Violation, before: Violation) -> bool:
    if not violation.line or not before.line:
        return False
    same = replace(violation, line=before.line, column=before.column, count=before.count) == before
    return same and 0 < violation.line - before.line <= _NEIGHBOURS


def _further(rest: Sequence[Violation]) -> str:
    if not rest:
        return ""
    return (
        f"also in line {rest[0].line}" if len(rest) == 1 else f"also in {len(rest)} more lines, to line {rest[-1].line}"
    )


def quoted(kernel: Kernel, violation: Violation) -> list[str]:
    """Return the line of a violation with a caret below its column, and the lines that call its function."""
    lines = []
    if (text := source_line(kernel, violation.source, violation.line)) is not None:
        lines.append(f"    {text.strip()}")
        # Compilers count columns in bytes.
        before = text.encode()[: (violation.column or 1) - 1].decode(errors="ignore")
        indent = len(text) - len(text.lstrip())
        if violation.column and len(before) >= indent:
            lines.append(f"    {' ' * (len(before) - indent)}^")
    for source, number in violation.callers:
        lines.append(f"  called at {source}:{number}")
        if (text := source_line(kernel, source, number)) is not None:
            lines.append(f"    {text.strip()}")
    return lines

"""Lines of a kernel's source under the violations that name them."""

from __future__ import annotations

from mmcore.devices.violations import Violation
from mmcore.kernel.declaration import Kernel


def source_line(kernel: Kernel, source: str | None, number: int | None) -> str | None:
    """Return a line of the kernel's own file, with its indent; None for a line of another file."""
    if source is None or source != kernel.source.name:
        return None
    lines = kernel.source_text().splitlines()
    return lines[number - 1] if number and number <= len(lines) else None


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

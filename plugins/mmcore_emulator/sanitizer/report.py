"""What ``mmcore check`` prints of a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmcore.cli.output import fields
from mmcore.devices.violations import Violation
from mmcore.kernel.declaration import Kernel
from mmcore_emulator.sanitizer.check import Check

if TYPE_CHECKING:
    from rich.console import RenderableType


def report(check: Check, kernel: Kernel, *, auto: bool) -> list[RenderableType]:
    """What was launched, what was found with the lines that do it, and the result in two words.

    Args:
        check: the check.
        kernel: the kernel.
        auto: whether mmcore chose the device.
    """
    from rich.text import Text

    text = kernel.source_text().splitlines()
    lines = [line for violation in check.violations for line in _lines(violation, kernel.source.name, text)]
    if not lines:
        lines = ["nothing found; whether the product is right, mmcore run tells"]
    result = Text("CHECK FAIL", "bold red") if check.violations else Text("CHECK PASS", "bold green")
    return [f"{kernel.name}: {kernel.title}\n", fields(check.launched.facts(auto)), "", *lines, result]


def _lines(violation: Violation, source: str, text: list[str]) -> list[str]:
    """A violation as a heading, the line of source, and a sentence."""
    what = "element" if violation.thread is None else "thread"
    count = f"{violation.count:,} {what}{'' if violation.count == 1 else 's'}"
    place = f" at {violation.source}:{violation.line}" if violation.line else ""
    array = f" of {violation.array}" if violation.array else ""
    lines = [f"{violation.kind}{array}{place}, {count}"]
    if violation.source == source and violation.line is not None and violation.line <= len(text):
        lines.append(f"    {text[violation.line - 1].strip()}")
    return [*lines, f"  {violation.message}", ""]

"""What ``mmcore check`` prints of a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mmcore_emulator.sanitizer.check import Check
from mmcore_emulator.sanitizer.protocols import Finding
from mmcore.cli.output import fields
from mmcore.cli.report import geometry, product

if TYPE_CHECKING:
    from rich.console import RenderableType


def report(check: Check, *, chosen: bool) -> list[RenderableType]:
    """What was launched, what was found with the lines that do it, and the judgement in two words.

    Args:
        check: the check.
        chosen: whether mmcore chose the device.
    """
    from rich.text import Text

    kernel, plan = check.plan.kernel, check.plan
    facts = [
        ("device", f"{check.device}{' (chosen by auto)' if chosen else ''}: {check.device_description}"),
        ("problem", product(plan)),
        *geometry(plan),
    ]
    text = kernel.source_text().splitlines()
    lines = [line for finding in check.findings for line in _lines(finding, kernel.source.name, text)]
    if not lines:
        lines = ["nothing found; whether the product is right, mmcore run tells"]
    judgement = Text("CHECK FAIL", "bold red") if check.findings else Text("CHECK PASS", "bold green")
    return [f"{kernel.name}: {kernel.title}\n", fields(facts), "", *lines, judgement]


def _lines(finding: Finding, source: str, text: list[str]) -> list[str]:
    """A finding as a heading, the line of source, and a sentence."""
    elements = finding.thread is None
    count = f"{finding.count:,} {'element' if elements else 'thread'}{'' if finding.count == 1 else 's'}"
    place = f" at {finding.source}:{finding.line}" if finding.line else ""
    array = f" of {finding.array}" if finding.array else ""
    lines = [f"{finding.kind}{array}{place}, {count}"]
    if finding.source == source and finding.line is not None and finding.line <= len(text):
        lines.append(f"    {text[finding.line - 1].strip()}")
    return [*lines, f"  {finding.message}", ""]

"""``mmcore check``: what a kernel does that it must not, with every access watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from mmcore.cell import Cell, KernelReference
from mmcore.cli.options import device_option, launch_options, requested_cell, timeout_option
from mmcore.cli.output import fields, json_option, loaded_registry, render, write_json
from mmcore.devices.violations import Violation
from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import Kernel
from mmcore.registry import Registry, imported, named_target
from mmcore_emulator.adapter.api import checked
from mmcore_emulator.adapter.check import Check

USUAL_SIZE = 128
"""Large enough for several blocks along each axis; what goes wrong at 640 goes wrong here."""


@click.command()
@click.argument("kernel")
@launch_options(USUAL_SIZE)
@device_option("auto: the emulator.")
@timeout_option("everything together")
@click.option("--with", "tool", metavar="TOOL", help="Check with another tool, on a GPU: compute-sanitizer.")
@json_option
def check(kernel: KernelReference, device: str, as_json: bool, tool: str | None, **asked: Any) -> int:
    """Look for races, stray accesses and deadlocks."""
    registry = loaded_registry()
    found = registry.kernel(kernel)
    look = checked if tool is None else _checker(registry, tool)
    result = look(requested_cell(found, device, asked, USUAL_SIZE))
    if as_json:
        write_json(result.to_json())
    else:
        render(*report(result, found, auto=device == "auto"))
    return 1 if result.violations else 0


def _checker(registry: Registry, tool: str) -> Callable[[Cell], Check]:
    """What checks with a tool that a plugin brings.

    Raises:
        MmcoreError: no plugin brings it.
    """
    tools: dict[str, str] = dict(brought.item for brought in registry.collected("mmcore_checkers", named_target))
    if tool not in tools:
        raise MmcoreError(f"there is no {tool!r} to check with; there is {', '.join(tools) or 'nothing'}")
    checker: Callable[[Cell], Check] = imported(f"the checker {tool!r}", tools[tool])
    return checker


def report(check: Check, kernel: Kernel, *, auto: bool) -> list[RenderableType]:
    """What was launched, what was found with the lines that do it, and the result in two words.

    ``auto`` says that mmcore chose the device.
    """
    text = kernel.source_text().splitlines()
    lines = [line for violation in check.violations for line in _lines(violation, kernel.source.name, text)]
    for warning in check.warnings:
        heading, *more = _lines(warning, kernel.source.name, text)
        lines += [f"warning: {heading}", *more]
    if not lines:
        lines = ["nothing found; whether the product is right, mmcore run tells"]
    result = Text("CHECK FAIL", "bold red") if check.violations else Text("CHECK PASS", "bold green")
    return [f"{kernel.name}: {kernel.title}\n", fields(check.launched.facts(auto)), "", *lines, result]


def _lines(violation: Violation, source: str, text: list[str]) -> list[str]:
    """A violation as a heading, the line of source, and a sentence."""
    what = "element" if violation.thread is None else "thread"
    count = f", {violation.count:,} {what}{'' if violation.count == 1 else 's'}" if violation.count else ""
    place = f" at {violation.source}:{violation.line}" if violation.line else ""
    array = f" of {violation.array}" if violation.array else ""
    lines = [f"{violation.kind}{array}{place}{count}"]
    if violation.source == source and violation.line is not None and violation.line <= len(text):
        lines.append(f"    {text[violation.line - 1].strip()}")
    return [*lines, f"  {violation.message}", ""]

"""``mmcore check``: the hazards of a kernel, with every access observed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from mmcore.cell import Cell
from mmcore.cli.answers import Answer, answered
from mmcore.cli.kernel_param import KernelsParam
from mmcore.cli.options import device_option, launch_options, requested_cell, sized, timeout_option
from mmcore.cli.output import fields, indented, json_option, loaded_registry, quiet_option
from mmcore.cli.source_quote import folded, quoted
from mmcore.devices.violations import Violation
from mmcore.errors import MmcoreError, WorkLimit
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import KernelReference
from mmcore.plugins import imported, named_target
from mmcore.registry import Registry, registry
from mmcore.verdict import places, warnings_of_source
from mmcore_emulator.adapter.api import checked, examined
from mmcore_emulator.adapter.check import Check
from mmcore_emulator.adapter.examination_report import Examination
from mmcore_emulator.adapter.unusual_reading import unusual_reading
from mmcore_emulator.adapter.views import NOTHING, check_verdict, check_view

USUAL_SIZE = 128
"""Large enough for several blocks along each axis; what goes wrong at 640 goes wrong here."""

_MOST_WORK = 1e8  # of a launch at the usual size; where blocks run one by one, half of the size is large enough

_NONE = Examination(())


@click.command()
@click.argument("kernel", type=KernelsParam())
@launch_options(USUAL_SIZE)
@device_option("auto: the emulator.")
@timeout_option("everything together")
@click.option("--with", "tool", metavar="TOOL", help="Check with another tool, on a GPU: compute-sanitizer.")
@quiet_option
@json_option
def check(
    kernel: tuple[KernelReference, ...], device: str, quiet: bool, as_json: bool, tool: str | None, **options: Any
) -> int:
    """Look for races, stray accesses and deadlocks.

    Without a size, products are also verified at the sizes that the kernel's code asks for.
    """
    loaded_registry()
    checker = checked if tool is None else _checker(registry(), tool)
    about = functools.partial(_answer_about, device=device, checker=checker, options=options)
    return answered(kernel, about, options["timeout"], quiet=quiet, as_json=as_json)


def _answer_about(
    reference: KernelReference, *, device: str, checker: Callable[[Cell], Check], options: Mapping[str, Any]
) -> Answer:
    declaration, usual = registry().kernel(reference), checker is checked
    cell = requested_cell(declaration, device, options, USUAL_SIZE)
    try:
        result = checked(cell, most_work=_MOST_WORK, wrong=False) if usual and not sized(options) else checker(cell)
    except WorkLimit:
        cell = requested_cell(declaration, device, options, USUAL_SIZE // 2)
        result = checked(cell, wrong=False)
    file = registry().files.get(declaration.name)
    faults = file.faults if file is not None and not sized(options) and not cell.force else ()
    if file is not None:
        result = replace(result, warnings=(*result.warnings, *(bug for bug in file.bugs if bug not in faults)))
    examination = _NONE
    if usual and not sized(options) and not result.violations and not cell.force:
        examination = examined(cell)
        tried = examination.tried
        violations = examination.faults or (unusual_reading(tried[0].cell, declaration) if tried else ())
        known = {(each.kind, each.source, each.line) for each in result.warnings}
        further = [each for each in examination.warnings if (each.kind, each.source, each.line) not in known]
        further += [*([examination.reminder] if examination.reminder else []), *examination.by_value]
        result = replace(result, violations=violations, warnings=(*result.warnings, *further))
    result = replace(result, violations=(*result.violations, *faults))
    not_executed = list(examination.not_executed)
    warnings = warnings_of_source(declaration.name)
    sizes = {"sizes": examination.sizes, "not_executed": not_executed, "not_tried": examination.limit}
    details = answer(result, declaration, examination, warnings)
    return Answer(
        1 if result.violations else 0,
        check_verdict(result, examination.limit),
        result.to_json() | sizes | {"source_warnings": [*warnings]},
        facts(result, declaration, examination, auto=device == "auto"),
        details,
        details,
        check_view(result, _tried(examination), _nothing(examination), examination.limit, warnings),
    )


def _checker(registry: Registry, tool: str) -> Callable[[Cell], Check]:
    """Return a plugin's function that checks with a tool; MmcoreError if no plugin has one."""
    tools: dict[str, str] = dict(registered.item for registered in registry.collected("mmcore_checkers", named_target))
    if tool not in tools:
        raise MmcoreError(f"there is no {tool!r} to check with; there is {', '.join(tools) or 'nothing'}")
    checker: Callable[[Cell], Check] = imported(f"the checker {tool!r}", tools[tool])
    return checker


def facts(check: Check, kernel: Kernel, examination: Examination, *, auto: bool) -> list[RenderableType]:
    """Return the launches, and the further products that were run; ``auto`` says that mmcore chose the device."""
    return [f"{kernel.name}: {kernel.title}\n", fields([*check.launched.facts(auto), *_tried(examination)]), ""]


def _tried(examination: Examination) -> list[tuple[str, str]]:
    """Return the further sizes, and the lines that none of them executed."""
    return [("sizes", examination.text), ("not executed", places(examination.not_executed))]


def _nothing(examination: Examination) -> str:
    """Return the answer where no fault was found."""
    return "nothing found" if examination.tried else NOTHING


def answer(check: Check, kernel: Kernel, examination: Examination, warnings: Iterable[str]) -> list[RenderableType]:
    """Return the violations with their source lines, the warnings about the source, and the result in two words."""
    lines = [line for violation, repeated in folded(check.violations) for line in _lines(violation, kernel, repeated)]
    for warning, repeated in folded(check.warnings):
        heading, *more = _lines(warning, kernel, repeated)
        lines += [f"warning: {heading}", *more]
    lines = [*(lines or [_nothing(examination)]), *(f"warning: {each}" for each in warnings)]
    return [*lines, Text(check_verdict(check, examination.limit), f"bold {'red' if check.violations else 'green'}")]


def _lines(violation: Violation, kernel: Kernel, repeated: str) -> list[RenderableType]:
    """Return a violation as a heading, the line of source, the lines that call it, a sentence, and what to try.

    ``repeated`` is a clause on the lines that repeat it.
    """
    what = "element" if violation.thread is None else "thread"
    count = f", {violation.count:,} {what}{'' if violation.count == 1 else 's'}" if violation.count else ""
    place = f" at {violation.source}:{violation.line}" if violation.line else ""
    array = f" of {violation.array}" if violation.array else ""
    below = [
        violation.message,
        *([repeated] if repeated else []),
        *([f"try {violation.hint}"] if violation.hint else []),
    ]
    return [f"{violation.kind}{array}{place}{count}", *quoted(kernel, violation), *map(indented, below), ""]

"""``mmcore show``: one kernel, with its launch rule, an example and its source."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import click

from mmcore.cli.kernel_param import KernelParam
from mmcore.cli.options import USUAL_SIZE
from mmcore.cli.output import fields, json_option, loaded_registry, on_terminal, quiet_option, render, write_json
from mmcore.errors import MmcoreError
from mmcore.kernel.arguments import Argument, Scalar, Struct, TensorMap, Workspace
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.launch import Launch, covering_grid
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.kernel_reference import KernelReference
from mmcore.messages import say
from mmcore.planning.plan import Plan, plan
from mmcore.plugin_table import Origin, Registered
from mmcore.plugins import texts
from mmcore_tools.list_kernels import configs, descriptions, summary

if TYPE_CHECKING:
    from rich.console import RenderableType

_LANGUAGES = {".py": "python", ".ptx": "ptx"}


@click.command()
@click.argument("kernel", type=KernelParam())
@quiet_option
@json_option
def show(kernel: KernelReference, quiet: bool, as_json: bool) -> int:
    """Show a kernel: where it comes from, its rule, its source."""
    registry = loaded_registry()
    shown = registry.kernel(kernel)
    registered = registry.kernels.get(shown.name, Registered(shown, Origin(shown.source.name, "no package")))
    for notes in [] if quiet else registry.answers("mmcore_notes", texts, kernel=shown):
        for note in notes:
            say(note)
    source_text, rule, launched = shown.source_text(), _rule(shown), _entries(shown)
    declared = {"entry": shown.entry, "arguments": shown.arguments, "grid": shown.launch or shown.grid}
    inferred = [name for name, value in declared.items() if not value and not shown.call]  # read off the source
    if as_json:
        further = {"launched": launched, "inferred": inferred, "accumulator": shown.accumulator}
        write_json(summary(registered) | further | {"launch_rule": rule, "source_text": source_text})
    else:
        facts = [
            ("reference", shown.reference),
            ("operation", shown.operation),
            ("types", f"{shown.dtype} in, summed in {shown.accumulator}, {shown.output} out"),
            ("by columns", " ".join(shown.column_major)),
            ("C before", shown.initial_c),
            ("launches", "\n".join(launched)),
            ("inferred", ", ".join(inferred)),
            ("configs", configs(shown)),
            ("needs", "\n".join(descriptions(shown))),
            ("known bugs", "\n".join(shown.known_bugs)),
            ("for example", "\n".join(examples(shown))),
            ("plugin", str(registered.origin)),
        ]
        source = (f"\n{shown.source}:\n", _listing(source_text, _LANGUAGES.get(shown.source.suffix, "cuda")))
        listings = "\nlaunch rule:\n", _listing(rule, "python"), *(source if source_text else ())
        render(*([fields(facts)] if quiet else [f"{shown.name}: {shown.title}\n", fields(facts), *listings]))
    return 0


def _rule(kernel: Kernel) -> str:
    """Return the source code of the launch rule, or its docstring if Python cannot find the code."""
    rule: Any = kernel.call or kernel.launch or kernel.grid or covering_grid
    while isinstance(rule, functools.partial):
        rule = rule.func
    try:
        return inspect.getsource(rule).rstrip()
    except (OSError, TypeError):
        return inspect.getdoc(rule) or ""


def _entries(kernel: Kernel) -> list[str]:
    """Return the launched functions with their arguments, in order; or the error that planning raised."""
    try:
        planned = _planned(kernel, kernel.square_problem(USUAL_SIZE))
        calls = [(planned.entry(launch), map(_argument, planned.arguments(launch))) for launch in planned.launches]
    except MmcoreError as error:
        return [str(error)]
    return list(dict.fromkeys(f"{entry or 'its only function'}({', '.join(arguments)})" for entry, arguments in calls))


def _argument(argument: Argument) -> str:
    """Return an argument as it could be written in the function's signature."""
    if isinstance(argument, Scalar):
        return f"{argument.type} {argument.value}"
    if isinstance(argument, Workspace):
        return f"workspace {argument.name} ({argument.nbytes} bytes)"
    if isinstance(argument, TensorMap):
        return f"tensor map of {argument.matrix} in boxes of {'×'.join(map(str, argument.box))}"
    if isinstance(argument, Struct):
        return f"{{{', '.join(map(_argument, argument.members))}}}"
    return argument if isinstance(argument, str) else f"{len(argument)} bytes"


def examples(kernel: Kernel) -> list[str]:
    """Return the launches at the usual size, and at one more if the constraints allow it."""
    usual, more = kernel.square_problem(USUAL_SIZE), kernel.problem(*[USUAL_SIZE + 1] * 3)
    both = usual.n == USUAL_SIZE and not kernel.violations(more, kernel.fitting_config(more))
    return [_example(kernel, problem) for problem in ((usual, more) if both else (usual,))]


def _example(kernel: Kernel, problem: Problem) -> str:
    try:
        planned = _planned(kernel, problem)
    except MmcoreError as error:
        return f"{problem}: {error}"
    if not planned.launches:
        return f"{problem}: a call"
    grids = ", then ".join(map(_geometry, planned.launches))
    reads = [f"{elements} elements past {matrix}" for matrix in "ABC" if (elements := planned.over_read(matrix))]
    past = f"may read {' and '.join(reads)}" if reads else "reads nothing past the matrices"
    return f"{problem}: {grids}, {past}"


def _geometry(launch: Launch) -> str:
    kinds = [f"clusters of {launch.cluster}"] if launch.cluster else []
    kinds += [kind for kind in ("cooperative", "dependent") if getattr(launch, kind)]
    return f"{launch.block_dim} blocks in a {launch.grid_dim} grid" + (f" ({', '.join(kinds)})" if kinds else "")


def _planned(kernel: Kernel, problem: Problem) -> Plan:
    """Return the plan on an example of a device, as none may be present."""
    capability = max(DeviceProperties().compute_capability, kernel.min_compute_capability)
    return plan(kernel, problem, kernel.fitting_config(problem), DeviceProperties(compute_capability=capability))


def _listing(code: str, language: str) -> RenderableType:
    """Return numbered lines, coloured and wrapped on a terminal."""
    if not on_terminal():
        lines = code.splitlines()
        return "\n".join(f"{number:>{len(str(len(lines)))}}  {line}" for number, line in enumerate(lines, start=1))
    from rich.syntax import Syntax

    return Syntax(code.rstrip(), language, theme="ansi_dark", line_numbers=True, word_wrap=True)

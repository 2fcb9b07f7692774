"""Findings about a right product of a file's kernel: the outcome of the usual reading of its source."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.kernel.arguments import SIZES
from mmcore.kernel.constraints import Multiple, Square
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import FileKernel
from mmcore.registry import registry
from mmcore.result import Result
from mmcore.verdict import Findings
from mmcore_sources.cuda_file.files import inferred_of
from mmcore_sources.cuda_file.hints.tried_cells import at_sizes, is_clean, measured, small_cell
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes
from mmcore_sources.cuda_file.inference.launch_conditions import LaunchedIf
from mmcore_sources.cuda_file.inference.map_layouts import encoded_layouts
from mmcore_sources.cuda_file.inference.program_sizes import AtLeast
from mmcore_sources.cuda_file.inference.unusual import BY_MAP, Unusual


def findings(result: Result, extent: str) -> Findings | None:
    """Return the verdict for the usual reading where the source was read unusually, and whether it fixes the sizes.

    Of a wrong product, it is that on the tensor maps alone.
    """
    file = registry().files.get(result.kernel)
    if file is None:
        return None
    if not result.verified:
        maps = tuple(_faults_of_maps(result, file)) if result.launched and not result.cell.force else ()
        return Findings("", maps) if maps else None
    violations, warnings = list[Violation](), list[str]()
    for each in inferred_of(file.reference).unusual if not result.cell.force else ():
        fault = _fault(result, file, each) if each.evidence != BY_MAP else ""
        if fault and not each.evidence:
            source, advice = file.kernel.source.name, f"line {each.line} {each.advice}; " if each.line else ""
            why = f"right only if read as {each.reading}, which nothing in {source} supports; {fault}"
            meant, line = f"{each.option} if this is meant", each.line or None
            violations.append(Violation("unusual-reading", advice + why, source=source, line=line, hint=meant))
        elif fault:
            warnings.append(f"read as {each.reading} because of {each.evidence}; {fault}")
    if extent in ("all", "program") and not result.cell.force:
        violations += file.faults
    violations += _faults_of_maps(result, file)
    fixed = next((each for each in file.kernel.constraints if isinstance(each, FixedSizes)), None)
    cell, not_tried = result.cell, ""
    if fixed is not None and extent == "all":
        not_tried = fixed.why_smaller(cell.m, cell.n, cell.k) or "the source fixes them"
    elif extent == "all":
        not_tried = next((each.why for each in file.kernel.constraints if isinstance(each, LaunchedIf)), "")
    steps = itertools.chain(_one_step(result, file.kernel), _smaller_step(result, file.kernel))
    sizes = tuple(steps) if extent in ("all", "size") else ()
    return Findings("", tuple(violations), tuple(warnings), sizes, not_tried=not_tried)


def _faults_of_maps(result: Result, file: FileKernel) -> Iterator[Violation]:
    """Yield the tensor maps that are wrong at the sizes of the program, or of a wrong product."""
    problem, source = result.cell.problem(file.kernel), file.kernel.source.name
    for layout in encoded_layouts(file.kernel.arguments):
        if layout.is_of_program or (not result.verified and layout.differs(problem)):
            yield Violation(layout.kind, layout.fault, source=layout.file or source, line=layout.line)


def _one_step(result: Result, kernel: Kernel) -> Iterator[Mapping[str, Any]]:
    """Yield the product of one step along k if it is right, so that its program's condition on k is none."""
    for each in kernel.program_sizes:
        if isinstance(each, AtLeast):
            problem = kernel.square_problem(each.k, kernel.config(**result.cell.config))
            cell = at_sizes(small_cell(result.cell, kernel), kernel, problem.m, problem.n, each.step)
            if is_clean(measured(cell), kernel):
                sizes = {name: getattr(cell, name) for name in SIZES}
                yield {**sizes, "why": "one step along k", "right": True}


def _smaller_step(result: Result, kernel: Kernel) -> Iterator[Mapping[str, Any]]:
    """Yield a right product whose k is a multiple of a smaller number than its program's are, if there is one."""
    if any(isinstance(each, Square) for each in kernel.constraints):
        return
    config = result.cell.config_of(kernel)
    multiples = (each for each in kernel.program_sizes if isinstance(each, Multiple))
    least = next((each.step(config) for each in multiples if "k" in each.sizes), 1)
    step = math.gcd(least, result.cell.k, *(each["k"] for each in result.sizes if each["right"]))
    small, right = small_cell(result.cell, kernel), None
    while step % 2 == 0 and (cell := _right_beyond(small, kernel, least, step // 2)) is not None:
        step, right = step // 2, cell
    if right is not None:
        sizes = {name: getattr(right, name) for name in SIZES}
        yield {**sizes, "why": f"multiples of {step} along k", "right": True}


def _right_beyond(cell: Cell, kernel: Kernel, least: int, step: int) -> Cell | None:
    """Return the product of one step more along k than the least if it is right, without hazards; else None."""
    problem = kernel.least_problem(1, kernel.config(**cell.config))
    other = at_sizes(cell, kernel, problem.m, problem.n, least + step)
    return other if is_clean(measured(other), kernel) else None


def _fault(result: Result, file: FileKernel, unusual: Unusual) -> str:
    """Return the fault of the usual reading, as a clause; empty without one."""
    cell = small_cell(result.cell, file.kernel)
    reference = {**file.reference, **unusual.given, "name": f"{file.kernel.name}.usual"}
    usual = measured(replace(cell, kernel=reference))
    if usual is None or usual.verified:
        return ""
    why = next(iter(usual.failures()), "")
    return f"as {unusual.usual}, which is usual, it would be wrong at {cell.m}×{cell.n}×{cell.k}: {why}"

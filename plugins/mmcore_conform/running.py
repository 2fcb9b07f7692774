"""The test of a case: run twice on one device, and under the sanitizer of another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mmcore.cell import Cell
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device, HostArray
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import TimeLimit
from mmcore.kernel.arguments import MATRICES
from mmcore.measure import Phases
from mmcore.planning.plan import Plan, plan_cell
from mmcore.verify.inputs import draw, other_seed
from mmcore.verify.procedure import host_arrays, rows_of_product, verify_launches
from mmcore_emulator.device import Emulator
from mmcore_emulator.sanitizer.check import check_cell
from mmcore_emulator.sanitizer.over_read import over_read_elements

_KINDS = {
    "bounds": ("out-of-bounds-write", "out-of-bounds-read", "illegal-address"),
    "inputs": ("input-overwritten",),
    "repeatable": ("uninitialized-read",),
    "written": ("unwritten-output",),
    "hazards": ("misaligned", "shared-race", "global-race", "divergent-barrier", "overwritten-output"),
}


def run_case(device: Device, phases: Phases, values: Mapping[str, Any]) -> dict[str, Any]:
    """Run a cell twice on the same inputs.

    Returns:
        "failures", pairs of a property and a reason; "complete", whether there was a product, so that the other
        properties hold.

    Raises:
        TimeLimit: the time limit was reached, and the device says where.
        MmcoreError: the kernel cannot be planned, compiled or launched.
    """
    cell = Cell.from_json(values)
    with phases("plan"):
        planned = plan_cell(cell, device.properties)
    with phases("compile"):
        module = compile_plan(planned, device.architecture)
    with phases("verify"), LoadedKernel(planned, device, module) as loaded:
        verified = verify_launches(loaded, cell.problem(planned.kernel), cell.seed or 0)
        failures = _failures(planned, verified.violations)
        if verified.verification is not None and verified.verification.verified:
            failures += _of_second_run(loaded, cell)
        elif (found := verified.verification) is not None:
            wrong = f"{found.mismatch}; {found.wrong} of the {found.compared} elements compared are wrong"
            failures.append(("written" if found.mismatch and found.mismatch.unwritten else "product", wrong))
    return {"failures": failures, "complete": verified.verification is not None}


def can_sanitize(device: Device, phases: Phases) -> bool:
    """Whether a device has a sanitizer."""
    return isinstance(device, Emulator)


def sanitize_case(device: Device, phases: Phases, values: Mapping[str, Any]) -> dict[str, Any]:
    """Run a cell where every access is watched.

    Returns:
        "failures", pairs of a property and a reason; "declared", elements that the launches declare to read past each
        matrix, if any; "needed", elements that they read there.

    Raises:
        MmcoreError: the device cannot run the kernel, or the time limit was reached.
    """
    cell = Cell.from_json(values)
    with phases("plan"):
        planned = plan_cell(cell, device.properties)
    declared = {matrix: planned.over_read(matrix) for matrix in MATRICES if planned.over_read(matrix)}
    with phases("sanitize"):
        failures = _failures(planned, check_cell(cell, device).violations)
        needed = over_read_elements(cell, device) if declared else {}
    return {"failures": failures, "declared": declared, "needed": needed}


def _failures(planned: Plan, violations: tuple[Violation, ...]) -> list[tuple[str, str]]:
    """The property that each violation speaks of, and the violation.

    A read outside a matrix of which an over-read is declared says that too little is declared. A violation of no
    kind that has a property (a failed launch) leaves no product.
    """
    failures = []
    for each in violations:
        if each.kind == "timeout":
            raise TimeLimit(each.message)
        name = next((name for name, kinds in _KINDS.items() if each.kind in kinds), "product")
        if each.kind == "out-of-bounds-read" and each.array in MATRICES and planned.over_read(each.array):
            name = "over-read"
        failures.append((name, str(each)))
    return failures


def _of_second_run(loaded: LoadedKernel, cell: Cell) -> Iterator[tuple[str, str]]:
    """What differs when a right kernel runs again on the same inputs.

    C holds numbers instead of poison then, and workspaces what the first run left in them, so that a kernel that
    computes with what it finds there is found out.
    """
    planned, problem, seed = loaded.plan, cell.problem(loaded.plan.kernel), cell.seed or 0
    host = host_arrays(planned, draw(problem, seed))
    first = _product(loaded, host)
    if not planned.kernel.accumulate:
        host["C"] = host_arrays(planned, draw(replace(problem, accumulate=True), other_seed(seed)))["C"]
    loaded.upload(host)
    violations = tuple(loaded.run())
    if any(violation.fatal for violation in violations):
        _failures(planned, violations)
        yield "repeatable", f"the second run failed where the first did not: {violations[-1]}"
        return
    second = _product(loaded, host)
    bits = f"u{first.itemsize}"
    changed = first.view(bits) != second.view(bits)
    if changed.any():
        row, column = (int(index) for index in np.argwhere(changed)[0])
        was, is_now = float(first[row, column]), float(second[row, column])
        where = f"run twice on the same inputs, element ({row}, {column}) of C is {was!r}, then {is_now!r}"
        yield "repeatable", f"{where}; {int(changed.sum())} of {changed.size} elements differ"


def _product(loaded: LoadedKernel, host: Mapping[str, HostArray]) -> HostArray:
    """C as the device left it, m×n."""
    flat = np.empty_like(host["C"])
    loaded.buffers["C"].download(flat)
    return rows_of_product(loaded.plan, flat)

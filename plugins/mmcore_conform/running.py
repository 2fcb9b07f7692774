"""A case run twice on a device: product, written elements, inputs, surroundings, and the same bits again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.cell import Cell, referenced_kernel
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device, HostArray
from mmcore.devices.loaded import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import TimeLimit
from mmcore.kernel.dtypes import dtype_named
from mmcore.measure import Phases
from mmcore.planning.plan import Plan, plan
from mmcore.verify.inputs import draw, other_seed
from mmcore.verify.launches import host_arrays, rows_of_product, verify_launches
from mmcore.verify.verification import Verification, unwritten_words

_PROPERTIES = {
    "out-of-bounds-write": "bounds",
    "out-of-bounds-read": "bounds",
    "illegal-address": "bounds",
    "input-overwritten": "inputs",
    "uninitialized-read": "repeatable",
    "unwritten-output": "written",
    "misaligned": "hazards",
    "shared-race": "hazards",
    "global-race": "hazards",
    "divergent-barrier": "hazards",
    "overwritten-output": "hazards",
}


def property_of(kind: str, array: str | None, planned: Plan) -> str:
    """The property that a kind of violation speaks of.

    A read outside a matrix of which an over-read is declared says that too little is declared. A violation of no
    kind that has a property (a failed launch) leaves no product.
    """
    if kind == "out-of-bounds-read" and array in ("A", "B", "C") and planned.over_read(array):
        return "over-read"
    return _PROPERTIES.get(kind, "product")


def planned_cell(cell: Cell, device: Device) -> Plan:
    """The plan of a cell; raises as :func:`~mmcore.planning.plan.plan`."""
    kernel = referenced_kernel(cell.kernel)
    return plan(kernel, cell.problem(kernel), cell.config_of(kernel), device.properties, force=cell.force)


def run_case(device: Device, phases: Phases, values: Mapping[str, Any]) -> dict[str, Any]:
    """Run a cell twice on the same inputs.

    The second time C holds numbers instead of poison, and workspaces what the first run left in them, so that a
    kernel that computes with what it finds there is found out.

    Returns:
        "failures", pairs of a property and a reason; "complete", whether there was a product, so that the other
        properties hold.

    Raises:
        TimeLimit: the time limit was reached, and the device says where.
        MmcoreError: the kernel cannot be planned, compiled or launched.
    """
    cell = Cell.from_json(values)
    with phases("plan"):
        planned = planned_cell(cell, device)
        problem = cell.problem(planned.kernel)
    with phases("compile"):
        module = compile_plan(planned, device.architecture)
    with phases("verify"), LoadedKernel(planned, device, module) as loaded:
        verified = verify_launches(loaded, problem, cell.seed or 0)
        _check_time(verified.violations)
        failures = [(property_of(each.kind, each.array, planned), str(each)) for each in verified.violations]
        if verified.verification is None:
            return {"failures": failures, "complete": False}
        first = _product(loaded)
        unwritten = np.zeros(first.shape, np.bool_)
        if not verified.verification.verified:
            before = host_arrays(planned, draw(problem, cell.seed or 0))["C"]
            unwritten = _bits(rows_of_product(planned, before)) == _bits(first)
        failures += _of_product(verified.verification, unwritten, problem.output)
        # What nobody writes differs because the second run finds something else there.
        failures += _of_second_run(loaded, cell, first, unwritten)
    return {"failures": failures, "complete": True}


def _check_time(violations: tuple[Violation, ...]) -> None:
    for violation in violations:
        if violation.kind == "timeout":
            raise TimeLimit(violation.message)


def _product(loaded: LoadedKernel) -> HostArray:
    """C as the device left it, m×n."""
    problem = loaded.plan.problem
    flat = np.empty(problem.span("C"), dtype_named(problem.output).storage)
    loaded.buffers["C"].download(flat)
    return rows_of_product(loaded.plan, flat)


def _of_product(verification: Verification, unwritten: NDArray[np.bool_], output: str) -> Iterator[tuple[str, str]]:
    missing = int(unwritten.sum())
    if missing:
        row, column = (int(index) for index in np.argwhere(unwritten)[0])
        where = f"element ({row}, {column}) of C is {unwritten_words(output)}"
        yield "written", f"{where}; {missing} of {unwritten.size} are"
    if verification.wrong > missing or (not verification.verified and not missing):
        wrong = f"{verification.wrong} of the {verification.compared} elements compared are wrong"
        yield "product", f"{verification.mismatch}; {wrong}"


def _of_second_run(
    loaded: LoadedKernel, cell: Cell, first: HostArray, unwritten: NDArray[np.bool_]
) -> Iterator[tuple[str, str]]:
    planned, seed = loaded.plan, cell.seed or 0
    problem = cell.problem(planned.kernel)
    host = host_arrays(planned, draw(problem, seed))
    if not planned.kernel.accumulate:
        host["C"] = host_arrays(planned, draw(replace(problem, accumulate=True), other_seed(seed)))["C"]
    loaded.upload(host)
    violations = tuple(loaded.run())
    _check_time(violations)
    if any(violation.fatal for violation in violations):
        yield "repeatable", f"the second run failed where the first did not: {violations[-1]}"
        return
    second = _product(loaded)
    changed = (_bits(first) != _bits(second)) & ~unwritten
    if changed.any():
        row, column = (int(index) for index in np.argwhere(changed)[0])
        yield (
            "repeatable",
            f"run twice on the same inputs, element ({row}, {column}) of C is {float(first[row, column])!r}, then "
            f"{float(second[row, column])!r}; {int(changed.sum())} of {changed.size} elements differ",
        )


def _bits(values: HostArray) -> NDArray[np.unsignedinteger]:
    return values.view(f"u{values.dtype.itemsize}")

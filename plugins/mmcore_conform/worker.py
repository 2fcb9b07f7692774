"""The tests of a kernel that its declaration, a compiler or a device takes part in; they run in a worker process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from mmcore.cell import Cell, referenced_kernel
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device, HostArray
from mmcore.devices.loaded import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import CompileError, ConstraintViolation, InvalidKernel, MmcoreError, TimeLimit
from mmcore.kernel.arguments import MATRICES
from mmcore.kernel.problem import Problem
from mmcore.measure import Phases
from mmcore.planning.plan import Plan, launches, plan
from mmcore.verify.inputs import draw, other_seed
from mmcore.verify.launches import host_arrays, rows_of_product, verify_launches
from mmcore_conform.cases import find_cases
from mmcore_conform.outcome import FAILED, PASSED, SKIPPED
from mmcore_emulator.sanitizer.check import check_cell
from mmcore_emulator.sanitizer.over_read import over_read_elements
from mmcore_emulator.sanitizer.protocols import CheckingDevice
from mmcore_occupancy.compiled import capability_target, compiled_occupancies, target_plan

_OF_RUNS = ("product", "written", "bounds", "inputs", "repeatable")
_KINDS = {
    "bounds": ("out-of-bounds-write", "out-of-bounds-read", "illegal-address"),
    "inputs": ("input-overwritten",),
    "repeatable": ("uninitialized-read",),
    "written": ("unwritten-output",),
    "hazards": ("misaligned", "shared-race", "global-race", "divergent-barrier", "overwritten-output"),
}
_TIMES_ASKED = 3

CellJson: TypeAlias = Mapping[str, Any]
Findings: TypeAlias = tuple[tuple[str, ...], list[tuple[str, str]]]
"""The properties that were tested, and failures: pairs of a property and a reason, of which the first counts."""


def can_sanitize(device: Device, phases: Phases) -> bool:
    """Whether a device has a sanitizer."""
    return isinstance(device, CheckingDevice)


def found_cases(device: Device, phases: Phases, reference: str) -> dict[str, Any]:
    """The test cases of a kernel; a ConstraintViolation where it needs another device."""
    kernel, capability = referenced_kernel(reference), device.properties.compute_capability
    if capability < kernel.min_compute_capability:
        needed, has = (".".join(map(str, pair)) for pair in (kernel.min_compute_capability, capability))
        raise ConstraintViolation(kernel.name, [f"it needs compute capability {needed}; {device.name} has {has}"])
    with phases("plan"):
        return find_cases(kernel, device.properties).to_json()


def plan_case(device: Device, phases: Phases, values: CellJson) -> None:
    """Plan a cell; raises as :func:`~mmcore.planning.plan.plan`."""
    with phases("plan"):
        _planned(Cell.from_json(values), device)


def run_case(device: Device, phases: Phases, values: CellJson) -> Findings:
    """Run a cell twice on the same inputs; nothing else is tested where there is no product.

    Raises:
        TimeLimit: the time limit was reached, and the device says where.
        MmcoreError: the kernel cannot be planned, compiled or launched.
    """
    cell = Cell.from_json(values)
    with phases("plan"):
        planned = _planned(cell, device)
    with phases("compile"):
        module = compile_plan(planned, device.architecture)
    with phases("verify"), LoadedKernel(planned, device, module) as loaded:
        verified = verify_launches(loaded, cell.problem(planned.kernel), cell.seed or 0)
        failures = _failures(planned, verified.violations)
        if (found := verified.verification) is None:
            return (), failures
        if found.verified:
            failures += _of_second_run(loaded, cell)
        else:
            wrong = f"{found.mismatch}; {found.wrong} of the {found.compared} elements compared are wrong"
            failures.append(("written" if found.mismatch and found.mismatch.unwritten else "product", wrong))
    return _OF_RUNS, failures


def sanitize_case(device: Device, phases: Phases, values: CellJson) -> Findings:
    """Run a cell where every access is watched.

    Raises:
        MmcoreError: the device cannot run the kernel, or the time limit was reached.
    """
    cell = Cell.from_json(values)
    with phases("plan"):
        planned = _planned(cell, device)
    with phases("sanitize"):
        failures = _failures(planned, check_cell(cell, device).violations)
    return ("hazards", "over-read") if any(map(planned.over_read, MATRICES)) else ("hazards",), failures


def over_reads(device: Device, phases: Phases, values: CellJson, known: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Elements that a cell's launches declare to read past each matrix, if any, and how many they read there.

    They are not run, and 0 stands for what they read, where all of these matrices are among the known ones.
    """
    cell = Cell.from_json(values)
    with phases("plan"):
        planned = _planned(cell, device)
    declared = {matrix: elements for matrix in MATRICES if (elements := planned.over_read(matrix))}
    with phases("sanitize"):
        read = over_read_elements(planned, device, cell.seed or 0) if declared.keys() - set(known) else {}
    return {matrix: (elements, read.get(matrix, 0)) for matrix, elements in declared.items()}


def launch_failures(device: Device, phases: Phases, cells: Sequence[CellJson]) -> list[tuple[str, str]]:
    """What is wrong with the launches of a kernel, taken together: pairs of a config and the reason.

    A launch rule that answers the same question differently fails, and so does one that ignores the config.
    """
    answers: dict[str, dict[Problem, Any]] = {}
    failures: dict[str, str] = {}
    with phases("plan"):
        for cell in map(Cell.from_json, cells):
            kernel = referenced_kernel(cell.kernel)
            problem, config = cell.problem(kernel), cell.config_of(kernel)
            try:
                asked = [launches(kernel, problem, config, device.properties) for _ in range(_TIMES_ASKED)]
                compiled = [kernel.expand(each, problem, config) for each in (kernel.entry, *kernel.options)]
            except MmcoreError:
                # Running it fails for that.
                continue
            if any(answer != asked[0] for answer in asked):
                reason = f"asked {_TIMES_ASKED} times for the same launch, its rule does not give the same one"
                failures[config.id] = reason
            answers.setdefault(config.id, {})[problem] = (asked[0], compiled, kernel.macros(problem, config))
    for one, other in itertools.combinations(answers, 2):
        common = answers[one].keys() & answers[other].keys()
        if common and all(answers[one][problem] == answers[other][problem] for problem in common):
            failures[other] = f"it is launched in the same way with {one} and with {other}, as which both are measured"
    return list(failures.items())


def fit(device: Device, phases: Phases, cells: Sequence[CellJson], capability: str) -> tuple[str, str]:
    """Whether the cells of one config fit a compute capability: the outcome, and the reason. The last is compiled."""
    major, minor = map(int, capability.split("."))
    several = [Cell.from_json(values) for values in cells]
    kernel = referenced_kernel(several[0].kernel)
    if (major, minor) < kernel.min_compute_capability:
        return SKIPPED, f"it declares that it needs {'.'.join(map(str, kernel.min_compute_capability))}"
    if kernel.architecture and not _runs(kernel.architecture, (major, minor)):
        return SKIPPED, f"it is compiled for {kernel.architecture} alone"
    target = capability_target((major, minor))
    try:
        with phases("plan"):
            plans = [target_plan(kernel, cell.problem(kernel), cell.config_of(kernel), target) for cell in several]
        with phases("compile"):
            _, occupancies = compiled_occupancies(plans[-1], target)
    except (ConstraintViolation, InvalidKernel, CompileError) as error:
        return FAILED, str(error)
    crowded = [each.advice for each in occupancies if each.active_blocks == 0]
    return (FAILED, crowded[0]) if crowded else (PASSED, "")


def _runs(architecture: str, capability: tuple[int, int]) -> bool:
    """Whether code for a kernel's own architecture ("90", "90a", "100f") runs there."""
    made_for = divmod(int(architecture.rstrip("af")), 10)
    if architecture.endswith("a"):
        return capability == made_for
    return capability[0] == made_for[0] and capability >= made_for


def _planned(cell: Cell, device: Device) -> Plan:
    kernel = referenced_kernel(cell.kernel)
    return plan(kernel, cell.problem(kernel), cell.config_of(kernel), device.properties, force=cell.force)


def _failures(planned: Plan, violations: Sequence[Violation]) -> list[tuple[str, str]]:
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
    violations = loaded.run()
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

"""The tests of a kernel that run in a worker process, with its declaration, a compiler and a device."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeAlias

from mmcore import errors
from mmcore.cell import Cell
from mmcore.compile.compiler import compile_plan, compiler_of
from mmcore.devices.base import Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import CompileError, ConstraintViolation, InvalidKernel, MmcoreError, SharedMemoryExceeded, TimeLimit
from mmcore.kernel.arguments import MATRICES
from mmcore.kernel.problem import Problem
from mmcore.kernel_reference import KernelReference
from mmcore.measure import Phases
from mmcore.planning.plan import Plan, plan_cell
from mmcore.registry import referenced_kernel
from mmcore.verify.inputs import Matrices, rearranged
from mmcore.verify.not_finite import with_not_finite
from mmcore.verify.verify_launches import mixed_inputs, verify_launches
from mmcore_cuda.occupancy.compiled import capability_target, compiled_occupancies, target_plan
from mmcore_emulator.adapter.check import check_cell
from mmcore_emulator.adapter.device import EmulatedModule
from mmcore_emulator.adapter.examine_sizes import sizes_of_code, value_dependences
from mmcore_emulator.adapter.profile import over_read_elements
from mmcore_emulator.adapter.proof import NOT_PROVED, prove_cell
from mmcore_emulator.adapter.single_blocks import verified_blocks
from mmcore_tools.conform.addition_order import has_open_order
from mmcore_tools.conform.cases import find_cases
from mmcore_tools.conform.outcome import FAILED, MOST_PROVED, PASSED, SKIPPED, UNPROVED

# Cases that the code of a config asks for: so many of them are thorough, and those that turn a ring of stages.
_THOROUGH = 2
_CODE_WORK = 6.0  # estimated seconds of the cases that a config's code asks for
_KINDS = {
    "bounds": ("out-of-bounds-write", "out-of-bounds-read", "illegal-address"),
    "inputs": ("input-overwritten",),
    "repeatable": ("uninitialized-read",),
    "written": ("unwritten-output",),
    "hazards": ("misaligned", "shared-race", "global-race", "divergent-barrier", "deadlock"),
}

_OPEN_ORDER = "the order of atomic additions is open on a GPU"
# The violations of a kernel that refuses its inputs.
_REFUSALS = ("assertion", "trap", "deadlock")

CellJson: TypeAlias = Mapping[str, Any]
CoverageJson: TypeAlias = dict[str, Any]
Findings: TypeAlias = list[tuple[str, str, str]]
"""Triples of a property, its outcome and the reason."""


def found_cases(
    device: Device, phases: Phases, reference: KernelReference, seed: int, configs: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the test cases of a kernel, in the given configs if there are any.

    Raises ConstraintViolation if the kernel needs another device.
    """
    kernel, capability = referenced_kernel(reference), device.properties.compute_capability
    if capability < kernel.min_compute_capability:
        needed, has = (".".join(map(str, pair)) for pair in (kernel.min_compute_capability, capability))
        raise ConstraintViolation(kernel.name, [f"it needs compute capability {needed}; {device.name} has {has}"])
    with phases("plan"):
        kernel = replace(kernel, configs=[kernel.config(**each).to_json() for each in configs]) if configs else kernel
        return asdict(find_cases(kernel, device.properties, seed))


def code_cases(device: Device, phases: Phases, values: CellJson, config: str) -> list[dict[str, Any]]:
    """Return the test cases that a kernel's code asks for in the config of a cell, which ``config`` identifies."""
    cell = Cell.from_json(values)
    with phases("plan"):
        sizes = sizes_of_code(cell, device, _CODE_WORK)
    return [
        {
            "cell": asdict(size.cell(cell)),
            "config": config,
            "why": size.why,
            "thorough": (number < _THOROUGH or size.is_due) and not size.of_blocks,
            "of_blocks": size.of_blocks,
        }
        for number, size in enumerate(sizes)
    ]


def refuse_case(device: Device, phases: Phases, values: CellJson) -> Findings:
    """Test that a cell is refused for a violated constraint."""
    try:
        _planned(device, phases, values)
    except ConstraintViolation as refused:
        return [("constraints", PASSED, "; ".join(refused.reasons))]
    return [("constraints", FAILED, "it is not refused")]


def run_once(device: Device, phases: Phases, values: CellJson) -> tuple[Findings, CoverageJson]:
    """Run a cell and verify its product. Raises as :func:`run_case` does."""
    return run_case(device, phases, values, again=False)


def run_blocks(device: Device, phases: Phases, values: CellJson) -> tuple[Findings, CoverageJson]:
    """Run the first and the last block of a cell and verify their elements of C. Raises as :func:`run_case` does."""
    cell, planned = _planned(device, phases, values)
    with phases("verify"), LoadedKernel(planned, device, compile_plan(planned, device.architecture)) as loaded:
        found = verified_blocks(loaded, planned.problem, cell.seed or 0)
        assert isinstance(loaded.module, EmulatedModule)
        wrong = "" if found is None else found.fault
        return _findings(("product",), [("product", wrong)] if wrong else []), loaded.module.coverage.to_json()


def run_case(device: Device, phases: Phases, values: CellJson, *, again: bool = True) -> tuple[Findings, CoverageJson]:
    """Run a cell, twice on the same inputs unless ``again`` is False, and verify both products.

    The code that the emulator has executed is returned too, as JSON; nothing of other devices.

    Raises TimeLimit, or another MmcoreError if the cell cannot run on this machine.
    """
    try:
        cell, planned = _planned(device, phases, values)
        with phases("compile"):
            module = compile_plan(planned, device.architecture)
        with phases("verify"), LoadedKernel(planned, device, module) as loaded:
            found = _verified(loaded, cell, again=again)
            return found, loaded.module.coverage.to_json() if isinstance(loaded.module, EmulatedModule) else {}
    except SharedMemoryExceeded as error:
        return [("product", SKIPPED, str(error))], {}
    except ConstraintViolation as error:
        return [("geometry", FAILED, f"its constraints allow a launch that is refused: {error}")], {}
    # These are failures of the kernel; other errors are this machine's.
    except (InvalidKernel, CompileError, errors.DeviceError, errors.KernelError) as error:
        return [("product", FAILED, str(error))], {}


def check_case(device: Device, phases: Phases, values: CellJson) -> Findings:
    """Run a cell under the sanitizer. Raises MmcoreError if the device cannot run it.

    Whether it is repeatable is not known if several threads add to one float.
    """
    cell, planned = _planned(device, phases, values)
    with phases("sanitize"):
        failures = _failures(planned, check_cell(cell, device).violations)
        is_open = has_open_order(cell, device, compile_plan(planned, device.architecture).ptx)
    found = _findings(("hazards", "over-read") if any(map(planned.over_read, MATRICES)) else ("hazards",), failures)
    return [*found, ("repeatable", SKIPPED, _OPEN_ORDER)] if is_open else found


def check_and_prove_case(device: Device, phases: Phases, values: CellJson) -> Findings:
    """Run a cell under the sanitizer and, if it is small and has no fault, prove it. Raises as :func:`check_case`."""
    found, cell = check_case(device, phases, values), Cell.from_json(values)
    small = min(cell.m, cell.n, cell.k) > 1 and cell.m * cell.n * cell.k <= MOST_PROVED
    if small and all(outcome != FAILED for _, outcome, _ in found):
        with phases("prove"):
            found.append(("proof", *_proof(cell, device)))
    return found


def code_by_value(device: Device, phases: Phases, values: CellJson) -> Findings:
    """Return the proofs that a config lacks at the sizes that its code asks for: values of A and B decide there."""
    with phases("prove"):
        found = value_dependences(Cell.from_json(values), device)
    return [("proof", SKIPPED, f"{UNPROVED}: {each}") for each in found]


def _proof(cell: Cell, device: Device) -> tuple[str, str]:
    """Return the outcome of a proof, and the reason unless it passes; a kernel that is not proved may be right."""
    try:
        proof = prove_cell(cell, device)
    except MmcoreError as error:
        return SKIPPED, str(error)
    if proof.outcome == NOT_PROVED:
        return SKIPPED, f"{UNPROVED}: {proof.reasons[0]}"
    return (FAILED, "; ".join(proof.sentences)) if proof.sentences else (PASSED, "")


def over_reads(device: Device, phases: Phases, values: CellJson, known: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return the declared over-read of each matrix in elements, and the number that a cell's launches read.

    If all of these matrices are known, the cell is not run and the numbers read are 0.
    """
    cell, planned = _planned(device, phases, values)
    declared = {matrix: elements for matrix in MATRICES if (elements := planned.over_read(matrix))}
    with phases("sanitize"):
        read = over_read_elements(cell, device) if declared.keys() - set(known) else {}
    return {matrix: (elements, read.get(matrix, 0)) for matrix, elements in declared.items()}


def launch_failures(device: Device, phases: Phases, cells: Sequence[CellJson]) -> list[tuple[str, str]]:
    """Return pairs of a config and a failure of its launches.

    A launch rule fails if it returns different launches for one product and config, or if it ignores the config.
    """
    answers: dict[str, dict[Problem, Any]] = {}
    failures: dict[str, str] = {}
    for values in cells:
        with contextlib.suppress(MmcoreError):  # the cell's own test fails for that
            plans = [_planned(device, phases, values)[1] for _ in range(3)]
            inputs = [compiler_of(each.kernel).inputs(each, device.architecture) for each in plans]
            first, *others = [(each.launches, each.entries, made) for each, made in zip(plans, inputs, strict=True)]
            answers.setdefault(plans[0].config.id, {})[plans[0].problem] = first
            if any(answer != first for answer in others):
                reason = "its launch rule returned different launches for the same product and config"
                failures[plans[0].config.id] = reason
    for one, other in itertools.combinations(answers, 2):
        common = answers[one].keys() & answers[other].keys()
        if common and all(answers[one][problem] == answers[other][problem] for problem in common):
            failures[other] = f"{one} and {other} have the same launches, so they are not different configs"
    return list(failures.items())


def fit(device: Device, phases: Phases, cells: Sequence[CellJson], capability: str) -> tuple[str, str, int]:
    """Test that the cells of one config fit a compute capability, and return the position of one that shows it.

    Only the last one is compiled.
    """
    major, minor = map(int, capability.split("."))
    several, plans = [Cell.from_json(values) for values in cells], list[Plan]()
    kernel, last = referenced_kernel(several[0].kernel), len(several) - 1
    if (major, minor) < kernel.min_compute_capability:
        return SKIPPED, f"it declares that it needs {'.'.join(map(str, kernel.min_compute_capability))}", last
    if kernel.architecture and not _runs(kernel.architecture, (major, minor)):
        return SKIPPED, f"it is compiled for {kernel.architecture} alone", last
    target = capability_target((major, minor))
    try:
        with phases("plan"):
            for cell in several:
                plans.append(target_plan(kernel, cell.problem(kernel), cell.config_of(kernel), target))
        with phases("compile"):
            _, occupancies = compiled_occupancies(plans[-1], target)
    except (ConstraintViolation, InvalidKernel, CompileError) as error:
        return SKIPPED if isinstance(error, SharedMemoryExceeded) else FAILED, str(error), min(len(plans), last)
    crowded = [each for each in occupancies if each.active_blocks == 0]
    if not crowded:
        return PASSED, "", last
    # The launch rule declares the shared memory, so the kernel is not meant for such a card.
    return SKIPPED if {*crowded[0].exceeded} == {"shared"} else FAILED, crowded[0].advice, last


def _runs(architecture: str, capability: tuple[int, int]) -> bool:
    """Return whether code for an architecture ("90", "90a", "100f") runs on a compute capability."""
    made_for = divmod(int(architecture.rstrip("af")), 10)
    if architecture.endswith("a"):
        return capability == made_for
    return capability[0] == made_for[0] and capability >= made_for


def _planned(device: Device, phases: Phases, values: CellJson) -> tuple[Cell, Plan]:
    with phases("plan"):
        cell = Cell.from_json(values)
        return cell, plan_cell(cell, device.properties)


def _verified(loaded: LoadedKernel, cell: Cell, *, again: bool) -> Findings:
    """Run a loaded kernel, and once more if its product is right and ``again`` is set."""
    problem, seed = cell.problem(loaded.plan.kernel), cell.seed or 0
    matrices = mixed_inputs(loaded, problem, seed)
    verified = verify_launches(loaded, problem, matrices)
    failures = _failures(loaded.plan, verified.violations)
    if (found := verified.verification) is None:
        return _findings((), failures)
    tested = ["product", "written", "bounds", "inputs"]
    if found.verified and again:
        others, more = _second_run(loaded, problem, seed, matrices)
        tested, failures = tested + others, failures + more
    elif not found.verified:
        wrong = "; ".join(filter(None, (str(found.mismatch), found.extent, found.reduced)))
        failures.append(("written" if found.mismatch and found.mismatch.unwritten else "product", wrong))
    return _findings(tested, failures)


def _findings(tested: Sequence[str], failures: Sequence[tuple[str, str]]) -> Findings:
    """Return the tested and the failed properties; of several failures of one property, the first."""
    reasons = dict.fromkeys(tested, "") | dict(reversed(failures))
    return [(name, FAILED if reason else PASSED, reason) for name, reason in reasons.items()]


def _failures(planned: Plan, violations: Sequence[Violation]) -> list[tuple[str, str]]:
    """Return each violation with the property that it concerns.

    A read beyond a matrix with a declared over-read means that the declaration is too small. A violation of any other
    kind, such as a failed launch, leaves no product.
    """
    failures = []
    for each in violations:
        if each.kind == "timeout":
            raise TimeLimit(str(each))
        name = next((name for name, kinds in _KINDS.items() if each.kind in kinds), "product")
        if each.kind == "out-of-bounds-read" and each.array in MATRICES and planned.over_read(each.array):
            name = "over-read"
        failures.append((name, str(each)))
    return failures


def _second_run(
    loaded: LoadedKernel, problem: Problem, seed: int, matrices: Matrices
) -> tuple[list[str], list[tuple[str, str]]]:
    """Run a right kernel again on the same inputs, rearranged; return the tested properties and the failures.

    C now contains numbers instead of poison, and workspaces the values of the first run. A kernel that uses such
    values computes a wrong product. Some elements of A and B are NaN or infinite, if the product is large enough.
    """
    inputs = with_not_finite(problem, rearranged(problem, matrices, seed), seed)
    tested = ["repeatable", *(["not-finite"] if inputs.not_finite else [])]
    reason = _second_failure(loaded, problem, inputs)
    if not reason or not inputs.not_finite:
        return tested, [("repeatable", reason)] if reason else []
    numbers = rearranged(problem, mixed_inputs(loaded, problem, seed), seed)
    if repeated := _second_failure(loaded, problem, numbers):
        return tested, [("repeatable", repeated)]
    # A kernel may refuse such numbers by an assertion, or wait for a number.
    refused = reason.startswith(_REFUSALS)
    return ["repeatable"] if refused else tested, [] if refused else [("not-finite", reason)]


def _second_failure(loaded: LoadedKernel, problem: Problem, inputs: Matrices) -> str:
    """Return the failure of another run, or nothing."""
    verified = verify_launches(loaded, problem, inputs)
    if any(violation.fatal for violation in verified.violations):
        _failures(loaded.plan, verified.violations)
    if refusals := [str(each) for each in verified.violations if each.kind in _REFUSALS and inputs.not_finite]:
        return refusals[0]
    if any(violation.fatal for violation in verified.violations):
        return f"the second run failed where the first did not: {verified.violations[-1]}"
    if verified.verification is None or verified.verification.mismatch is None:
        return ""
    found, outcome = verified.verification.mismatch, verified.verification
    if inputs.not_finite:
        return f"with NaN and infinities in A and B, {found}; {outcome.extent}"
    what = f"run again on other inputs, element ({found.row}, {found.column}) of C is wrong"
    return "; ".join(filter(None, (what, outcome.extent, outcome.reduced, *map(str, verified.violations))))

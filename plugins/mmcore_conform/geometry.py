"""Launches that are planned and compiled, but not made: refusals, launches that ignore the config, other GPUs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from mmcore.cell import Cell, referenced_kernel
from mmcore.devices.base import Device
from mmcore.errors import CompileError, ConstraintViolation, InvalidKernel, MmcoreError
from mmcore.measure import Phases
from mmcore.planning.plan import launches, plan_cell
from mmcore_conform.outcome import FAILED, PASSED, SKIPPED
from mmcore_occupancy.compiled import capability_target, compiled_occupancies, target_plan

_TIMES_ASKED = 3


def refusals(device: Device, phases: Phases, cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """The constraint violations for which each cell is refused; empty where it is not."""
    with phases("plan"):
        return [_refusal(Cell.from_json(values), device) for values in cells]


def _refusal(cell: Cell, device: Device) -> str:
    try:
        plan_cell(cell, device.properties)
    except ConstraintViolation as refused:
        return "; ".join(refused.reasons)
    return ""


def launch_failures(device: Device, phases: Phases, cells: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What is wrong with the launches of a kernel, taken together: pairs of a config and the reason.

    A launch rule that answers the same question differently fails, and so does one that ignores the config.
    """
    answers: dict[str, dict[tuple[int, ...], Any]] = {}
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
            sizes = (cell.m, cell.n, cell.k, cell.lda, cell.ldb, cell.ldc)
            answers.setdefault(config.id, {})[sizes] = (asked[0], compiled, kernel.macros(problem, config))
    for one, other in itertools.combinations(answers, 2):
        common = answers[one].keys() & answers[other].keys()
        if common and all(answers[one][sizes] == answers[other][sizes] for sizes in common):
            failures[other] = f"it is launched in the same way with {one} and with {other}, as which both are measured"
    return list(failures.items())


def fit(
    device: Device, phases: Phases, cells: Sequence[Mapping[str, Any]], capability: Sequence[int]
) -> tuple[str, str]:
    """Whether the cells of one config fit a compute capability: the outcome, and the reason. The last is compiled."""
    major, minor = capability
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

"""Launches that depend on the config, and fit GPUs that are not here: blocks, grids, registers, shared memory."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from mmcore.cell import Cell, referenced_kernel
from mmcore.devices.base import Device
from mmcore.errors import CompileError, ConstraintViolation, InvalidKernel, MmcoreError
from mmcore.kernel.declaration import Kernel
from mmcore.measure import Phases
from mmcore.planning.plan import launches
from mmcore_conform.outcome import FAILED, PASSED, SKIPPED
from mmcore_occupancy.compiled import capability_target, compiled_occupancies, target_plan

CAPABILITIES = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))
"""The compute capabilities that a kernel must fit, unless it declares that it needs a later one."""

_TIMES_ASKED = 3


def launch_failures(device: Device, phases: Phases, cells: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What is wrong with the launches of a kernel, taken together: pairs of what is concerned and the reason.

    A launch rule that answers the same question differently fails, and so does one that ignores the config.
    """
    answers: dict[str, dict[tuple[int, ...], Any]] = {}
    failures: dict[str, str] = {}
    with phases("plan"):
        for cell in map(Cell.from_json, cells):
            kernel = referenced_kernel(cell.kernel)
            config, sizes = cell.config_of(kernel).id, (cell.m, cell.n, cell.k, cell.lda, cell.ldb, cell.ldc)
            given = _answers(kernel, cell, device)
            if any(answer != given[0] for answer in given):
                failures[config] = f"asked {len(given)} times for the same launch, its rule does not give the same one"
            if given:
                answers.setdefault(config, {})[sizes] = given[0]
    for one, other in itertools.combinations(answers, 2):
        common = answers[one].keys() & answers[other].keys()
        if common and all(answers[one][sizes] == answers[other][sizes] for sizes in common):
            failures[other] = f"it is launched in the same way with {one} and with {other}, as which both are measured"
    return list(failures.items())


def _answers(kernel: Kernel, cell: Cell, device: Device) -> list[Any]:
    """Launches and what is compiled for them, asked for several times; nothing where running the case fails for it."""
    problem, config = cell.problem(kernel), cell.config_of(kernel)
    try:
        several = [launches(kernel, problem, config, device.properties) for _ in range(_TIMES_ASKED)]
        compiled = [kernel.expand(each, problem, config) for each in (kernel.entry, *kernel.options)]
        return [(asked, compiled, kernel.macros(problem, config)) for asked in several]
    except MmcoreError:
        return []


def fit(
    device: Device, phases: Phases, cells: Sequence[Mapping[str, Any]], capability: Sequence[int]
) -> tuple[str, str]:
    """Whether the cells of one config fit a compute capability: the outcome, and why it is no success.

    Code is made for the last of them.
    """
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

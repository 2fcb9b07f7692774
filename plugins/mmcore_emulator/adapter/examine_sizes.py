"""The search for faults of a kernel at the sizes that its code asks for: which sizes are run, and what is reported."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.devices.violations import Violation
from mmcore.errors import ConstraintViolation, MmcoreError, TimeLimit, WorkLimit
from mmcore.kernel.declaration import Kernel
from mmcore.measure import Phases
from mmcore.planning.plan import plan_cell
from mmcore.verify.inputs import fresh_seed
from mmcore_emulator.adapter.allowed_sizes import Size
from mmcore_emulator.adapter.device import check_emulates
from mmcore_emulator.adapter.examination_report import WORK, Examination, Tried, limit_name
from mmcore_emulator.adapter.launch_limits import failing_size, refused_size
from mmcore_emulator.adapter.size_runs import SizeRuns
from mmcore_emulator.adapter.whole_clusters import is_refused


def examination_json(
    device: Device, phases: Phases, cell: Mapping[str, Any], work: float, kernel: Kernel | None = None
) -> dict[str, Any]:
    """Return the examination of a cell, both as JSON."""
    return examine(Cell.from_json(cell), device, work, kernel, phases).to_json()


def examine(
    cell: Cell, device: Device, work: float = WORK, kernel: Kernel | None = None, phases: Phases | None = None
) -> Examination:
    """Verify a kernel and look for hazards at the sizes that its code asks for, until one shows a fault.

    Args:
        cell: the kernel, with the config and the seed; its size counts only where the config depends on it.
        device: the emulator; its deadline is kept.
        work: the estimated seconds of all runs together.
        kernel: the kernel itself, if the cell cannot name it.
        phases: counts where the time goes.

    Raises:
        NoDevice: the device is no emulator.
        MmcoreError: the kernel cannot be compiled, or does not run on the emulator.
    """
    check_emulates(device, "look for hazards")
    phases = phases or Phases()
    with phases("plan"):
        planned = plan_cell(cell, device.properties, kernel)
        cell = replace(cell, seed=fresh_seed() if cell.seed is None else cell.seed)
    tried: list[Tried] = []
    outside: Tried | None = None
    asserted: Tried | None = None
    refused_launch: Tried | None = None
    left_out = reached = ""
    with phases("check"), SizeRuns(cell, planned, device, work) as runs:
        for size in itertools.chain(runs.sizes(), runs.turned(), runs.grown()):
            in_program = planned.kernel.in_program(size.problem, planned.config)
            if not in_program and outside is not None:
                continue  # one fault is enough for a warning
            try:
                found = runs.tried(size)
                if is_refused(found) and refused_launch is None:
                    refused_launch = found
                    found = runs.tried(size := runs.in_whole_clusters(size))
            except ConstraintViolation:
                continue
            except TimeLimit as limit:
                left_out, reached = (
                    f"{size.problem} and further sizes: {limit}",
                    f"{limit_name(limit)} at {size.problem} ({size.why})",
                )
                if (size.is_beside or size.of_blocks) and isinstance(limit, WorkLimit):
                    continue
                break
            if is_refused(found):
                continue
            if found.refusal:
                asserted = asserted or found
                continue
            if in_program or found.is_right:
                tried.append(found)
            else:
                outside = found
            if in_program and not found.is_right:
                break
        tried[-1:-1] = runs.in_whole_tiles(tried)  # before the last one: remainders are no cause of their faults
        if tried and ((tried[-1].violations and not tried[-1].mismatch) or runs.left_out):
            tried += runs.with_remainders(tried)
        if tried and not reached and outside is None and (short := runs.beyond_steps()) is not None:
            if planned.kernel.in_program(short.cell.problem(planned.kernel), planned.config):
                tried = [*(each for each in tried if each.is_right or each.cell.k < short.cell.k), short]
            else:
                outside = short
        by_value = runs.value_dependences(tried)
    if asserted is not None and not tried:
        tried.append(asserted)
    elif asserted is not None:
        left_out, reached = left_out or asserted.refusal, reached or asserted.refusal
    if refused_launch is not None:
        tried.insert(0, refused_launch)
    right = all(each.is_right for each in tried)
    refused = ""
    with contextlib.suppress(MmcoreError):  # a launch rule may fail for large products
        if tried and right:
            base = tried[0].cell.problem(planned.kernel)
            refused = refused_size(planned.kernel, planned.config, device.properties, base)
    failing = failing_size(planned.kernel, planned.config, device.properties) if right else ""
    missing = tuple(runs.not_executed()) if right else ()
    left_out, reached = left_out or runs.left_out, reached or runs.unreached
    return Examination(tuple(tried), left_out, reached, missing, refused, failing, outside, by_value)


def dependences_json(
    device: Device, phases: Phases, cell: Mapping[str, Any], kernel: Kernel | None = None
) -> list[dict[str, Any]]:
    """Return what values of A and B decide about at the sizes that the code of a cell asks for, both as JSON."""
    return [each.to_json() for each in value_dependences(Cell.from_json(cell), device, kernel, phases)]


def value_dependences(
    cell: Cell, device: Device, kernel: Kernel | None = None, phases: Phases | None = None
) -> tuple[Violation, ...]:
    """Return what values of A and B decide about at the sizes that a cell's code asks for.

    Arguments and errors are those of :func:`examine`.
    """
    check_emulates(device, "prove a kernel")
    with SizeRuns(cell, plan_cell(cell, device.properties, kernel), device, WORK) as runs:
        if not runs.depends_on_values:
            return ()
    return examine(cell, device, kernel=kernel, phases=phases).by_value


def sizes_of_code(cell: Cell, device: Device, work: float = WORK) -> list[Size]:
    """Return the products that a cell's kernel asks for by its code; arguments and errors are those of examine()."""
    check_emulates(device, "see what sizes a kernel asks for")
    with SizeRuns(cell, plan_cell(cell, device.properties), device, work) as runs:
        sizes = list(runs.sizes())
        return sizes + runs.deeper(sizes)


def refilling_depth(device: Device, phases: Phases, requested: Mapping[str, Any], kernel: Kernel | None = None) -> int:
    """Return the k at which a cell, as JSON, refills each stage in shared memory twice; its own k if none does."""
    cell = Cell.from_json(requested)
    planned = plan_cell(cell, device.properties, kernel)
    with phases("plan"), SizeRuns(cell, planned, device, WORK) as runs:
        return runs.refilling_depth(planned.problem)

"""The final of a kernel's fastest configs, which take turns on the device so that noise does not decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

from mmcore.baseline_comparison import BaselineComparison
from mmcore.cell import Cell, Timing
from mmcore.devices.base import Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.kernel.arguments import MATRICES
from mmcore.measure import Phases, prepared_cell
from mmcore.planning.plan import plan
from mmcore.timing import measure_times

TURNS = "mmcore_tools.tune.finals:turns"

FINAL = Timing(max_seconds=1.0, min_rounds=20)


def turns(
    device: Device, phases: Phases, cell: Mapping[str, Any], others: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Time a cell's config and others of its kernel in turns, and return the JSON of each comparison.

    The first is the cell's own, compared with itself. The others must have been verified.
    """
    request = Cell.from_json(cell)
    with prepared_cell(request, device, phases=phases) as loaded, ExitStack() as memory:
        kernel, problem = loaded.plan.kernel, loaded.plan.problem
        matrices = {matrix: loaded.buffers[matrix] for matrix in MATRICES}
        several = [loaded]
        for config in others:
            other = plan(kernel, problem, kernel.config(**config), device.properties)
            several.append(memory.enter_context(LoadedKernel(other, device, borrowed=matrices)))
        with phases("time"):
            times = measure_times(several, FINAL)
    return [asdict(BaselineComparison.of(kernel, times[0], time)) for time in times]

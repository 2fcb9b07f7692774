"""The sanitizer on a kernel: a run on a device that watches every access, and what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmcore.cell import Cell, referenced_kernel
from mmcore.devices.base import Device
from mmcore.devices.loaded import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import NoDevice
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import dtype_named
from mmcore.measure import Phases
from mmcore.planning.plan import Plan, plan
from mmcore.verify.elements import is_poison, widen
from mmcore.verify.inputs import draw, fresh_seed
from mmcore.verify.launches import host_arrays, rows_of_product
from mmcore_emulator.launched import Launched
from mmcore_emulator.sanitizer.protocols import CheckingDevice, Output


@dataclass(frozen=True)
class Check:
    """What was found wrong with one kernel's launches for one problem.

    Attributes:
        launched: what was launched, and where.
        violations: by line, then in the order they were found; empty when all is well.
    """

    launched: Launched
    violations: tuple[Violation, ...]

    def to_json(self) -> dict[str, Any]:
        """The check as JSON-ready values."""
        return {**self.launched.to_json(), "violations": [violation.to_json() for violation in self.violations]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Check:
        """What :meth:`to_json` made."""
        return cls(Launched.from_json(values), tuple(map(Violation.from_json, values["violations"])))


def check_json(device: Device, phases: Phases, cell: Mapping[str, Any]) -> dict[str, Any]:
    """The check of a cell, both as JSON."""
    return check_cell(Cell.from_json(cell), device, phases=phases).to_json()


def check_cell(cell: Cell, device: Device, kernel: Kernel | None = None, phases: Phases | None = None) -> Check:
    """Run a kernel on fresh inputs where every hazard is looked for. Its product is not verified.

    Args:
        cell: what is checked.
        device: what looks.
        kernel: the kernel itself, where it has no name that the cell could hold.
        phases: counts where the time goes.

    Raises:
        NoDevice: the device cannot look.
        TimeLimit: its deadline has passed.
        MmcoreError: the launch is refused, or its source does not become code.
    """
    if not isinstance(device, CheckingDevice):
        raise NoDevice(f"{device.name} has no sanitizer; the device 'auto' is one that has")
    phases = phases or Phases()
    with phases("plan"):
        kernel = kernel or referenced_kernel(cell.kernel)
        problem = cell.problem(kernel)
        planned = plan(kernel, problem, cell.config_of(kernel), device.properties, force=cell.force)
    with phases("compile"):
        loaded = LoadedKernel(planned, device)
    with loaded, phases("check"):
        host = host_arrays(planned, draw(problem, fresh_seed() if cell.seed is None else cell.seed))
        if not kernel.accumulate:
            # Nobody has written C before the launch; the poison is the device's own.
            del host["C"]
        loaded.upload(host)
        seen = planned.problem
        output = Output(loaded.buffers["C"], seen.m, seen.n, seen.ldc, dtype_named(seen.output).itemsize)
        violations = device.check_launches(loaded.module, loaded.calls, output)
        violations += _poisoned_output(planned, output, violations)
    violations.sort(key=lambda violation: (violation.source or "~", violation.line or 0))
    return Check(Launched.of(loaded, device), tuple(violations))


def _poisoned_output(planned: Plan, output: Output, violations: list[Violation]) -> list[Violation]:
    """Whether C has NaN in it although the inputs are numbers, and no access that was found explains it.

    Reading the room behind a matrix is no hazard as long as the values go nowhere.
    """
    kinds = {violation.kind for violation in violations}
    if not kinds.isdisjoint(("out-of-bounds-read", "uninitialized-read")):
        return []
    problem = planned.problem
    flat = np.empty(problem.span("C"), dtype_named(problem.output).storage)
    output.buffer.download(flat)
    c = rows_of_product(planned, flat)
    wrong = np.isnan(widen(c, problem.output))
    if "unwritten-output" in kinds:
        wrong &= ~is_poison(c)
    if not wrong.any():
        return []
    row, column = (int(index) for index in np.argwhere(wrong)[0])
    message = (
        f"element ({row}, {column}) of C is NaN although A and B are numbers: "
        "what nobody wrote has reached it, from behind a matrix or between its rows, or from a variable never set"
    )
    return [Violation("uninitialized-read", message, "C", count=int(wrong.sum()))]

"""The check of a kernel: a run on a device that watches, and what it found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mmcore_emulator.sanitizer.protocols import CheckingDevice, Finding, Output
from mmcore.errors import NoDevice
from mmcore.experiment import host_arrays, rows_of_product
from mmcore.verify.inputs import draw, fresh_seed
from mmcore.verify.poison import is_poison
from mmcore.verify.storage import widen
from mmcore.devices.base import Device
from mmcore.devices.loaded import LoadedKernel
from mmcore.kernel.dtypes import dtype_named
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.declaration import Kernel
from mmcore.planning.plan import Plan, plan
from mmcore.kernel.problem import Problem


@dataclass(frozen=True)
class Check:
    """What was found wrong with one kernel's launches for one problem.

    Attributes:
        plan: what was launched.
        device, device_description: what looked.
        findings: by line, then in the order they were found; empty when all is well.
    """

    plan: Plan
    device: str
    device_description: str
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """The check as JSON-ready values."""
        problem, first = self.plan.problem, self.plan.launches[0]
        return {
            "kernel": self.plan.kernel.name,
            "device": self.device,
            "problem": {"m": problem.m, "n": problem.n, "k": problem.k},
            "block": list(first.block_dim),
            "grid": list(first.grid_dim),
            "forced": self.plan.forced,
            "findings": [finding.to_json() for finding in self.findings],
        }


def check_kernel(
    kernel: Kernel, problem: Problem, block: Dim3, device: Device, *, seed: int | None = None, force: bool = False
) -> Check:
    """Run a kernel on fresh inputs where every hazard is looked for. Its product is not verified.

    Args:
        kernel: the kernel.
        problem: the product, in the kernel's types.
        block: threads per block.
        device: what looks.
        seed: seed of the inputs; fresh when None.
        force: launch against the kernel's own constraints.

    Raises:
        NoDevice: the device cannot look.
        MmcoreError: the launch is refused, or its source does not become code.
    """
    if not isinstance(device, CheckingDevice):
        raise NoDevice(f"{device.name} does not look for hazards; the device 'auto' is one that does")
    planned = plan(kernel, problem, block, device.limits, force=force)
    with LoadedKernel(planned, device) as prepared:
        host = host_arrays(planned, draw(problem, fresh_seed() if seed is None else seed))
        if not kernel.accumulate:
            # Nobody has written C before the launch; the poison is the device's own.
            del host["C"]
        prepared.upload(host)
        seen = planned.problem
        output = Output(prepared.buffers["C"], seen.m, seen.n, seen.ldc, dtype_named(seen.output).itemsize)
        findings = device.check_launches(prepared.program, prepared.calls, output)
        findings += _poisoned_output(planned, output, findings)
    findings.sort(key=lambda finding: (finding.source or "~", finding.line or 0))
    return Check(planned, device.name, device.description, tuple(findings))


def _poisoned_output(planned: Plan, output: Output, findings: list[Finding]) -> list[Finding]:
    """Whether C has NaN in it although the inputs are numbers, and no access that was found explains it.

    Reading the room behind a matrix is no hazard as long as the values go nowhere.
    """
    kinds = {finding.kind for finding in findings}
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
    return [Finding("uninitialized-read", "C", None, None, None, None, int(wrong.sum()), message)]

"""Run a kernel and judge it: plan, compile, allocate, upload, launch, verify, and only then time."""

from __future__ import annotations

import numpy as np

from mmcore.errors import InvalidProblem
from mmcore.judging.inputs import Matrices, draw, fresh_seed
from mmcore.judging.judge import judge
from mmcore.judging.poison import is_poison
from mmcore.launching.device import Device, HostArray
from mmcore.launching.faults import Fault
from mmcore.launching.prepared import Prepared
from mmcore.outcome import Outcome
from mmcore.planning.geometry import Dim3
from mmcore.planning.kernel import Kernel
from mmcore.planning.plan import Plan, plan
from mmcore.planning.problem import Problem

MEMORIES = ("pageable", "pinned")


def run_kernel(
    kernel: Kernel,
    problem: Problem,
    block: Dim3,
    device: Device,
    *,
    memory: str = "pageable",
    seed: int | None = None,
    force: bool = False,
) -> Outcome:
    """Run one kernel on fresh inputs, verify its product and, if it is right, time it.

    Args:
        kernel: the kernel.
        problem: the product, in the kernel's types.
        block: threads per block.
        device: where to run it.
        memory: host memory of the copies that the global time contains, "pageable" or "pinned".
        seed: seed of the inputs; fresh when None.
        force: launch against the kernel's own constraints.

    Raises:
        Refused: the launch rule or the device forbids the launch.
        MmcoreError: anything else that keeps the kernel from being launched, in one sentence.
    """
    if memory not in MEMORIES:
        raise InvalidProblem(f"host memory is {' or '.join(MEMORIES)}, not {memory!r}")
    if seed is not None and (type(seed) is not int or seed < 0):
        raise InvalidProblem(f"a seed is a whole number from 0, not {seed!r}")
    planned = plan(kernel, problem, block, device.limits, force=force)
    seed = fresh_seed() if seed is None else seed
    with Prepared(planned, device) as prepared:
        matrices = draw(problem, seed)
        host = host_arrays(planned, matrices)
        prepared.upload(host)
        faults = prepared.run()
        verdict = None
        result = np.empty_like(host["C"])
        if not any(fault.fatal for fault in faults):
            prepared.buffers["C"].download(result)
            faults += _overwritten_inputs(prepared, host)
            faults += _overwritten_gaps(planned, result)
            verdict = judge(problem, kernel.accumulator, matrices, _rows(planned, result))
        kernel_seconds = global_seconds = None
        if verdict is not None and verdict.verified and not faults:
            kernel_seconds = prepared.program.kernel_seconds(prepared.calls)
            global_seconds = _global_seconds(prepared, host, result, memory)
        return Outcome(
            plan=planned,
            problem=problem,
            device=device.name,
            device_description=device.description,
            registers=max(function.registers for function in prepared.functions),
            static_shared_bytes=max(function.static_shared_bytes for function in prepared.functions),
            memory=memory,
            seed=seed,
            verdict=verdict,
            faults=tuple(faults),
            kernel_seconds=kernel_seconds,
            global_seconds=global_seconds,
        )


def host_arrays(planned: Plan, matrices: Matrices) -> dict[str, HostArray]:
    """A, B and C as the device gets them: one contiguous run of elements each, packed unless the kernel is strided."""
    views = {"A": matrices.a, "B": matrices.b, "C": matrices.c}
    if not planned.kernel.strided:
        return {label: np.ascontiguousarray(view).reshape(-1) for label, view in views.items()}
    return {
        label: (view if view.base is None else view.base).reshape(-1)[: planned.problem.span(label)]
        for label, view in views.items()
    }


def _rows(planned: Plan, flat: HostArray) -> HostArray:
    """C's elements in device order as an m×n view."""
    problem = planned.problem
    strides = (problem.ldc * flat.itemsize, flat.itemsize)
    return np.lib.stride_tricks.as_strided(flat, (problem.m, problem.n), strides)


def _overwritten_inputs(prepared: Prepared, host: dict[str, HostArray]) -> list[Fault]:
    faults = []
    for label in ("A", "B"):
        after = np.empty_like(host[label])
        prepared.buffers[label].download(after)
        changed = after.view(np.uint8) != host[label].view(np.uint8)
        if changed.any():
            index = int(changed.argmax()) // after.itemsize
            message = f"element {index} of {label}, which the kernel may only read, was changed"
            faults.append(Fault("input-overwritten", message, label))
    return faults


def _overwritten_gaps(planned: Plan, flat: HostArray) -> list[Fault]:
    """Whether the elements between C's rows, which were poison before the launch, still are."""
    problem = planned.problem
    whole_rows = flat[: (problem.m - 1) * problem.ldc].reshape(problem.m - 1, problem.ldc)
    written = ~is_poison(whole_rows[:, problem.n :])
    if not written.any():
        return []
    row, column = (int(index) for index in np.argwhere(written)[0])
    message = f"row {row}, column {problem.n + column} of C, which lies between its rows, was written"
    return [Fault("out-of-bounds-write", message, "C")]


def _global_seconds(prepared: Prepared, host: dict[str, HostArray], result: HostArray, memory: str) -> float | None:
    moved = ("A", "B", "C") if prepared.plan.kernel.accumulate else ("A", "B")
    return prepared.program.global_seconds(
        prepared.calls,
        [(prepared.buffers[label], host[label]) for label in moved],
        [(prepared.buffers["C"], result)],
        pinned=memory == "pinned",
    )

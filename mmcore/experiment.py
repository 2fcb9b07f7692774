"""One kernel on one device: planned, compiled, allocated, and as often as one likes uploaded, launched and judged."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType

import numpy as np

from mmcore.errors import InvalidProblem
from mmcore.judging.inputs import Matrices, draw, fresh_seed, other_seed
from mmcore.judging.judge import judge
from mmcore.judging.poison import is_poison
from mmcore.launching.device import Copy, Device, HostArray
from mmcore.launching.faults import Fault
from mmcore.launching.prepared import Prepared
from mmcore.launching.stopwatch import MEMORIES, Stopwatch
from mmcore.outcome import Outcome
from mmcore.planning.geometry import Dim3
from mmcore.planning.kernel import Kernel
from mmcore.planning.plan import Plan, plan
from mmcore.planning.problem import Problem


class Experiment:
    """One kernel on one device, prepared, with its inputs there: to be verified first and timed then.

    A context manager that frees the device's memory.

    Args:
        kernel: the kernel.
        problem: the product, in the kernel's types.
        block: threads per block.
        device: where to run it.
        seed: seed of the inputs; fresh when None.
        force: launch against the kernel's own constraints.

    Attributes:
        seed: seed of the inputs.

    Raises:
        Refused: the launch rule or the device forbids the launch.
        MmcoreError: anything else that keeps the kernel from being launched, in one sentence.
    """

    def __init__(
        self,
        kernel: Kernel,
        problem: Problem,
        block: Dim3,
        device: Device,
        *,
        seed: int | None = None,
        force: bool = False,
    ) -> None:
        if seed is not None and (type(seed) is not int or seed < 0):
            raise InvalidProblem(f"a seed is a whole number from 0, not {seed!r}")
        self._plan = plan(kernel, problem, block, device.limits, force=force)
        self._problem = problem
        self._device = device
        self.seed = fresh_seed() if seed is None else seed
        self._host: dict[str, HostArray] = {}
        self.prepared = Prepared(self._plan, device)

    def __enter__(self) -> Experiment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.prepared.__exit__(kind, error, traceback)

    def verify(self, seed: int | None = None, full_flops: float | None = None) -> Outcome:
        """Run the kernel once on random inputs and judge what it did; the outcome holds no times.

        Args:
            seed: seed of the inputs; the experiment's own when None.
            full_flops: up to how many operations every element is compared, as in :func:`mmcore.judging.judge.judge`.
        """
        prepared, seed = self.prepared, self.seed if seed is None else seed
        matrices = draw(self._problem, seed)
        self._host = host_arrays(self._plan, matrices)
        prepared.upload(self._host)
        faults = prepared.run()
        verdict = None
        result = np.empty_like(self._host["C"])
        if not any(fault.fatal for fault in faults):
            prepared.buffers["C"].download(result)
            faults += _overwritten_inputs(prepared, self._host)
            faults += _overwritten_gaps(self._plan, result)
            product = rows_of_product(self._plan, result)
            accumulator = self._plan.kernel.accumulator
            verdict = judge(self._problem, accumulator, matrices, product, full_flops=full_flops)
        return Outcome(
            plan=self._plan,
            problem=self._problem,
            device=self._device.name,
            device_description=self._device.description,
            registers=max(function.registers for function in prepared.functions),
            static_shared_bytes=max(function.static_shared_bytes for function in prepared.functions),
            memory=MEMORIES[0],
            seed=seed,
            verdict=verdict,
            faults=tuple(faults),
        )

    def stopwatch(self, *, cold: bool = False) -> Stopwatch | None:
        """Times the launches on the inputs they were verified with; None on a device without device time.

        Args:
            cold: whether the caches are emptied before each.
        """
        return self.prepared.program.stopwatch(self.prepared.calls, cold=cold)

    def fresh_stopwatches(self, memory: ExitStack) -> tuple[Stopwatch, Stopwatch] | None:
        """Two stopwatches: of launches that each find other inputs than the last and a C that holds no product yet,
        with the copies that see to it; and of these copies alone.

        None on a device without device time, and where there is no memory for a second set of inputs.

        Args:
            memory: closes them, and frees what they need.
        """
        if not self._device.keeps_time or 2 * self._plan.device_bytes > self._device.limits.memory_bytes:
            return None
        other = host_arrays(self._plan, draw(self._problem, other_seed(self.seed)))
        turns = []
        for arrays in (self._host, other):
            copies = []
            for label, array in arrays.items():
                source = self._device.allocate(f"another {label}", array.nbytes)
                memory.callback(source.close)
                source.upload(array)
                copies.append(Copy(source, self.prepared.buffers[label], array.nbytes))
            turns.append(copies)
        found = []
        for calls in (self.prepared.calls, ()):
            stopwatch = self.prepared.program.stopwatch(calls, refresh=turns)
            assert stopwatch is not None, "the device keeps time"
            memory.callback(stopwatch.close)
            found.append(stopwatch)
        fresh, copies_alone = found
        return fresh, copies_alone

    def global_stopwatch(self, memory: str) -> Stopwatch | None:
        """Times copies in, launches and copies out; None on a device without device time.

        Args:
            memory: host memory of the copies, "pageable" or "pinned".
        """
        buffers = self.prepared.buffers
        moved = ("A", "B", "C") if self._plan.kernel.accumulate else ("A", "B")
        return self.prepared.program.global_stopwatch(
            self.prepared.calls,
            [(buffers[label], self._host[label]) for label in moved],
            [(buffers["C"], np.empty_like(self._host["C"]))],
            pinned=memory == "pinned",
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


def rows_of_product(planned: Plan, flat: HostArray) -> HostArray:
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

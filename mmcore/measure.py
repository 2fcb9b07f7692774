"""The procedure: what happens to a cell, from its declaration to its result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from numbers import Real
from typing import Any

from mmcore.baseline_comparison import BaselineComparison, Rival, rivals
from mmcore.cell import Cell
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import KernelError, MmcoreError
from mmcore.kernel.arguments import MATRICES
from mmcore.kernel.declaration import Kernel
from mmcore.planning.plan import plan as plan_of
from mmcore.planning.plan import plan_cell, usual_config
from mmcore.product_figures import product_figures
from mmcore.registry import registry
from mmcore.result import LaunchRecord, Result
from mmcore.timing import Time, measure_times
from mmcore.verify.inputs import Matrices, draw, fresh_seed
from mmcore.verify.repeatability import compare_repeats
from mmcore.verify.verify_launches import mixed_inputs, upload_inputs, verify_again, verify_launches

_ATTEMPTS = 2  # to time a cell, where the device throttles
_CLOCK_ERROR = 0.02  # how much short a reading of the clock may be before a time counts as impossible


class Phases:
    """The host seconds of each phase of a cell; ``begun`` is called with the name of each phase as it begins."""

    def __init__(self, begun: Callable[[str], None] = lambda phase: None) -> None:
        self.seconds: dict[str, float] = {}
        self._begun = begun

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Count what happens inside to ``phase``."""
        self._begun(phase)
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - begin


def measure(cell: Cell, device: Device, kernel: Kernel | None = None, phases: Phases | None = None) -> Result:
    """Plan, compile, allocate, verify, time and verify again.

    A wrong product, a violation, or a time limit reached is no error but a result that is not verified.

    Args:
        cell: the cell to measure.
        device: the device; its deadline is the cell's time limit.
        kernel: the kernel itself, where it has no name that the cell could hold.
        phases: counts where the time goes.

    Raises:
        ConstraintViolation: the kernel's constraints or the device's limits forbid the launch.
        MmcoreError: anything else that keeps the kernel from being launched, in one sentence.
    """
    phases = phases or Phases()
    with phases("plan"):
        planned = plan_cell(cell, device.properties, kernel)
        problem = cell.problem(planned.kernel)
        seed = fresh_seed() if cell.seed is None else cell.seed
    with phases("compile"):
        module = compile_plan(planned, device.architecture)
    times: tuple[Time, ...] = ()
    compared: tuple[BaselineComparison, ...] = ()
    conditions: Mapping[str, Any] = {}
    with ExitStack() as memory:
        with phases("allocate"):
            loaded = memory.enter_context(LoadedKernel(planned, device, module))
        with phases("verify"):
            # A GPU's speed depends on its inputs: the timed inputs are the verified ones.
            timed = bool(cell.timings) and device.supports_timing
            usual = timed and cell.inputs == "usual"
            matrices = draw(problem, seed) if usual else mixed_inputs(loaded, problem, seed, cell.inputs)
            verified = verify_launches(loaded, problem, matrices)
            figures = _figures(loaded) if verified.right else {}
        try:
            if verified.right and timed:
                with phases("time"):
                    for _ in range(_ATTEMPTS):
                        with device.conditions() as conditions:
                            times, compared = _times(replace(cell, seed=seed), loaded)
                        if not conditions.get("throttled"):
                            break
                    if cell.figures and times and times[0].timing.what == "kernel":
                        further, compared = _further(replace(cell, seed=seed), loaded, matrices, times[0], compared)
                        figures |= further
                with phases("verify"):
                    warm = [seconds for time in times if str(time.timing) == "kernel-warm" for seconds in time.rounds]
                    shortest = min(warm, default=None)
                    verified = compare_repeats(loaded, problem, seed, verified, shortest)
                violations = (*_implausible(loaded, times), *verified.violations)
                verified = replace(verified, violations=violations)
            if verified.right and cell.timings:
                with phases("verify"):
                    again = verify_again(loaded, problem, seed, mixed=not timed)
                verified = verified if again.right else again
        except KernelError as error:
            verified = replace(verified, violations=(Violation("launch-failure", str(error), fatal=True),))
    return replace(
        _unverified(replace(cell, seed=seed, device=device.name), loaded),
        verification=verified.verification,
        violations=verified.violations,
        times=times if verified.right else (),
        compared=compared if verified.right else (),
        conditions=conditions,
        host_seconds=verified.host_seconds,
        figures=figures,
        phases=phases.seconds,
    )


@contextmanager
def prepared_cell(
    cell: Cell, device: Device, kernel: Kernel | None = None, phases: Phases | None = None, *, mixed: bool = False
) -> Iterator[LoadedKernel]:
    """Yield a cell planned, compiled and loaded, with its inputs on the device, for tools that launch it themselves.

    Arguments and errors are those of :func:`measure`; ``mixed`` asks for inputs of several kinds. C is only written
    where the kernel adds to it, or to zeros.
    """
    phases = phases or Phases()
    with phases("plan"):
        planned = plan_cell(cell, device.properties, kernel)
    with phases("compile"):
        loaded = LoadedKernel(planned, device)
    with loaded:
        seed = fresh_seed() if cell.seed is None else cell.seed
        problem = loaded.plan.problem
        upload_inputs(loaded, mixed_inputs(loaded, problem, seed) if mixed else draw(problem, seed))
        yield loaded


def _times(cell: Cell, loaded: LoadedKernel) -> tuple[tuple[Time, ...], tuple[BaselineComparison, ...]]:
    """Return the cell's times, and the comparisons with its first kernel time."""
    times: list[Time] = []
    compared: list[BaselineComparison] = []
    plan = loaded.plan
    for timing in cell.timings:
        with ExitStack() as memory:
            others: list[LoadedKernel] = []
            first = timing.what == "kernel" and not compared
            for rival in rivals(cell, plan.kernel, plan.config) if first else ():
                try:
                    others.append(memory.enter_context(_loaded_rival(rival, cell, loaded)))
                except MmcoreError as error:
                    compared.append(BaselineComparison(rival.kernel.name, rival.kernel.title, reason=str(error)))
            measured, *their_times = measure_times([loaded, *others], timing)
            compared += [
                BaselineComparison.of(each.plan.kernel, measured, time)
                for each, time in zip(others, their_times, strict=True)
            ]
            times.append(measured)
    return tuple(times), tuple(compared)


def _further(
    cell: Cell, loaded: LoadedKernel, matrices: Matrices, time: Time, compared: tuple[BaselineComparison, ...]
) -> tuple[dict[str, float | None], tuple[BaselineComparison, ...]]:
    """Return a kernel's further figures, and its comparisons with those of the others."""
    named = {rival.kernel.name: rival for rival in rivals(cell, loaded.plan.kernel, loaded.plan.config)}

    def figures_of(each: BaselineComparison) -> Mapping[str, float | None]:
        if each.time is None:
            return {}
        with _loaded_rival(named[each.kernel], cell, loaded) as other:
            given = matrices if other.buffers["C"] is loaded.buffers["C"] else None
            return product_figures(cell.figures, other, given, each.time.seconds)

    figures = product_figures(cell.figures, loaded, matrices, time.seconds)
    return figures, tuple(replace(each, figures=figures_of(each)) for each in compared)


def _loaded_rival(rival: Rival, cell: Cell, loaded: LoadedKernel) -> LoadedKernel:
    """Return a rival that uses a loaded kernel's matrices, or further inputs if it computes another product."""
    kernel, device, problem = rival.kernel, loaded.device, loaded.plan.problem
    if not kernel.computes(problem):
        problem = cell.problem(kernel)
    config = rival.config or usual_config(kernel, problem, device.properties)[0]
    planned = plan_of(kernel, problem, config, device.properties)
    if problem is loaded.plan.problem:
        return LoadedKernel(planned, device, borrowed={matrix: loaded.buffers[matrix] for matrix in MATRICES})
    assert cell.seed is not None, "the seed of the verified inputs"
    with ExitStack() as memory:
        other = memory.enter_context(LoadedKernel(planned, device))
        upload_inputs(other, draw(problem, cell.seed))
        memory.pop_all()
    return other


def _figures(loaded: LoadedKernel) -> dict[str, float | None]:
    """Return the figures that plugins add."""
    several = registry().answers("mmcore_figures", _numbers, kernel=loaded, device=loaded.device)
    return {name: value for figures in several for name, value in figures.items()}


def _numbers(answer: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return an answer of numbers, or None, by name; raises for any other."""
    for name, value in answer.items():
        if not isinstance(name, str):
            raise TypeError(f"the name of a figure is {name!r}, not a text")
        if value is not None and not (isinstance(value, Real) and math.isfinite(value)):
            raise TypeError(f"figure {name} is {value!r}, not a finite number")
    return dict(answer)


def _implausible(loaded: LoadedKernel, times: tuple[Time, ...]) -> Iterator[Violation]:
    """Yield a violation for each kernel time that the device cannot reach."""
    planned, device = loaded.plan, loaded.device
    for each in times:
        if device.peaks is None or each.timing.what != "kernel":
            continue
        least = device.peaks.least_seconds(planned.problem, planned.kernel.unit, cold=each.timing.how == "cold")
        if each.seconds < least * (1 - _CLOCK_ERROR):
            yield Violation(
                "implausible",
                f"{each.seconds * 1e6:.3g} µs for {planned.problem}, which takes {least * 1e6:.3g} µs at least at "
                f"{device.description}'s peak arithmetic and memory rates; the launch that was timed cannot have "
                "computed the product",
            )


def launch_records(loaded: LoadedKernel) -> tuple[LaunchRecord, ...]:
    """Return the records of a kernel's launches, in order."""
    return tuple(
        LaunchRecord(
            entry=loaded.plan.entry(launch) or call.function.symbol,
            grid=launch.grid_dim,
            block=launch.block_dim,
            registers=call.function.registers,
            shared_bytes=call.function.static_shared_bytes + call.launch.shared_bytes,
            local_bytes=call.function.local_bytes,
            spill_store_bytes=call.function.spill_store_bytes,
            spill_load_bytes=call.function.spill_load_bytes,
        )
        for launch, call in zip(loaded.plan.launches, loaded.launches, strict=True)
    )


def _unverified(cell: Cell, loaded: LoadedKernel) -> Result:
    """Return the result of a cell before its launches."""
    planned, kernel, device = loaded.plan, loaded.plan.kernel, loaded.device
    timing = next((each for each in cell.timings if each.what == "kernel"), None)
    bound = None
    if timing and device.peaks and device.supports_timing:
        bound = device.peaks.bound(planned.problem, kernel.unit, cold=timing.how == "cold")
    kernels, providers, provenance = registry().kernels, registry().providers, registry().provenance
    return Result(
        cell=cell,
        kernel=kernel.name,
        distributions={
            "kernel": provenance(kernel.name, kernels) if cell.kernel == kernel.name else "",
            "device": provenance(device.name.partition(":")[0], providers),
        },
        title=kernel.title,
        dtype=kernel.dtype,
        output=kernel.output,
        accumulator=kernel.accumulator,
        operation=kernel.operation,
        column_major=kernel.column_major,
        alpha=kernel.alpha,
        beta=kernel.beta,
        config=planned.config.to_json(),
        config_id=planned.config.id,
        config_origin=planned.config_origin,
        violated_constraints=tuple(kernel.violations(planned.problem, planned.config)) if cell.force else (),
        excluded_host_code=loaded.compiled.excluded_host_code,
        strided=bool(kernel.strided),
        launched=launch_records(loaded),
        device_description=device.description,
        supports_timing=device.supports_timing,
        peak_flops=None if device.peaks is None else device.peaks.of(kernel.unit),
        bound_ms=bound and bound.seconds * 1e3,
        bound_by=bound.by if bound else "",
    )

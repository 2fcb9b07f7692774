"""A small product of a kernel on the emulator, from which the reasons of a larger one's time are found."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from mmcore.cell import Cell
from mmcore.compile.compiled_module import CompiledFunction, CompiledModule
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.problem import Problem
from mmcore.measure import Phases
from mmcore.planning.plan import Plan, plan_cell
from mmcore.result import LaunchRecord
from mmcore.verify.inputs import fresh_seed
from mmcore.verify.verify_launches import Verified, mixed_inputs, verify_launches
from mmcore_cuda.occupancy.compiled import launch_occupancies
from mmcore_cuda.occupancy.theoretical import Occupancy
from mmcore_emulator.adapter.conversions import execute, mmcore_violations
from mmcore_emulator.adapter.device import emulated_runs
from mmcore_emulator.adapter.same_branches import same_branches
from mmcore_emulator.adapter.small_product import small_product
from mmcore_emulator.executor.coverage import Coverage
from mmcore_emulator.executor.translation.translate import Translation
from mmcore_emulator.profiler.counters import Counters, Line
from mmcore_emulator.ptx.instructions import Block, Instruction
from mmcore_performance.cards import Card
from mmcore_performance.divergence import Divergence
from mmcore_performance.overlap import Overlaps
from mmcore_performance.padding import SharedArray
from mmcore_performance.sites import Site, SiteRecorder
from mmcore_performance.thread_work import ThreadWork

_EDGES = (64, 128, 256)
_Recorder: TypeAlias = Callable[[Sequence[Block]], SiteRecorder]


@dataclass(frozen=True)
class ObservedLaunch:
    """One launch.

    Attributes:
        grid, block: of the requested product.
        occupancy: the blocks and warps that a multiprocessor of the card keeps active.
        function: the compiled function.
        lines, sites, mix: counters, accesses and classes of instructions of the small product's launch.
        executions: how often its warps execute each line.
        overlaps: the copies that are under way while it multiplies.
        divergence: the instructions that its warps execute with few of their lanes; None if there are none.
        plain_order: where a block's index is read, if blocks take tiles in the order of their numbers.
        work: the multiply-adds of the small product's blocks, and the threads that write its C.
        shared: its accesses to each array in shared memory, by name.
        requested: the counters of the requested product's launch, if they could be scaled from small ones.
    """

    grid: Dim3
    block: Dim3
    occupancy: Occupancy
    function: CompiledFunction
    lines: Mapping[Line, Counters]
    sites: tuple[Site, ...]
    mix: Mapping[Line, Mapping[str, int]]
    executions: Mapping[Line, float]
    overlaps: Overlaps
    divergence: Divergence | None
    plain_order: Instruction | None
    work: ThreadWork
    shared: Mapping[str, SharedArray]
    requested: Mapping[Line, Counters] = field(default_factory=dict)


@dataclass(frozen=True)
class Observation:
    """The launches of a product on one card.

    Attributes:
        problem: the requested product.
        small: the product that was run.
        cell: the cell of that product.
        code: the compiled code.
        right: True if the small product was right.
        violations: errors of the small product's launches; their counts mean little.
        not_executed: the lines and branches that the small product left out, as of :class:`Findings`.
        steps: the multiply-adds for an element of C, if their number is the same in products of different k; else 0.
    """

    kernel: Kernel
    problem: Problem
    small: Problem
    cell: Cell
    card: Card
    code: CompiledModule
    launches: tuple[ObservedLaunch, ...]
    right: bool
    violations: tuple[Violation, ...]
    not_executed: tuple[Mapping[str, Any], ...] = ()
    steps: float = 0.0


def observe(
    cell: Cell, device: Device, kernel: Kernel | None, phases: Phases, card: Card, recorder: _Recorder = SiteRecorder
) -> Observation:
    """Run and verify a small product like a cell's on the emulator, and return what its launches do.

    ``recorder`` makes the observer of a launch from its basic blocks.

    Raises:
        TimeLimit: the device's deadline has passed.
        MmcoreError: a launch is refused, or the source does not compile.
    """
    planned = plan_cell(cell, device.properties, kernel)
    with phases("compile"):
        module = compile_plan(planned, device.architecture)
    occupancies = launch_occupancies(planned, module, card.capability)
    functions = [module.functions[planned.entry(launch)] for launch in planned.launches]
    records = [
        LaunchRecord(
            planned.entry(launch), launch.grid_dim, launch.block_dim, function.registers, occupancy.shared_per_block
        )
        for launch, function, occupancy in zip(planned.launches, functions, occupancies, strict=True)
    ]
    same = same_branches(planned, module, device.properties)
    small = (
        _small_square(cell, planned, device, same)
        or small_product(cell, planned.kernel, planned.config.to_json(), records, same)
        or cell
    )
    verified, recorders, coverage = _recorded(small, device, kernel, phases, recorder)
    missing = tuple(coverage.missing(planned.kernel.source.name))
    launches = tuple(
        ObservedLaunch(
            record.grid,
            record.block,
            occupancy.in_grid(record.grid.size),
            function,
            recorder.lines,
            recorder.sites,
            recorder.mix,
            recorder.executions,
            recorder.overlaps,
            recorder.divergence,
            recorder.plain_order,
            recorder.work,
            recorder.shared,
        )
        for record, occupancy, function, recorder in zip(records, occupancies, functions, recorders, strict=False)
    )
    requested, run = planned.problem, small.problem(planned.kernel)
    right, violations = verified.right, verified.violations
    return Observation(planned.kernel, requested, run, small, card, module, launches, right, violations, missing)


def _recorded(
    cell: Cell, device: Device, kernel: Kernel | None, phases: Phases, recorder: _Recorder
) -> tuple[Verified, Sequence[SiteRecorder], Coverage]:
    """Make a small product's launches once; return their verification, a recorder of each, and the executed code."""
    recorders, coverage = list[SiteRecorder](), Coverage()

    def recording(translation: Translation) -> SiteRecorder:
        recorders.append(recorder(translation.blocks))
        return recorders[-1]

    with phases("compile"):
        loaded = LoadedKernel(plan_cell(cell, device.properties, kernel), device)
    with loaded, phases("count"):

        def launch() -> list[Violation]:
            violations: list[Violation] = []
            for each in emulated_runs(loaded, recording):
                execute(each)
                coverage.add(each)
                violations += mmcore_violations(each.violations.values())
            return violations

        problem = cell.problem(loaded.plan.kernel)
        matrices = mixed_inputs(loaded, problem, fresh_seed() if cell.seed is None else cell.seed)
        return verify_launches(loaded, problem, matrices, launch=launch), recorders, coverage


def _small_square(
    cell: Cell, planned: Plan, device: Device, takes_same_branches: Callable[[Cell], bool]
) -> Cell | None:
    """Return the cell with the least square product of several blocks, if it is square itself; None if there is none.

    It takes the same branches, and has the cell's remainder. A launch rule that was inferred from one size may hold for
    squares alone.
    """
    if not cell.m == cell.n == cell.k:
        return None
    config = planned.config.to_json() if cell.config else {}
    for size in (edge + cell.m % edge for edge in _EDGES if edge <= cell.m):
        with contextlib.suppress(MmcoreError):
            small = replace(cell, m=size, n=size, k=size, lda=0, ldb=0, ldc=0, config=config)
            grids = [launch.grid_dim for launch in plan_cell(small, device.properties, planned.kernel).launches]
            wanted = [launch.grid_dim for launch in planned.launches]
            if all(map(_as_many, grids, wanted)) and takes_same_branches(small):
                return small
    return None


def _as_many(grid: Dim3, wanted: Dim3) -> bool:
    """Return whether a grid has several blocks along the axes along which another has."""
    return all(min(few, 2) >= min(many, 2) for few, many in zip(grid, wanted, strict=True))

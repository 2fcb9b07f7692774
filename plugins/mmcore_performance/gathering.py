"""Gathering the evidence of a kernel: its plan on a card, its counts and its resources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mmcore.cell import Cell
from mmcore.compile.compiler import compile_plan
from mmcore.executor.choose_device import device_properties, open_device
from mmcore.kernel.declaration import Kernel
from mmcore.planning.plan import Plan, plan_cell
from mmcore_cuda.occupancy.compiled import launch_occupancies
from mmcore_performance.caches import traffic_of
from mmcore_performance.cards import Card, emulator_of
from mmcore_performance.counted import Counts, Profiler, counted, profiled
from mmcore_performance.evidence import Evidence, LaunchEvidence


def evidence_of(cell: Cell, card: Card, kernel: Kernel | None = None, profiler: Profiler = profiled) -> Evidence:
    """Return the evidence of a cell on a card, whose GPU need not be there; the cell's device is ignored.

    Args:
        cell: the kernel, the product and the config.
        card: the card to predict a time for.
        kernel: the kernel itself, where it has no name that the cell could hold.
        profiler: runs the small products.

    Raises:
        MmcoreError: the card cannot launch the kernel, or no small product of it runs on the emulator.
    """
    emulated, plan = card_plan(cell, card, kernel)
    return planned_evidence(plan, card, counted(emulated, plan, profiler))


def card_plan(cell: Cell, card: Card, kernel: Kernel | None = None) -> tuple[Cell, Plan]:
    """Return a cell on the emulator of a card's compute capability, and its plan on the card. Raises MmcoreError."""
    emulated = replace(cell, device=emulator_of(card))
    properties = replace(
        device_properties(emulated.device), multiprocessors=card.multiprocessors, card=f"NVIDIA {card.name}"
    )
    return emulated, plan_cell(emulated, properties, kernel)


def planned_evidence(plan: Plan, card: Card, counts: Sequence[Counts]) -> Evidence:
    """Return the evidence of a planned product whose launches were counted."""
    module = compile_plan(plan, open_device(emulator_of(card)).architecture)
    launches = []
    for launch, occupancy, launch_counts in zip(
        plan.launches, launch_occupancies(plan, module, card.capability), counts, strict=True
    ):
        traffic = traffic_of(launch_counts, launch.grid_dim.size, occupancy, plan.problem, card)
        launches.append(
            LaunchEvidence(
                entry=plan.entry(launch),
                grid=launch.grid_dim,
                block=launch.block_dim,
                occupancy=occupancy,
                lines=launch_counts.lines,
                traffic=traffic,
                mix=launch_counts.mix,
                waits=launch_counts.waits,
                working=min(round(launch_counts.working), launch.grid_dim.size),
            )
        )
    return Evidence(plan.kernel, plan.config, plan.problem, card, tuple(launches))

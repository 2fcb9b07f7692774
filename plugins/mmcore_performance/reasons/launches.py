"""Reasons in the launch: too few blocks, incomplete warps, too few warps on a multiprocessor."""

from __future__ import annotations

from collections.abc import Iterable

from mmcore.kernel.geometry import ceil_div
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.profiler.counters import total
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.reasons.reason import Reason, counted, on
from mmcore_performance.reasons.waits import waits_together

_ENOUGH_WARPS = 16  # of a multiprocessor, to hide the latency of loads
_LEAST_TILE = 256  # elements of C of a block that is worth its launch


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reasons."""
    yield from _incomplete_warps(launch)
    if launch.grid.size >= observation.card.multiprocessors:
        yield from _few_warps(launch)
        yield _last_wave(observation, launch)
    elif fills_card(observation):
        yield _few_blocks(observation, launch)


def fills_card(observation: Observation) -> bool:
    """Return whether C has a tile that is worth a block for each multiprocessor of the card."""
    problem = observation.problem
    return problem.m * problem.n >= observation.card.multiprocessors * _LEAST_TILE


def _incomplete_warps(launch: ObservedLaunch) -> Iterable[Reason]:
    threads, places = launch.block.size, launch.occupancy.warps_per_block * WARP
    if threads < places:
        where = f"warps of {WARP}" if places > WARP else f"a warp of {WARP}"
        yield Reason(
            "incomplete warps",
            f"a block of {threads} threads leaves {places - threads} of the {places} places in {where} empty",
            f"take blocks of a multiple of {WARP} threads, such as 16×16",
            factor=threads / places,
        )


def _few_blocks(observation: Observation, launch: ObservedLaunch) -> Reason:
    blocks, there = launch.grid.size, observation.card.multiprocessors
    verb = "work" if blocks > 1 else "works"
    return Reason(
        "few blocks",
        f"the grid has {counted(blocks, 'block')}, so that {blocks} of the {there} multiprocessors of "
        f"{on(observation.card.name)} {verb}",
        "launch a block for each tile of C, with smaller tiles, or split k among blocks",
        factor=blocks / there,
        scope="work",
    )


def _few_warps(launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reason of too few active warps, unless latency matters little or is hidden otherwise.

    Tensor cores need no more warps, nor do blocks that copy tiles into shared memory.
    """
    occupancy, counters = launch.occupancy, total(launch.lines.values())
    warps = occupancy.active_warps
    tiles = launch.overlaps.phases and waits_together(launch)
    if 0 < warps < _ENOUGH_WARPS and not counters.tensor_instructions and not tiles:
        fit = f"{counted(occupancy.active_blocks, 'block')} of {counted(occupancy.warps_per_block, 'warp')}"
        yield Reason(
            "few warps",
            f"a multiprocessor keeps {warps} of {occupancy.of.warps} warps active ({fit}), too few to hide the latency "
            "of loads",
            occupancy.advice.replace(": ", "; ", 1) if occupancy.binding != ("grid",) else "launch more blocks",
            factor=warps / _ENOUGH_WARPS,
            scope="waits",
        )


def _last_wave(observation: Observation, launch: ObservedLaunch) -> Reason:
    card, blocks = observation.card, launch.grid.size
    most = ceil_div(blocks, card.multiprocessors)
    return Reason(
        "last wave",
        f"{blocks:,} blocks are no multiple of {card.multiprocessors} multiprocessors: some have {most:,} and others "
        f"{most - 1:,}",
        "take another size of tiles, a persistent grid, or split k among blocks",
        factor=blocks / (most * card.multiprocessors),
        scope="work",
    )

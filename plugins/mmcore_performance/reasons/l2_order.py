"""The reason of blocks that run at the same time and share few tiles of A and B."""

from __future__ import annotations

from collections.abc import Iterable

from mmcore.kernel.geometry import ceil_div
from mmcore_emulator.profiler.by_line import line_of
from mmcore_performance.cards import Card
from mmcore_performance.costs import costs, together
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.reasons.reason import Reason, counted, on

_GROUPS = (2, 4, 8, 16, 32)


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reason, for a kernel whose blocks take tiles of C row by row, in the order of their numbers."""
    card, problem, small, grid = observation.card, observation.problem, observation.small, launch.grid
    at = launch.plain_order
    if at is None or grid.y == 1 or grid.z > 1 or problem.compulsory_bytes <= card.cache_bytes:
        return
    at_once = card.multiprocessors * max(1, launch.occupancy.active_blocks)
    rows = max(1, at_once // grid.x)
    loaded = {group: _input_bytes(observation, launch, at_once, group) for group in {rows, *_GROUPS}}
    group = min(loaded, key=lambda each: (loaded[each], each))
    grown = problem.m * problem.n * problem.k / (small.m * small.n * small.k)
    work = costs(launch, card).cycles * grown / (card.multiprocessors * card.clock_hz)
    before, after = (_seconds(work, nbytes, card) for nbytes in (loaded[rows], loaded[group]))
    yield Reason(
        "L2 order",
        f"blocks that run at the same time compute {counted(rows, 'row')} of {min(grid.x, at_once)} tiles of C: they "
        f"read {loaded[rows] / 1e9:.2g} GB of A and B past the L2 cache of {on(card.name)}, where "
        f"{loaded[group] / 1e9:.2g} GB would do",
        f"let blocks take tiles down {group} rows and then one to the right, by dividing a number of the block",
        line_of(at),
        at.column,
        factor=after / before,
        uncounted=True,
    )


def _input_bytes(observation: Observation, launch: ObservedLaunch, at_once: int, group: int) -> float:
    """Return the bytes of A and B that are read from device memory, if blocks take tiles by groups of rows of tiles.

    What takes at most half of the L2 cache is read once.
    """
    problem, grid, kept = observation.problem, launch.grid, observation.card.cache_bytes / 2
    side = problem.k * problem.dtype_of("A").itemsize
    columns, rows = problem.n * side, problem.m * side
    waves = ceil_div(grid.x * group, at_once)  # of a group
    columns_read = columns * (1 if columns <= kept else ceil_div(grid.y, group))
    rows_read = rows * (1 if rows * group / grid.y <= kept else waves)
    return columns_read + rows_read


def _seconds(work: float, nbytes: float, card: Card) -> float:
    return together((work, nbytes / card.dram_bytes_per_second))

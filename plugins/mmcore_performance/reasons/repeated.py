"""Reasons in multiply-adds that the product does not ask for: repeated ones, and those of blocks outside of C."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.problem import dtype_named
from mmcore_emulator.profiler.counters import Line
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.reasons.reason import Reason, counted

_REPEATED = 1.5  # multiply-adds in relation to those of the product, from which work is done again


class _Tiles(NamedTuple):
    """The parts of the small product's C that blocks write; lines are its rows, or its columns if it has these."""

    elements: NDArray[np.int64]  # of each block
    lines: int  # the most that a block has
    length: int  # the most elements of a line that a block has
    shared: float  # the part of C's elements that several threads write


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reasons of a launch that is the only one and multiplies without tensor cores."""
    work = launch.work
    if len(observation.launches) > 1 or not work.block_fmas.any():
        return
    tiles = _tiles(observation, launch)
    if tiles is not None:
        yield from _superfluous_blocks(observation, launch, tiles)
    line = max(launch.lines, key=lambda each: launch.lines[each].fmas)
    yield from _repeated(observation, launch, tiles, line)


def _superfluous_blocks(observation: Observation, launch: ObservedLaunch, tiles: _Tiles) -> Iterable[Reason]:
    """Yield the reason of blocks that multiply, and store nothing."""
    problem, fmas, idle = observation.problem, launch.work.block_fmas, ~launch.work.storing
    multiplying = idle & (fmas > 0)
    if not multiplying.any() or idle.all():
        return
    lines, length = problem.stored_shape("C")
    needed, blocks = ceil_div(lines, tiles.lines) * ceil_div(length, tiles.length), launch.grid.size
    of_each = fmas[multiplying].sum() / idle.sum() / fmas[~idle].mean()
    times = 1 + (blocks - needed) / needed * float(of_each)
    if times > 1:
        yield Reason(
            "superfluous blocks",
            f"{counted(needed, 'block')} cover C, and the grid has {blocks:,}, whose others multiply, too: "
            f"{times:.3g} times the work",
            "launch as many blocks as cover C, or let a block outside of C return before its loop",
            factor=1 / times,
        )


def _repeated(observation: Observation, launch: ObservedLaunch, tiles: _Tiles | None, line: Line) -> Iterable[Reason]:
    """Yield the reason of a launch that takes more multiply-adds for an element of C than k."""
    small, fmas, k = observation.small, launch.work.block_fmas, observation.small.k
    shared = tiles is not None and tiles.shared >= _REPEATED - 1
    steps = fmas.sum() / (small.m * small.n)
    if observation.steps:
        steps, k = observation.steps, observation.problem.k
    elif tiles is None:  # how much of C a block has is unknown, such as where parts of k are added
        return
    elif not shared:  # blocks at the edges of C multiply for fewer elements
        full = tiles.elements == tiles.elements.max()
        steps = fmas[full].sum() / tiles.elements[full].sum()
    many, few = (sum(each.fmas for each in lines.values()) for lines in (launch.requested, launch.lines))
    if many:
        requested = observation.problem
        steps *= many / few * (small.m * small.n) / (requested.m * requested.n)
        k = requested.k
    if steps < _REPEATED * k:
        return
    if shared and not observation.steps:
        sentence = f"each product of elements is computed {steps / k:.3g} times"
        sentence += ", since several threads compute the same element"
        advice = "let each thread compute other elements of C"
    else:
        sentence = f"an element of C takes {steps:.0f} multiply-adds, and k = {k} asks for {k}"
        advice = "let the loop along k end at k, and compute each element once"
    yield Reason("repeated work", sentence, advice, line, 0, factor=float(k / steps))


def _tiles(observation: Observation, launch: ObservedLaunch) -> _Tiles | None:
    """Return the parts of C that blocks write last; None if no thread stores any of it."""
    small, work = observation.small, launch.work
    itemsize = dtype_named(small.output).itemsize
    writers, shared = work.writers[::itemsize], work.shared[::itemsize]
    written = np.flatnonzero(writers >= 0)
    if not written.size:
        return None
    blocks = writers[written] // work.block_threads
    elements = np.bincount(blocks, minlength=work.block_fmas.size)
    lines, places = np.divmod(written, small.leading("C"))
    most = [_most_distinct(blocks, each) for each in (lines, places)]
    return _Tiles(elements, most[0], most[1], float(shared[written].mean()))


def _most_distinct(blocks: NDArray[np.int64], values: NDArray[np.int64]) -> int:
    """Return the most different values that a block has."""
    pairs = np.unique(np.stack([blocks, values]), axis=1)
    return int(np.bincount(pairs[0]).max())

"""Counting a launch from all of its blocks, or from a few where they all do the same and all would take long.

Blocks can only be told apart by their index. Along each axis of the grid the last block may hang over the edge of a
matrix; those before it are taken to do the same if the first three, the middle one and the last of them do, in every
combination with the other axes. Where two of them differ, or where addresses or branches depend on what was loaded, all
blocks are run. A block between these that is unlike them all goes unseen, so that a sample is always said to be one.

Some blocks have then run twice, and others never: what the launch leaves in memory, a module's variables included, is
not what it should be, and nothing that is counted behind it may depend on that.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

from mmcore.devices.violations import Violation
from mmcore.kernel.geometry import Dim3
from mmcore_emulator.flow import destinations, reads
from mmcore_emulator.lanes import Batch
from mmcore_emulator.lockstep import execute
from mmcore_emulator.machine import Run
from mmcore_emulator.observation import Observer
from mmcore_emulator.profiler.counted import LaunchCounts, Line
from mmcore_emulator.profiler.counters import Counters, total
from mmcore_emulator.profiler.counting import Counting
from mmcore_emulator.ptx import Address, Function, Instruction, Register
from mmcore_emulator.step import Step

ALL_BLOCKS_INSTRUCTIONS = 5_000_000_000
"""A launch of no more thread instructions runs all of its blocks; that takes some ten seconds."""

Lines = dict[Line, Counters]
# (indices to try, how many there are) of blocks that should do the same, along one axis.
_Kind = tuple[tuple[int, ...], int]


class CountedLaunch:
    """Counts one launch.

    Args:
        prepare: makes the run, watched by an observer.
        steps: the kernel's basic blocks.
        varied: whether blocks may differ by more than their place, so that none stands for another, or what they leave
            in memory matters: then each is run, and once.

    Attributes:
        counts: what was counted.
        violations: what the blocks that were run did wrong; the first occurrence of each.
    """

    def __init__(self, prepare: Callable[[Observer], Run], steps: Sequence[Step], *, varied: bool) -> None:
        self._prepare = prepare
        self._steps = steps
        self._faults: dict[tuple[object, ...], Violation] = {}
        run = prepare(Observer())
        sampled = None if varied else self._from_some(run.grid, run.block)
        if sampled is None:
            self._faults.clear()
            sampled = self._lines_of(None), run.grid.size
        lines, blocks_run = sampled
        self.counts = LaunchCounts(total(lines.values()), lines, run.grid.size, blocks_run)
        self.violations = list(self._faults.values())

    def _lines_of(self, batches: Iterable[Batch] | None) -> Lines:
        counting = Counting(self._steps)
        run = self._prepare(counting)
        execute(run, batches)
        self._faults = run.violations | self._faults
        return counting.lines

    def _from_some(self, grid: Dim3, block: Dim3) -> tuple[Lines, int] | None:
        """The grid's counters from some of its blocks, and of how many; None where all must be run, or may as well."""
        kinds = [_kinds(blocks) for blocks in grid]
        if sum(len(tried) for per_axis in kinds for tried, _ in per_axis) == sum(grid):
            return None

        def of_block(*index: int) -> Lines:
            return self._lines_of([Batch(grid, block, Dim3(*index), Dim3(1))])

        first = total(of_block(0, 0, 0).values())
        if first.thread_instructions * grid.size <= ALL_BLOCKS_INSTRUCTIONS:
            return None
        lines: Lines = {}
        blocks_run = 0
        for (xs, wide), (ys, high), (zs, deep) in itertools.product(*kinds):
            alike = [of_block(x, y, z) for z, y, x in itertools.product(zs, ys, xs)]
            if any(other != alike[0] for other in alike):
                return None
            blocks_run += len(alike)
            for line, counters in alike[0].items():
                lines[line] = lines.get(line, Counters()) + counters * (wide * high * deep)
        return dict(sorted(lines.items())), blocks_run


def _kinds(blocks: int) -> list[_Kind]:
    """Blocks along one axis, sorted into those that should do the same."""
    last = blocks - 1
    tried = sorted({0, 1, 2, last // 2, last - 1})
    if last < len(tried):
        return [((index,), 1) for index in range(blocks)]
    return [(tuple(tried), last), ((last,), 1)]


def depends_on_data(function: Function) -> bool:
    """Whether an address or a branch may depend on what was loaded from memory other than the parameters."""
    loaded: set[Register] = set()
    spreading = True
    while spreading:
        before = len(loaded)
        for at in function.body:
            if _loads(at) or not loaded.isdisjoint(reads(at)):
                loaded.update(destinations(at))
        spreading = len(loaded) > before
    return any(not loaded.isdisjoint(_directing(at)) for at in function.body)


def _loads(at: Instruction) -> bool:
    return at.opcode[0] in ("ld", "atom") and at.opcode[1:2] != ("param",)


def _directing(at: Instruction) -> list[Register]:
    """The registers that decide whether or where an instruction does something."""
    bases = [operand.base for operand in at.operands if isinstance(operand, Address)]
    return [each for each in (*bases, at.guard) if isinstance(each, Register)]

"""An observer that counts what a launch does, line by line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mmcore_emulator.profiler.counters import Counters
from mmcore_emulator.profiler.counted import Line
from mmcore_emulator.profiler.coalescing import Active, Rows, by_warp, requests, sectors, transactions_cc1x, wavefronts
from mmcore_emulator.kinds import FLOATS
from mmcore_emulator.lanes import Batch, Mask
from mmcore_emulator.observation import Access, Observer
from mmcore_emulator.ptx import Instruction
from mmcore_emulator.step import Step

_FLOPS = {"fma": 2, "mad": 2, "add": 1, "sub": 1, "mul": 1, "div": 1, "rcp": 1, "sqrt": 1}
_FLOAT_TYPES = {*FLOATS, "f16", "bf16"}
# What an access costs stays the same when all its addresses move by this many bytes: whole segments of global memory,
# and whole words of shared memory, whose banks only trade places.
_PERIODS = {"global": 128, "shared": 4}
_LARGEST = np.uint64(2**64 - 1)


class _Executed(NamedTuple):
    """What one thread executes."""

    instructions: int
    fmas: int
    flops: int


class _Extent(NamedTuple):
    """How many of a batch's threads, and warps and blocks with such threads in them, take part in something."""

    threads: int
    warps: int
    blocks: int


class Counting(Observer):
    """Counts; one for each launch.

    The same few patterns of addresses come again and again, moved along, so what each costs is worked out once.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._tallies: dict[Line, Counter[str]] = defaultdict(Counter)
        self._executes = {id(step): (step, _executed_by_line(step)) for step in steps}
        self._costs: dict[tuple[object, ...], Counter[str]] = {}
        self._extents: dict[tuple[object, ...], _Extent] = {}

    @property
    def lines(self) -> dict[Line, Counters]:
        """The counters of each line, in order."""
        return {line: Counters(**self._tallies[line]) for line in sorted(self._tallies)}

    def begin(self, batch: Batch) -> None:
        self._batch = batch

    def enter(self, step: Step, mask: Mask | None) -> None:
        extent = self._extent(mask)
        for line, executed in self._executes[id(step)][1].items():
            self._tally(line, executed, extent)

    def guarded(self, at: Instruction, mask: Mask | None) -> None:
        self._tally(_line(at), _Executed(0, _fmas(at), _flops(at)), self._extent(mask))

    def synchronise(self, step: Step, mask: Mask | None) -> None:
        if step.block.end is not None:
            self._tallies[_line(step.block.end)]["barriers"] += self._extent(mask).blocks

    def access(self, access: Access) -> None:
        if access.space not in _PERIODS:
            return
        address = access.address
        if access.mask is not None:
            # What stands in the other lanes is no address, and must not tell two equal patterns apart.
            taking_part = access.mask.over(address.shape)
            address = np.where(taking_part, address, address.min(where=taking_part, initial=_LARGEST))
        first = address.min()
        moved = address - (first - first % np.uint64(_PERIODS[access.space]))
        lanes = None if access.mask is None else access.mask.key
        key = (access.kind, access.space, access.nbytes, self._batch.extent, lanes, moved.shape, moved.tobytes())
        if key not in self._costs:
            self._costs[key] = Counter(_cost(access, *by_warp(self._batch, moved, access.mask)))
        self._tallies[_line(access.at)].update(self._costs[key])

    def _tally(self, line: Line, executed: _Executed, extent: _Extent) -> None:
        tally = self._tallies[line]
        tally["thread_instructions"] += extent.threads * executed.instructions
        tally["warp_instructions"] += extent.warps * executed.instructions
        tally["fmas"] += extent.threads * executed.fmas
        tally["flops"] += extent.threads * executed.flops

    def _extent(self, mask: Mask | None) -> _Extent:
        key = (self._batch.extent, None if mask is None else mask.key)
        if key not in self._extents:
            _, active, times = by_warp(self._batch, np.zeros((1,) * 6, np.uint64), mask)
            per_block = active.reshape(self._batch.extent.size // times, -1)
            extent = _Extent(int(active.sum()), requests(active), int(per_block.any(axis=1).sum()))
            self._extents[key] = _Extent(*(count * times for count in extent))
        return self._extents[key]


def _line(at: Instruction) -> Line:
    return Line(at.source, at.line)


def _fmas(at: Instruction) -> int:
    return int(at.opcode[-1] in _FLOAT_TYPES and at.opcode[0] in ("fma", "mad"))


def _flops(at: Instruction) -> int:
    return _FLOPS.get(at.opcode[0], 0) if at.opcode[-1] in _FLOAT_TYPES else 0


def _executed_by_line(step: Step) -> dict[Line, _Executed]:
    """What one thread executes in a basic block; of guarded instructions only that it comes by them."""
    lines: dict[Line, _Executed] = {}
    for at in [*step.block.body, *([step.block.end] if step.block.end else [])]:
        before = lines.get(_line(at), _Executed(0, 0, 0))
        counts = (1, 0, 0) if at.guard is not None else (1, _fmas(at), _flops(at))
        lines[_line(at)] = _Executed(*map(sum, zip(before, counts, strict=True)))
    return lines


def _cost(access: Access, address: Rows, active: Active, times: int) -> dict[str, int]:
    """The counters that an access adds to; each of the rows' blocks stands for ``times`` of them."""
    kind = f"{access.space}_{access.kind}"
    threads = int(active.sum())
    counts = {f"{kind}_requests": requests(active)}
    if access.space == "global":
        counts |= {f"{kind}s": threads, f"{kind}_sectors": sectors(address, active)}
        if access.kind == "load":
            counts["global_load_transactions_cc1x"] = transactions_cc1x(address, active, access.nbytes)
    elif access.kind != "atomic":
        passes, conflicts = wavefronts(address, active, access.nbytes)
        counts |= {f"{kind}s": threads, f"{kind}_wavefronts": passes, "shared_bank_conflicts": conflicts}
    if access.kind != "atomic":
        counts[f"{kind}_bytes"] = threads * access.nbytes
    return {name: count * times for name, count in counts.items()}

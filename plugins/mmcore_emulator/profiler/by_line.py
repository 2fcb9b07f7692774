"""An observer that counts what a launch does, line by line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

from mmcore_emulator.floats import Values
from mmcore_emulator.lanes import Batch, Mask
from mmcore_emulator.observer import Access, Observer
from mmcore_emulator.profiler.coalescing import Active, Rows, requests, sectors, transactions_cc1x, wavefronts
from mmcore_emulator.profiler.counters import Counters, Line
from mmcore_emulator.profiler.patterns import PERIODS, Extent, Patterns
from mmcore_emulator.ptx import Instruction
from mmcore_emulator.ptx_types import FLOATS
from mmcore_emulator.step import Step

_FLOPS = {"fma": 2, "mad": 2, "add": 1, "sub": 1, "mul": 1, "div": 1, "rcp": 1, "sqrt": 1}
_FLOAT_TYPES = {*FLOATS, "f16", "bf16"}


class _Executed(NamedTuple):
    """What one thread executes."""

    instructions: int
    fmas: int
    flops: int


class Counting(Observer):
    """Counts; one for each launch."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._tallies: dict[Line, Counter[str]] = defaultdict(Counter)
        self._executes = {id(step): (step, _executed_by_line(step)) for step in steps}
        self._patterns = Patterns(_cost)

    @property
    def lines(self) -> dict[Line, Counters]:
        """The counters of each line, in order."""
        return {line: Counters(**self._tallies[line]) for line in sorted(self._tallies)}

    def begin(self, batch: Batch) -> Observer:
        own = copy(self)
        own._patterns = self._patterns.of(batch)
        return own

    def enter(self, step: Step, mask: Mask | None) -> None:
        extent = self._patterns.extent(mask)
        for line, executed in self._executes[id(step)][1].items():
            self._tally(line, executed, extent)

    def guarded(self, at: Instruction, mask: Mask | None) -> None:
        self._tally(_line(at), _Executed(0, _fmas(at), _flops(at)), self._patterns.extent(mask))

    def synchronise(self, left: Sequence[tuple[Step, Mask | None]], number: Values, count: Values) -> None:
        for step, mask in left:
            if step.block.end is not None:
                self._tallies[_line(step.block.end)]["barriers"] += self._patterns.extent(mask).blocks

    def access(self, access: Access) -> None:
        if access.space in PERIODS and access.kind != "copy":
            self._tallies[_line(access.at)].update(self._patterns.cost(access))

    def _tally(self, line: Line, executed: _Executed, extent: Extent) -> None:
        tally = self._tallies[line]
        tally["thread_instructions"] += extent.threads * executed.instructions
        tally["warp_instructions"] += extent.warps * executed.instructions
        tally["fmas"] += extent.threads * executed.fmas
        tally["flops"] += extent.threads * executed.flops


def _line(at: Instruction) -> Line:
    return Line(at.source, at.line)


def _fmas(at: Instruction) -> int:
    return int(at.opcode[-1] in _FLOAT_TYPES and at.opcode[0] in ("fma", "mad"))


def _flops(at: Instruction) -> int:
    return _FLOPS.get(at.opcode[0], 0) if at.opcode[-1] in _FLOAT_TYPES else 0


def _executed_by_line(step: Step) -> dict[Line, _Executed]:
    """What one thread executes in a basic block; of guarded instructions only that it comes by them."""
    lines: dict[Line, _Executed] = {}
    for at in step.block.instructions:
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

"""A record of the lanes that are idle while other threads of their warp execute another branch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mmcore_emulator.profiler.coalescing import Extent
from mmcore_emulator.ptx.instructions import Block, Instruction

_MOST_USED = 0.75  # of a warp's lanes, in a basic block that counts as divergent
_MORE = 0.1  # of the lanes, before the branch that divides them


@dataclass(frozen=True)
class Divergence:
    """The instructions that warps execute with few of their lanes.

    Attributes:
        at: the branch before most of them.
        used: the part of the lanes that execute them.
        wasted: instructions that warps would save if all of their lanes took the same way.
        executed: instructions that the warps of the launch execute.
    """

    at: Instruction
    used: float
    wasted: Mapping[Instruction, float]
    executed: Mapping[Instruction, int]


class DivergenceRecorder:
    """A record of the lanes that execute each basic block of a launch, in warps."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        self._numbers = {id(block): number for number, block in enumerate(blocks)}
        self._warps: Counter[int] = Counter()
        self._filled = defaultdict[int, float](float)  # of the warps, by their active lanes

    def enter(self, block: Block, extent: Extent, lanes: float) -> None:
        """Note that warps of so many lanes execute a basic block."""
        number = self._numbers[id(block)]
        self._warps[number] += extent.warps
        self._filled[number] += extent.threads / lanes

    @property
    def divergence(self) -> Divergence | None:
        """The divergence of the launch; None if there is none."""
        partly = [number for number in self._warps if self._used(number) <= _MOST_USED]
        if not partly:
            return None
        idle = {number: self._warps[number] - self._filled[number] for number in partly}
        branch = self._branch(max(partly, key=lambda each: idle[each] * len(self._blocks[each].instructions)))
        used = sum(self._filled[number] for number in partly) / sum(self._warps[number] for number in partly)
        wasted = {at: idle[number] for number in partly for at in self._blocks[number].instructions}
        executed = {at: warps for number, warps in self._warps.items() for at in self._blocks[number].instructions}
        return None if branch is None else Divergence(branch, used, wasted, executed)

    def _used(self, number: int) -> float:
        return self._filled[number] / self._warps[number]

    def _branch(self, number: int) -> Instruction | None:
        """Return the branch that divides the lanes of a basic block from others; None if there is none."""
        seen, ahead = {number}, [number]
        for each in ahead:
            for before, block in enumerate(self._blocks):
                if each not in (block.taken, block.following) or before in seen or not self._warps[before]:
                    continue
                divides = block.end is not None and block.end.guard is not None
                if divides and self._used(before) > self._used(number) + _MORE:
                    return block.end
                seen.add(before)
                ahead.append(before)
        return None

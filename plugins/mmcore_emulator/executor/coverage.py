"""The source lines and branches of a kernel that its launches on the emulator have executed."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mmcore_emulator.executor.fixed_branches import FixedBranches
from mmcore_emulator.executor.kernel_launch import KernelLaunch
from mmcore_emulator.executor.translation.translate import Translation
from mmcore_emulator.executor.unrolled_code import UnrolledCode
from mmcore_emulator.ptx.instructions import EXIT, Block

Place: TypeAlias = tuple[str, int]
"""A file and a line."""


@dataclass
class Direction:
    """One way that threads can continue at a conditional branch; ``back`` is true for another turn of a loop.

    Both ways of a loop are taken, too, if several turns were executed in copies of its code.
    """

    taken: bool = False
    back: bool = False
    leads_to: set[Place] = field(default_factory=set)  # the lines of the code that it leads to


@dataclass
class Coverage:
    """The executed lines and branches of several launches, whose code may be translated differently.

    Attributes:
        lines: for each line, whether an instruction of it was executed, in any copy of its code.
        branches: for each conditional branch, by its place and its number there, both directions; without branches
            that go one way at every size.
        work: the work of the launches.
    """

    lines: dict[Place, bool] = field(default_factory=dict)
    branches: dict[tuple[Place, int], tuple[Direction, Direction]] = field(default_factory=dict)
    work: float = 0

    def add(self, launch: KernelLaunch) -> None:
        """Add what a launch has executed."""
        self.work += launch.work
        blocks = launch.translation.blocks
        code, excludes = UnrolledCode(blocks, launch.entered), _excludes(launch.translation)
        executed = launch.entered | code.copies()
        numbers: Counter[Place] = Counter()
        for index, block in enumerate(blocks):
            for place in _places(block):
                self.lines[place] = self.lines.get(place, False) or index in executed
            end = block.end
            if end is None or end.guard is None or block.taken is None:
                continue
            place = end.source, end.line
            number = numbers[place]
            numbers[place] += 1
            targets = block.following, block.taken
            loops = [_loop(blocks, index, target) for target in targets]
            ways = [(index, target) in launch.branched for target in targets]
            if sum(ways) == 1 and excludes(index, loops[ways.index(False)]):
                continue
            both = self.branches.setdefault((place, number), (Direction(), Direction()))
            turned = not all(each.taken for each in both) and any(
                first is not None and code.has_several_turns(first, index) for first in loops
            )
            for direction, target, first, taken in zip(both, targets, loops, ways, strict=True):
                direction.taken |= turned or taken
                direction.back |= first is not None
                direction.leads_to |= set() if target == EXIT else _places(blocks[target])

    def update(self, other: Coverage) -> None:
        """Add what other launches have executed."""
        for place, executed in other.lines.items():
            self.lines[place] = self.lines.get(place, False) or executed
        for key, others in other.branches.items():
            for mine, theirs in zip(self.branches.setdefault(key, (Direction(), Direction())), others, strict=True):
                mine.taken |= theirs.taken
                mine.back |= theirs.back
                mine.leads_to |= theirs.leads_to

    @property
    def executed(self) -> int:
        """The number of executed lines and directions."""
        return sum(self.lines.values()) + sum(each.taken for both in self.branches.values() for each in both)

    def missing(self, source: str) -> list[dict[str, Any]]:
        """Return the lines of a file that were not executed, and the lines whose branches have gone one way alone.

        A branch whose other way leads to a line that was not executed is left out. Each is a JSON-ready "source",
        "line", "branch", which is false for the line itself, and "loop", which is true if the missing way is another
        turn of a loop.
        """
        lines = [
            number for (name, number), executed in self.lines.items() if name == source and number and not executed
        ]
        found = [{"source": source, "line": line, "branch": False, "loop": False} for line in lines]
        found += [
            {"source": source, "line": line, "branch": True, "loop": back} for line, back in self._one_way(source)
        ]
        return sorted(found, key=lambda each: (each["line"], each["branch"]))

    def _one_way(self, source: str) -> Iterator[tuple[int, bool]]:
        """Yield the lines with a branch that has gone one way, and none both ways; true if the other way is back."""
        by_line: dict[int, list[tuple[Direction, Direction]]] = {}
        for ((name, line), _), both in self.branches.items():
            if name == source and line and any(each.taken for each in both):
                by_line.setdefault(line, []).append(both)
        for line, several in by_line.items():
            others = [one if other.taken else other for one, other in several]
            if not any(one.taken and other.taken for one, other in several) and all(
                self.lines[place] for each in others for place in each.leads_to
            ):
                yield line, any(each.back for each in others)

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        branches = [
            [*place, number, [[each.taken, each.back, sorted(each.leads_to)] for each in both]]
            for (place, number), both in self.branches.items()
        ]
        return {"lines": [[*place, executed] for place, executed in self.lines.items()], "branches": branches}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Coverage:
        """Return what :meth:`to_json` wrote."""
        lines = {(source, line): executed for source, line, executed in values["lines"]}
        branches = {}
        for source, line, number, both in values["branches"]:
            one, other = (Direction(taken, back, {(name, at) for name, at in places}) for taken, back, places in both)
            branches[(source, line), number] = one, other
        return cls(lines, branches)


@functools.lru_cache(maxsize=16)
def _excludes(translation: Translation) -> Callable[[int, int | None], bool]:
    """Return :meth:`FixedBranches.excludes` of a function; its launches share the answers."""
    return functools.cache(FixedBranches(translation.blocks).excludes)


def _loop(blocks: Sequence[Block], index: int, target: int) -> int | None:
    """Return the first block of the loop that a branch of a block leads back to, at once or by a jump, or None."""
    if 0 <= target < len(blocks) and target > index and not blocks[target].body:
        jump = blocks[target]
        target = jump.taken if jump.taken is not None and (jump.end is None or jump.end.guard is None) else target
    return target if 0 <= target <= index else None


def _places(block: Block) -> set[Place]:
    """Return the lines of a block's instructions, and of the calls that they were inlined at."""
    return {place for at in block.instructions for place in ((at.source, at.line), *at.callers)}

"""Basic blocks of machine code, and the innermost loops that backward branches make of them."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mmcore_cuda.machine_code.instructions import Instruction, Listing
from mmcore_cuda.machine_code.kinds import kind_of
from mmcore_emulator.profiler.counters import Line

_JUMPS = ("BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU")
_ENDS = ("EXIT", "RET", *_JUMPS)

_WAITING = ("barrier", "branch", "integer", "uniform", "other")


@dataclass(frozen=True)
class Loop:
    """An innermost loop: its instructions, by address, with those of every path through it."""

    instructions: tuple[Instruction, ...]

    @property
    def address(self) -> int:
        """The address of its first instruction."""
        return self.instructions[0].address

    @property
    def lines(self) -> tuple[Line, ...]:
        """The source lines of its instructions, in order."""
        return tuple(sorted({instruction.line for instruction in self.instructions}))


def blocks(listing: Listing) -> dict[int, tuple[Instruction, ...]]:
    """Return the basic blocks of a function by their addresses."""
    instructions = listing.instructions
    begins = {0} | {address for at in instructions for address in _jump_addresses(at, listing.labels)}
    begins |= {after.address for at, after in itertools.pairwise(instructions) if at.name in _ENDS}
    parts: dict[int, list[Instruction]] = {}
    part: list[Instruction] = []
    for instruction in instructions:
        if instruction.address in begins:
            part = parts.setdefault(instruction.address, [])
        part.append(instruction)
    return {address: tuple(block) for address, block in parts.items()}


def innermost_loops(listing: Listing) -> tuple[Loop, ...]:
    """Return the loops that contain no other loop, by address. Loops that only wait do not count."""
    parts = blocks(listing)
    predecessors: dict[int, set[int]] = defaultdict(set)
    entries, successors = {0}, dict(_successors(parts, listing.labels))
    for block, following in successors.items():
        for after in following:
            predecessors[after].add(block)
    for instruction in listing.instructions:
        if instruction.name == "CALL":
            entries |= {*_addresses(instruction, listing.labels)}
    bodies: dict[int, set[int]] = defaultdict(set)
    for block in _reachable(entries, successors):
        for header in successors[block]:
            if header <= block:
                bodies[header] |= _body(header, block, predecessors, entries)
    loops = {
        frozenset(body): Loop(tuple(at for block in sorted(body) for at in parts[block]))
        for body in bodies.values()
        if body
    }
    loops = {body: loop for body, loop in loops.items() if not _only_waits(loop)}
    return tuple(loop for body, loop in loops.items() if not any(other < body for other in loops))


def _only_waits(loop: Loop) -> bool:
    """Return whether a loop only waits for an mbarrier."""
    waits = any(instruction.name == "SYNCS" for instruction in loop.instructions)
    return waits and all(kind_of(instruction) in _WAITING for instruction in loop.instructions)


def _body(header: int, latch: int, predecessors: Mapping[int, set[int]], entries: set[int]) -> set[int]:
    """Return the blocks that reach the latch without the header; none if the loop can be entered elsewhere."""
    body, ahead = {header}, [latch]
    while ahead:
        block = ahead.pop()
        if block not in body:
            if block in entries:
                return set()
            body.add(block)
            ahead += predecessors[block]
    return body


def _reachable(entries: set[int], successors: Mapping[int, Sequence[int]]) -> list[int]:
    """Return the blocks that can be executed, by their addresses."""
    reached, ahead = set[int](), [*entries]
    while ahead:
        block = ahead.pop()
        if block not in reached and block in successors:
            reached.add(block)
            ahead += successors[block]
    return sorted(reached)


def _successors(
    parts: Mapping[int, Sequence[Instruction]], labels: Mapping[str, int]
) -> Iterator[tuple[int, list[int]]]:
    """Yield each block's address with those of the blocks that can follow it."""
    following = dict(zip(parts, [*parts][1:], strict=False))
    for address, block in parts.items():
        last = block[-1]
        successors = _jump_addresses(last, labels)
        if address in following and not _ends(last):
            successors.append(following[address])
        yield address, [each for each in successors if each in parts]


def _ends(instruction: Instruction) -> bool:
    """Return whether the next instruction cannot follow. A jump's condition is a predicate, or an operand before it."""
    always = not instruction.predicate and (instruction.name not in _JUMPS or len(instruction.operands) <= 1)
    return instruction.name in _ENDS and always


def _jump_addresses(instruction: Instruction, labels: Mapping[str, int]) -> list[int]:
    return _addresses(instruction, labels) if instruction.name in _JUMPS else []


def _addresses(instruction: Instruction, labels: Mapping[str, int]) -> list[int]:
    return [labels[label] for label in instruction.targets if label in labels]

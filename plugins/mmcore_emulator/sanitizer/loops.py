"""The loops of a kernel, and the reads that decide in a loop if a thread continues to wait."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from mmcore_emulator.isa.asynchronous.mbarriers import MbarrierKind, kind_of
from mmcore_emulator.isa.entries import Execute
from mmcore_emulator.isa.table import decode, destinations, effect, reads
from mmcore_emulator.ptx.instructions import Address, Block, Instruction, Register
from mmcore_emulator.ptx.types import Constant

_WAITS = ("test_wait", "try_wait")
_COMPUTING = ("compute", "compare", "move")


class _Use(NamedTuple):
    """An instruction, with the registers that it reads and writes."""

    at: Instruction
    reads: frozenset[Register]
    writes: tuple[Register, ...]


@dataclass(frozen=True, eq=False)
class Loop:
    """A natural loop."""

    header: int  # number of the block that every iteration begins with
    body: frozenset[int]  # numbers of its blocks, the header among them
    line: int  # line of the branch that leads back to the header; 0 if unknown
    blocks: Sequence[Block]  # the blocks of the kernel

    @cached_property
    def uses(self) -> list[_Use]:
        """The registers of its instructions."""
        instructions = (at for number in sorted(self.body) for at in self.blocks[number].instructions)
        return [_Use(at, frozenset(reads(at)), destinations(at)) for at in instructions]

    @cached_property
    def definitions(self) -> Mapping[Register, list[_Use]]:
        """The instructions that write each register."""
        definitions = defaultdict(list)
        for use in self.uses:
            for register in use.writes:
                definitions[register].append(use)
        return definitions

    def leaves(self, block: Block) -> bool:
        """Return True if a block of it ends with a conditional branch out of it."""
        conditional = block.end is not None and block.end.guard is not None and block.taken is not None
        return conditional and not {block.taken, block.following} <= self.body

    def fixes(self, register: Register, seen: frozenset[Register] = frozenset()) -> bool:
        """Return True if a register has the same value in every iteration."""
        definitions = self.definitions.get(register, ())
        if not definitions:
            return True
        if register in seen or len(definitions) > 1 or effect(definitions[0].at).kind not in _COMPUTING:
            return False
        return all(self.fixes(source, seen | {register}) for source in definitions[0].reads)


class Loops:
    """The loops of a kernel's blocks, which are in reverse postorder; smaller loops come first."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self._before: list[list[int]] = [[] for _ in blocks]
        for number, block in enumerate(blocks):
            for successor in block.successors:
                self._before[successor].append(number)
        self._dominator = self._dominators()
        self._loops = sorted(self._natural(), key=lambda loop: len(loop.body))
        self.places = {
            id(at): (number, position)
            for number, block in enumerate(blocks)
            for position, at in enumerate(block.instructions)
        }

    def around(self, at: Instruction) -> Iterator[Loop]:
        """Yield the loops that an instruction is in, the innermost first."""
        number, _ = self.places.get(id(at), (-1, 0))
        return (loop for loop in self._loops if number in loop.body)

    def next_iteration(self, earlier: Instruction, later: Instruction) -> int | None:
        """Return the line of the loop in whose next iteration ``later`` follows ``earlier``.

        It is 0 if the line is not known, and None if no iteration ends between the two.
        """
        loop = next((loop for loop in self.around(earlier) if loop in self.around(later)), None)
        if id(earlier) not in self.places or id(later) not in self.places:
            return None
        before, after = self.places[id(earlier)], self.places[id(later)]
        if before < after and any(self.places[id(twin)] < before for twin in self._twins(later)):
            return loop.line if loop else 0  # The compiler has unrolled the loop.
        (begin, position), (end, later_position) = before, after
        if loop is None or (begin == end and position < later_position):
            return None
        reached, rest = set[int](), [begin]
        while rest:
            for number in self.blocks[rest.pop()].successors:
                if number in loop.body and number != loop.header and number not in reached:
                    reached.add(number)
                    rest.append(number)
        return None if end in reached else loop.line

    def early_arrival(self, earlier: Instruction, later: Instruction) -> int:
        """Return the line of an arrival at an mbarrier that comes before ``earlier``, with no wait between them.

        It may release what ``earlier`` accesses, if ``later`` follows a wait behind it. It is 0 if there is no such
        arrival.
        """
        last = [*self._latest(later)]
        if not any(kind.action in _WAITS or kind.tx for _, kind in last):
            return 0
        before_both = {id(at) for at, _ in last}
        bodies = [loop.body for loop in self.around(earlier)]
        latest = ((at, kind) for at, kind in self._latest(earlier) if id(at) not in before_both)
        arrivals = (at for at, kind in latest if kind.action == "arrive" and not kind.tx)
        near = (at for at in arrivals if not bodies or any(self.places[id(at)][0] in body for body in bodies))
        return next((at.kernel_line for at in near), 0)

    def arrival_before_end(self, wgmma: Instruction) -> tuple[int, int] | None:
        """Return the lines of an arrival at an mbarrier behind ``wgmma``, and of a wait for wgmma behind that.

        The second is 0 if that wait leaves groups, or does not follow every arrival, as one behind the loop.
        """
        number, position = self.places.get(id(wgmma), (0, 0))
        rest: list[tuple[int, int, Instruction | None]] = [(number, position + 1, None)]
        reached = set[tuple[int, int, Instruction | None]]()
        while rest:
            number, begin, arrival = rest.pop()
            for at in self.blocks[number].instructions[begin:]:
                kind = kind_of(at)
                if kind and kind.action == "arrive" and not kind.tx and at.kernel_line:
                    arrival = arrival or at
                if _awaits_products(at):
                    if arrival:
                        ends_all = at.operands == (Constant(0),) and not self._repeats(arrival)
                        return arrival.kernel_line, at.kernel_line if ends_all else 0
                    break
            else:
                ahead = {(each, 0, arrival) for each in self.blocks[number].successors if each > number} - reached
                reached |= ahead
                rest += ahead
        return None

    def _repeats(self, arrival: Instruction) -> bool:
        """Return True if an arrival, or one of its copies in an unrolled loop, may follow it with no wait for wgmma."""
        number, position = self.places[id(arrival)]
        rest, reached = [(number, position + 1)], set[int]()
        while rest:
            number, begin = rest.pop()
            for at in self.blocks[number].instructions[begin:]:
                if _place(at) == _place(arrival) and kind_of(at):
                    return True
                if _awaits_products(at):
                    break
            else:
                ahead = {*self.blocks[number].successors} - reached
                reached |= ahead
                rest += [(each, 0) for each in ahead]
        return False

    def waits_for_copies(self, before: Instruction) -> list[Instruction]:
        """Return the latest waits for ``cp.async`` on the ways to an instruction that pass no barrier of the block."""
        number, position = self.places.get(id(before), (0, 0))
        rest, reached, waits = [(number, position)], set[int](), list[Instruction]()
        while rest:
            number, end = rest.pop()
            block = self.blocks[number]
            if block.barrier == "block" and end == len(block.instructions):
                continue
            latest = next((at for at in reversed(block.instructions[:end]) if _awaits_copies(at)), None)
            if latest:
                waits.append(latest)
                continue
            ahead = {*self._before[number]} - reached
            reached |= ahead
            rest += [(each, len(self.blocks[each].instructions)) for each in ahead]
        return waits

    def _latest(self, before: Instruction) -> Iterator[tuple[Instruction, MbarrierKind]]:
        """Yield the latest arrival or wait on each way to an instruction within an iteration of its loops."""
        number, position = self.places.get(id(before), (0, 0))
        rest, reached = [(number, position)], {number}
        while rest:
            number, end = rest.pop()
            kinds = ((at, kind_of(at)) for at in reversed(self.blocks[number].instructions[:end]))
            latest = next(((at, kind) for at, kind in kinds if kind and kind.action in ("arrive", *_WAITS)), None)
            if latest:
                yield latest
                continue
            ahead = {each for each in self._before[number] if each < number} - reached
            reached |= ahead
            rest += [(each, len(self.blocks[each].instructions)) for each in ahead]

    def _twins(self, at: Instruction) -> Iterator[Instruction]:
        """Yield the instructions that do the same at the same place of the source, which must be known."""
        known = at.line and at.column
        instructions = (each for block in self.blocks for each in block.instructions if known)
        return (each for each in instructions if effect(each) == effect(at) and _place(each) == _place(at))

    def waiting_reads(self) -> frozenset[int]:
        """Return the polling reads, by identity, whose values decide if a thread leaves a loop around them.

        In the innermost loop, a read whose address changes in every iteration does not wait, unless the value decides
        that. A read of the same address outside the loop, or at the same place before a branch, is the first try.
        """
        polling = [at for block in self.blocks for at in block.instructions if _polls(at)]
        waiting = [at for at in polling if self._waits(at)]
        addresses, places = {_address(at) for at in waiting}, {_place(at) for at in waiting if at.line}
        tries = (at for at in polling if at.line and _place(at) in places and self._decides_branch(at))
        more = (*tries, *(at for at in polling if _address(at) in addresses))
        return frozenset(id(at) for at in (*waiting, *more))

    def _decides_branch(self, at: Instruction) -> bool:
        """Return True if the branch at the end of a read's basic block depends on its value."""
        number, position = self.places[id(at)]
        following, end = set(destinations(at)), self.blocks[number].end
        for each in self.blocks[number].instructions[position + 1 :]:
            if not following.isdisjoint(reads(each)):
                following.update(destinations(each))
        return end is not None and end.guard in following

    def _waits(self, at: Instruction) -> bool:
        for depth, loop in enumerate(self.around(at)):
            following = self._following(at, loop)
            deciding = (block for number in loop.body if loop.leaves(block := self.blocks[number]))
            if any(block.end is not None and block.end.guard in following for block in deciding):
                address = _address(at)
                base = None if address is None else address.base
                if depth or not isinstance(base, Register) or base in following or loop.fixes(base):
                    return True
        return False

    def _following(self, at: Instruction, loop: Loop) -> set[Register]:
        """Return the registers that may depend on a read's value within a loop."""
        following, stored, count = set(destinations(at)), False, -1
        while count < len(following) + stored:
            count = len(following) + stored
            for use in loop.uses:
                kind = effect(use.at).kind
                depends = not following.isdisjoint(use.reads)
                stored |= depends and kind == "store" and _is_shared(use.at)
                if depends or (stored and kind == "load" and _is_shared(use.at)):
                    following.update(use.writes)
            for number in loop.body:
                end = self.blocks[number].end
                if end is not None and end.guard in following and not loop.leaves(self.blocks[number]):
                    following |= self._chosen(number, loop)
        return following

    def _chosen(self, number: int, loop: Loop) -> set[Register]:
        """Return the registers that one side of a branch writes, and that have another value on the other side."""
        sides = [each for each in self.blocks[number].successors if self._before[each] == [number]]
        inside = [each for each in loop.body if any(self.dominates(side, each) for side in sides)]
        written = {register for each in inside for register in self.blocks[each].defines}
        kept = self.blocks[loop.header].live_in
        return {register for register in written if register in kept or len(loop.definitions[register]) > 1}

    def _natural(self) -> Iterator[Loop]:
        """Yield the natural loops: one for each header."""
        bodies: dict[int, set[int]] = {}
        lines: dict[int, int] = {}
        for number, block in enumerate(self.blocks):
            for header in block.successors:
                if self.dominates(header, number):
                    body, rest = bodies.setdefault(header, {header}), [number]
                    lines[header] = block.instructions[-1].line if block.instructions else 0
                    while rest:
                        if (each := rest.pop()) not in body:
                            body.add(each)
                            rest += self._before[each]
        for header, body in bodies.items():
            yield Loop(header, frozenset(body), lines[header], self.blocks)

    def dominates(self, number: int, other: int) -> bool:
        """Return True if every path to another block leads through a block."""
        while other > number:
            other = self._dominator[other]
        return other == number

    def _dominators(self) -> list[int]:
        """Return the immediate dominator of each block."""
        dominator = [0] + [-1] * (len(self.blocks) - 1)
        changed = True
        while changed:
            changed = False
            for number in range(1, len(self.blocks)):
                known = [each for each in self._before[number] if dominator[each] >= 0]
                common = known[0]
                for each in known[1:]:
                    while common != each:
                        common, each = min(common, each), dominator[max(common, each)]
                changed |= dominator[number] != common
                dominator[number] = common
        return dominator


def _awaits_copies(at: Instruction) -> bool:
    return effect(at).kind == "copy" and effect(at).step == "wait"


def _awaits_products(at: Instruction) -> bool:
    return effect(at).kind == "warpgroup" and effect(at).step == "wait"


def _polls(at: Instruction) -> bool:
    return bool(effect(at).polls) and effect(at).kind in ("load", "atomic")


def _address(at: Instruction) -> Address | None:
    return next((operand for operand in at.operands if isinstance(operand, Address)), None)


def _place(at: Instruction) -> object:
    return at.source, at.line, at.column, at.callers


def _is_shared(at: Instruction) -> bool:
    """Return True if a load or store may be to shared memory."""
    semantics = decode(at)
    memory = semantics.memory if isinstance(semantics, Execute) else None
    return memory is not None and memory.space in ("shared", "generic")

"""Registers that ``wgmma`` works on, followed through a function: which are used before they may be; who multiplies.

An instruction that is not ``wgmma`` may not touch accumulators, or A's registers, from ``wgmma.mma_async`` on until
``wgmma.wait_group`` has waited for its group; and what it has written, ``wgmma`` may only use behind ``wgmma.fence``.
Moves are the compiler's: their target stands for their source.
Reference: PTX ISA, "wgmma.mma_async" and "wgmma.fence".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.isa.table import destinations, effect, reads
from mmcore_emulator.machine.accesses import LaneViolation, always
from mmcore_emulator.machine.lanes import WARP, Batch, Mask
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.ptx.blocks import Block
from mmcore_emulator.ptx.instructions import Instruction, Operand, Register
from mmcore_emulator.ptx.types import Constant
from mmcore_emulator.sanitizer.happens_before.numbering import Indices, LaneNumbers
from mmcore_emulator.sanitizer.recording import Record, at_line

_Known = TypeVar("_Known")
_MOST_GROUPS = 9
_WARPS = 4
_EARLY = "uses a register of a product before that is made: wgmma.wait_group is missing, or waits for too few groups"
_UNFENCED = "multiplies with registers that have been written since the last wgmma.fence"
_UNFENCED_FIRST = "multiplies with no wgmma.fence before"
_ALONE = "executes wgmma, and another warp of its warpgroup does not, or less often: the four must do so together"


class Misuse(NamedTuple):
    """An instruction that uses registers too early, what it meets with, and a clause on that."""

    at: Instruction
    other: Instruction
    clause: str


class _Flight(NamedTuple):
    """A register of a product under way: groups committed since, the product, and whether its sum goes there."""

    age: int
    by: Instruction
    summed: bool


@dataclass
class _State:
    """What a thread has done with registers.

    Attributes:
        written: registers written since the last ``wgmma.fence``.
        flying: registers of products under way.
        fenced: whether there has been a ``wgmma.fence``.
        fenced_here: whether there has been one in the basic block that it executes.
    """

    written: dict[Register, Instruction] = field(default_factory=dict)
    flying: dict[Register, _Flight] = field(default_factory=dict)
    fenced: bool = False
    fenced_here: bool = False

    def copy(self) -> _State:
        return _State(dict(self.written), dict(self.flying), self.fenced)

    @property
    def key(self) -> object:
        """What equals that of a state in which the same goes wrong later."""
        written = frozenset((register, id(at)) for register, at in self.written.items())
        flying = frozenset((register, age, id(by), summed) for register, (age, by, summed) in self.flying.items())
        return written, flying, self.fenced


class RegisterUse:
    """How the threads of a launch use registers of ``wgmma``: each is in one of few states, by number; 0 at first."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        bodies = [block.instructions for block in blocks]
        products = [each for body in bodies for each in body if effect(each).step == "product"]
        self._followed = _reaching(products, bodies)
        self._states = [_State()]
        self._numbers = {self._states[0].key: 0}
        self._made: dict[tuple[int, int], tuple[int, list[Misuse]]] = {}

    @property
    def idle(self) -> bool:
        """Whether the kernel has no ``wgmma``."""
        return not self._followed

    def enter(
        self, states: NDArray[np.int32], lanes: NDArray[np.bool_], block: Block
    ) -> Iterator[tuple[Misuse, NDArray[np.bool_]]]:
        """What lanes do wrong in a basic block, and which of them; their ``states`` become those behind it."""
        before = states[lanes]
        after = before.copy()
        for number in np.unique(before).tolist():
            new, misuses = self._behind(number, block)
            after[before == number] = new
            if misuses:
                own = lanes & (states == number)
                yield from ((misuse, own) for misuse in misuses)
        states[lanes] = after

    def _behind(self, number: int, block: Block) -> tuple[int, list[Misuse]]:
        if (number, id(block)) not in self._made:
            state = self._states[number].copy()
            misuses = [each for at in block.instructions for each in _follow(state, at, self._followed)]
            new = self._numbers.setdefault(state.key, len(self._states))
            if new == len(self._states):
                self._states.append(state)
            self._made[number, id(block)] = new, misuses
        return self._made[number, id(block)]


class WgmmaHazards(Observer):
    """An observer of a batch of blocks.

    It follows the registers of each lane, and counts how often each lane has executed each product.

    Args:
        registers: the use of registers in the launch.
        numbers: the numbers of the batch's lanes.
    """

    def __init__(self, registers: RegisterUse, numbers: LaneNumbers, record: Record) -> None:
        self._registers, self._batch, self._warps, self._record = registers, numbers.batch, numbers.warps, record
        self._states = np.zeros(numbers.batch.shape, np.int32)
        self._times: dict[int, tuple[Instruction, Indices]] = {}

    def enter(self, block: Block, mask: Mask | None) -> None:
        lanes = self._batch.spread(mask)
        product = next((at for at in block.instructions if effect(at).step == "product"), None)
        if product is not None:  # All products of a block are executed equally often.
            _, times = self._times.setdefault(id(product), (product, np.zeros(lanes.shape, np.int64)))
            times += lanes
        for misuse, misusing in self._registers.enter(self._states, lanes, block):
            text = always(f"{misuse.clause} (there{at_line(misuse.other)})")
            self._record(LaneViolation("wgmma-order", None, misuse.at, misusing, text, misuse.other))

    def ran(self, batch: Batch, thread_instructions: int, own: Observer | None) -> None:
        # The four warps of a warpgroup must execute each product together.
        per_block = self._warps.per_block
        for at, times in self._times.values():
            of_warps = self._warps.rows(times).max(axis=1).reshape(-1, per_block)
            of_groups = np.pad(of_warps, ((0, 0), (0, -per_block % _WARPS))).reshape(-1, _WARPS)
            more = (of_groups > of_groups.min(axis=1, keepdims=True)).reshape(len(of_warps), -1)[:, :per_block]
            if more.any():
                lanes = self._warps.lanes(np.repeat(more.reshape(-1, 1), WARP, axis=1))
                self._record(LaneViolation("divergent-wgmma", None, at, lanes, always(_ALONE)))


def _reaching(products: Sequence[Instruction], bodies: Sequence[Sequence[Instruction]]) -> frozenset[Register]:
    """The registers of products, and those that are moved to and from them."""
    found = {register for each in products for operand in each.operands[:2] for register in _registers(operand)}
    moves = [each for body in bodies for each in body if effect(each).kind == "move"]
    while True:
        both = [{*reads(each), *destinations(each)} for each in moves]
        more = {register for pair in both if not found.isdisjoint(pair) for register in pair}
        if more <= found:
            return frozenset(found)
        found |= more


def _follow(state: _State, at: Instruction, followed: frozenset[Register]) -> list[Misuse]:
    """What an instruction does wrong with the registers that are followed; the state becomes that behind it."""
    if effect(at).kind == "warpgroup":
        return _follow_wgmma(state, at)
    sources = followed.intersection(reads(at))
    targets = [register for register in destinations(at) if register in followed]
    if effect(at).kind == "move" and len(sources) == len(targets) == 1:
        (source,) = sources
        _stand_for(state.written, targets[0], source)
        _stand_for(state.flying, targets[0], source)
        return []
    # A constant that the compiler has moved behind a fence was written before.
    constant = effect(at).kind == "move" and not any(reads(at)) and state.fenced_here
    early = [state.flying[each].by for each in sources if each in state.flying and state.flying[each].summed]
    early += [state.flying[each].by for each in targets if each in state.flying]
    for register in targets:
        state.flying.pop(register, None)
        if not constant:
            state.written[register] = at
    return [Misuse(at, early[0], _EARLY)] if early else []


def _stand_for(known: dict[Register, _Known], target: Register, source: Register) -> None:
    """Let a register be what another is."""
    known.pop(target, None)
    if source in known:
        known[target] = known[source]


def _follow_wgmma(state: _State, at: Instruction) -> list[Misuse]:
    match effect(at).step:
        case "fence":
            state.written.clear()
            state.fenced = state.fenced_here = True
        case "commit":
            state.flying = {
                register: flight._replace(age=min(flight.age + 1, _MOST_GROUPS))
                for register, flight in state.flying.items()
            }
        case "wait":
            most = at.operands[0].bits if isinstance(at.operands[0], Constant) else 0
            state.flying = {each: flight for each, flight in state.flying.items() if flight.age <= most}
        case "product":
            return _follow_product(state, at)
    return []


def _follow_product(state: _State, at: Instruction) -> list[Misuse]:
    sums, *sources = (_registers(operand) for operand in at.operands[:2])
    matrix = sources[0] if len(sources[0]) > 1 else []
    found = []
    changed = [state.written[each] for each in (*sums, *matrix) if each in state.written]
    if changed:
        found.append(Misuse(at, changed[0], _UNFENCED))
    elif not state.fenced:
        found.append(Misuse(at, at, _UNFENCED_FIRST))
    early = [state.flying[each].by for each in matrix if each in state.flying and state.flying[each].summed]
    if early:
        found.append(Misuse(at, early[0], _EARLY))
    state.flying |= {each: _Flight(0, at, summed=False) for each in matrix}
    state.flying |= {each: _Flight(0, at, summed=True) for each in sums}
    return found


def _registers(operand: Operand) -> list[Register]:
    return [each for each in (operand if isinstance(operand, tuple) else (operand,)) if isinstance(each, Register)]

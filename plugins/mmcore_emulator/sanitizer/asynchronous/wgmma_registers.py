"""Hazards of the registers of ``wgmma``, and of warps that execute it without the others of their warpgroup.

Other instructions may not use accumulators, or A's registers, between ``wgmma.mma_async`` and the
``wgmma.wait_group`` that waits for its group; ``wgmma`` may use what they have written only after ``wgmma.fence``. The
compiler's moves are followed: the target takes the place of the source. Reference: PTX ISA, "wgmma.mma_async",
"wgmma.fence".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from mmcore_emulator.isa.table import destinations, effect, reads
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.machine.observer import LaneViolation, Observer, always
from mmcore_emulator.numerics.types import Integers
from mmcore_emulator.ptx.instructions import Block, Instruction, Operand, Register
from mmcore_emulator.ptx.types import Constant
from mmcore_emulator.sanitizer.asynchronous.groups import lacking_commit
from mmcore_emulator.sanitizer.happens_before.numbering import LaneNumbers
from mmcore_emulator.sanitizer.recording import Record, at_line

_Known = TypeVar("_Known")
_MOST_GROUPS = 9
_WARPS = 4
_EARLY = "uses a register of a product before that is made: "
_NO_WAIT = "wgmma.wait_group is missing, or waits for too few groups"
_UNFENCED = "multiplies with registers that have been written since the last wgmma.fence"
_UNFENCED_FIRST = "multiplies with no wgmma.fence before"
_ALONE = "executes wgmma, and another warp of its warpgroup does not, or less often: the four must do so together"


class Misuse(NamedTuple):
    """An instruction that uses registers too early, the other instruction that is involved, and a clause on both."""

    at: Instruction
    other: Instruction
    clause: str


class _Flight(NamedTuple):
    """A register of a product in flight.

    Attributes:
        age: the groups committed since.
        by: the product.
        summed: whether it is an accumulator.
        left_open: whether a wait came before the product was committed.
    """

    age: int
    by: Instruction
    summed: bool
    left_open: bool = False

    @property
    def early_use(self) -> str:
        """The clause on an instruction that uses the register."""
        return _EARLY + (lacking_commit("wgmma", self.by) if self.left_open else _NO_WAIT)


@dataclass
class _State:
    """The registers of a thread."""

    # Registers written since the last ``wgmma.fence``.
    written: dict[Register, Instruction] = field(default_factory=dict)
    flying: dict[Register, _Flight] = field(default_factory=dict)  # registers of products in flight
    # True after a ``wgmma.fence``, and after one in the current basic block.
    fenced: bool = False
    fenced_in_block: bool = False

    @property
    def key(self) -> object:
        """A key that is equal for states that allow the same instructions."""
        written = frozenset((register, id(at)) for register, at in self.written.items())
        flying = frozenset(
            (register, each.age, id(each.by), each.summed, each.left_open) for register, each in self.flying.items()
        )
        return written, flying, self.fenced


class RegisterUse:
    """The states of registers that threads of a launch reach, by number; each thread begins in state 0."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        bodies = [block.instructions for block in blocks]
        products = [at for body in bodies for at in body if effect(at).step == "product"]
        self._followed = _reaching(products, bodies)
        self._states = [_State()]
        self._numbers = {self._states[0].key: 0}
        self._after: dict[tuple[int, int], tuple[int, list[Misuse]]] = {}

    @property
    def idle(self) -> bool:
        """True if the kernel has no ``wgmma``."""
        return not self._followed

    def after(self, number: int, block: Block) -> tuple[int, list[Misuse]]:
        """Return the state after a basic block that is entered in a state, and the misuses in the block."""
        if (number, id(block)) not in self._after:
            before = self._states[number]
            state = _State(dict(before.written), dict(before.flying), before.fenced)
            misuses = [misuse for at in block.instructions for misuse in _follow(state, at, self._followed)]
            new = self._numbers.setdefault(state.key, len(self._states))
            if new == len(self._states):
                self._states.append(state)
            self._after[number, id(block)] = new, misuses
        return self._after[number, id(block)]


class WgmmaHazards(Observer):
    """An observer of the states of a batch's lanes, and of how often each has executed each product."""

    def __init__(self, registers: RegisterUse, numbers: LaneNumbers, record: Record) -> None:
        self._registers, self._batch, self._warps, self._record = registers, numbers.batch, numbers.warps, record
        self._states = np.zeros(numbers.batch.shape, np.int32)
        self._times: dict[int, tuple[Instruction, Integers]] = {}

    def enter(self, block: Block, mask: Mask | None) -> None:
        lanes, before = self._batch.spread(mask), self._states.copy()
        product = next((at for at in block.instructions if effect(at).step == "product"), None)
        if product is not None:  # All products of a block are executed equally often.
            _, times = self._times.setdefault(id(product), (product, np.zeros(lanes.shape, np.int64)))
            times += lanes
        for number in np.unique(before[lanes]).tolist():
            entering = lanes & (before == number)
            self._states[entering], misuses = self._registers.after(number, block)
            for misuse in misuses:
                text = always(f"{misuse.clause} (there{at_line(misuse.other)})")
                self._record(LaneViolation("wgmma-order", None, misuse.at, entering, text, misuse.other))

    def ran(self, batch: Batch, thread_instructions: int, watcher: Observer | None) -> None:
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
    """Return the registers of products, and the registers that are moved to and from them."""
    registers = {register for at in products for operand in at.operands[:2] for register in _registers(operand)}
    moves = [{*reads(at), *destinations(at)} for body in bodies for at in body if effect(at).kind == "move"]
    while True:
        moved = {register for move in moves if not registers.isdisjoint(move) for register in move}
        if moved <= registers:
            return frozenset(registers)
        registers |= moved


def _follow(state: _State, at: Instruction, followed: frozenset[Register]) -> list[Misuse]:
    """Advance a state over an instruction, and return how that misuses the registers that are followed."""
    if effect(at).kind == "warpgroup":
        return _follow_wgmma(state, at)
    sources = followed.intersection(reads(at))
    targets = [register for register in destinations(at) if register in followed]
    if effect(at).kind == "move" and len(sources) == len(targets) == 1:
        (source,) = sources
        _move(state.written, targets[0], source)
        _move(state.flying, targets[0], source)
        return []
    # A constant that the compiler has moved behind a fence was written before.
    constant = effect(at).kind == "move" and not any(reads(at)) and state.fenced_in_block
    early = _accumulating(state, sources)
    early += [state.flying[register] for register in targets if register in state.flying]
    for register in targets:
        state.flying.pop(register, None)
        if not constant:
            state.written[register] = at
    return [Misuse(at, early[0].by, early[0].early_use)] if early else []


def _move(known: dict[Register, _Known], target: Register, source: Register) -> None:
    known.pop(target, None)
    if source in known:
        known[target] = known[source]


def _accumulating(state: _State, registers: Iterable[Register]) -> list[_Flight]:
    """Return the registers in which products in flight accumulate."""
    flights = [state.flying[register] for register in registers if register in state.flying]
    return [flight for flight in flights if flight.summed]


def _follow_wgmma(state: _State, at: Instruction) -> list[Misuse]:
    match effect(at).step:
        case "fence":
            state.written.clear()
            state.fenced = state.fenced_in_block = True
        case "commit":
            for register, flight in state.flying.items():
                state.flying[register] = flight._replace(age=min(flight.age + 1, _MOST_GROUPS))
        case "wait":
            most = at.operands[0].bits if isinstance(at.operands[0], Constant) else 0
            state.flying = {
                register: flight._replace(left_open=flight.left_open or not flight.age)
                for register, flight in state.flying.items()
                if flight.age <= most
            }
        case "product":
            return _follow_product(state, at)
    return []


def _follow_product(state: _State, at: Instruction) -> list[Misuse]:
    sums, *sources = (_registers(operand) for operand in at.operands[:2])
    matrix = sources[0] if len(sources[0]) > 1 else []
    misuses = []
    changed = [state.written[register] for register in (*sums, *matrix) if register in state.written]
    if changed:
        misuses.append(Misuse(at, changed[0], _UNFENCED))
    elif not state.fenced:
        misuses.append(Misuse(at, at, _UNFENCED_FIRST))
    if early := _accumulating(state, matrix):
        misuses.append(Misuse(at, early[0].by, early[0].early_use))
    state.flying |= dict.fromkeys(matrix, _Flight(0, at, summed=False))
    state.flying |= dict.fromkeys(sums, _Flight(0, at, summed=True))
    return misuses


def _registers(operand: Operand) -> list[Register]:
    operands = operand if isinstance(operand, tuple) else (operand,)
    return [register for register in operands if isinstance(register, Register)]

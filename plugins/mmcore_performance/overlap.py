"""A record of the copies to shared memory that are under way while a launch multiplies, and of waits for ``wgmma``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mmcore_emulator.isa.matrix.products import product_of
from mmcore_emulator.isa.table import destinations, effect, reads
from mmcore_emulator.machine.asynchronous.events import Event, Issued, Landed
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.ptx.instructions import Block, Instruction, Register
from mmcore_emulator.ptx.types import Constant

_MOVES = frozenset(("mov", "cvt", "selp", "prmt", "shl", "or"))  # which pass a loaded element on to a store


class Products(NamedTuple):
    """Instructions of ``wgmma`` between two waits for all of them."""

    at: Instruction
    number: int


@dataclass
class Overlaps:
    """Sums over the blocks of a launch.

    Attributes:
        blocks: their number.
        overlapped: operations of warps that multiply while copies to shared memory are under way.
        alone: those while there are none.
        phases: how often blocks wait for their copies after they have multiplied, by the instruction that copies.
        awaited: how often blocks wait for groups of cp.async with copies.
        waits: how often warps wait for all of their ``wgmma``, by the wait and the number of products before it.
        multiplying: the warps of a block that multiply by ``wgmma``.
    """

    blocks: int = 0
    overlapped: int = 0
    alone: int = 0
    phases: Counter[Instruction] = field(default_factory=Counter)
    awaited: int = 0
    waits: Counter[Products] = field(default_factory=Counter)
    multiplying: float = 0.0

    @property
    def copies_alone(self) -> bool:
        """True if blocks copy several times, and multiply almost nothing while copies are under way."""
        return self.phases.total() >= 2 * self.blocks > 0 and in_turn(self.overlapped, self.alone)


def in_turn(overlapped: float, alone: float) -> bool:
    """Return True if almost all multiplications are done while no copies are under way."""
    return overlapped < (overlapped + alone) / 8


class _Step(NamedTuple):
    """An instruction that matters, or several of the kind "multiply" that read nothing loaded."""

    kind: str
    at: Instruction
    registers: frozenset[Register]
    number: int


class Steps:
    """The steps of a launch's basic blocks."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        instructions = [at for block in blocks for at in block.instructions]
        loaded = {register for at in instructions if _loads(at) for register in destinations(at)}
        grown = True
        while grown:
            passed = {to for at in instructions if _passes(at) and loaded & {*reads(at)} for to in destinations(at)}
            grown = not passed <= loaded
            loaded |= passed
        self._of = {id(block): _steps(block, loaded) for block in blocks}

    def of(self, block: Block) -> Sequence[_Step]:
        """Return the steps of a basic block."""
        return self._of[id(block)]


class OverlapRecorder:
    """The copies under way in one batch of blocks, which run in step."""

    def __init__(self, steps: Steps, totals: Overlaps, blocks: int) -> None:
        self._steps, self._totals, self._blocks = steps, totals, blocks
        totals.blocks += blocks
        self._loads: dict[Register, Instruction] = {}
        self._groups: list[bool] = [False]  # of cp.async, the open one last: whether it has copies
        self._bulk = 0
        self._multiplied = True  # since the last copy
        self._queued = 0  # operations of wgmma that are under way while there are no copies
        self._products = 0  # instructions of wgmma since the last wait

    def enter(self, block: Block, warps: int) -> None:
        """Note that warps execute a basic block."""
        for step in self._steps.of(block):
            getattr(self, f"_{step.kind}")(step, warps)

    def event(self, event: Event) -> None:
        """Note an effect of an asynchronous instruction."""
        match event:
            case Issued(transfer) if transfer.writes and effect(transfer.at).kind == "bulk copy":
                self._bulk += 1
                self._copied(transfer.at)
            case Landed(transfer) if transfer.writes and effect(transfer.at).kind == "bulk copy":
                self._bulk -= 1

    def _load(self, step: _Step, warps: int) -> None:
        self._read(step)
        self._loads |= dict.fromkeys(destinations(step.at), step.at)

    def _pass(self, step: _Step, warps: int) -> None:
        passed = [self._loads.pop(each) for each in step.registers if each in self._loads]
        for register in destinations(step.at):
            self._loads.pop(register, None)
        self._loads |= dict.fromkeys(destinations(step.at), passed[0]) if passed else {}

    def _store(self, step: _Step, warps: int) -> None:
        """Note a store to shared memory: one of a loaded element ends a copy."""
        copied = [self._loads[register] for register in step.registers if register in self._loads]
        self._read(step)
        if copied:
            self._copied(copied[0])

    def _read(self, step: _Step, warps: int = 0) -> None:
        for register in step.registers:
            self._loads.pop(register, None)

    def _copy(self, step: _Step, warps: int) -> None:
        self._groups[-1] = True
        self._copied(step.at)

    def _commit(self, step: _Step, warps: int) -> None:
        self._groups.append(False)

    def _wait(self, step: _Step, warps: int) -> None:
        *committed, now = self._groups
        ended = max(0, len(committed) - step.number)
        self._await(committed[:ended])
        self._groups = [*committed[ended:], now]

    def _wait_all(self, step: _Step, warps: int) -> None:
        self._await(self._groups)
        self._groups = [False]

    def _await(self, groups: Sequence[bool]) -> None:
        self._totals.awaited += self._blocks * any(groups)

    def _multiply(self, step: _Step, warps: int) -> None:
        self._read(step)
        work = step.number * warps
        self._multiplied = True
        if self._loads or self._bulk or any(self._groups):
            self._totals.overlapped += work
        elif step.at.opcode[0] == "wgmma":
            self._queued += work
        else:
            self._totals.alone += work
        if step.at.opcode[0] == "wgmma":
            self._products += 1
            self._totals.multiplying = max(self._totals.multiplying, warps / self._blocks)

    def _finish(self, step: _Step, warps: int) -> None:
        """Note a wait for all products of wgmma but ``number`` groups."""
        if step.number == 0:
            self._totals.alone += self._queued
            self._queued = 0
            if self._products:
                self._totals.waits[Products(step.at, self._products)] += warps
        self._products = 0

    def _copied(self, at: Instruction) -> None:
        self._totals.overlapped += self._queued
        self._queued = 0
        if self._multiplied:
            self._totals.phases[at] += self._blocks
        self._multiplied = False


def _loads(at: Instruction) -> bool:
    return at.opcode[0] in ("ld", "ldu") and "global" in at.opcode


def _passes(at: Instruction) -> bool:
    return at.opcode[0] in _MOVES


def _steps(block: Block, loaded: set[Register]) -> list[_Step]:
    """Return the steps of a basic block; ``loaded`` are the registers that may hold loaded elements."""
    steps: list[_Step] = []
    for at in block.instructions:
        registers = frozenset(loaded.intersection(reads(at)))
        kind, number = _kind(at, registers)
        if kind == "multiply" and not registers and steps and steps[-1].kind == kind and at.opcode[0] != "wgmma":
            steps[-1] = steps[-1]._replace(number=steps[-1].number + number)
        elif kind:
            steps.append(_Step(kind, at, registers, number))
    return steps


def _kind(at: Instruction, registers: frozenset[Register]) -> tuple[str, int]:
    """Return the kind of an instruction's step and its number; "" for one that does not matter."""
    opcode = at.opcode
    if product := product_of(at):
        return "multiply", product.flops
    if effect(at).fmas:
        return "multiply", effect(at).flops * WARP
    if opcode[:2] == ("cp", "async") and "bulk" not in opcode:
        constant = at.operands[0] if at.operands else None
        number = constant.bits if isinstance(constant, Constant) else 0
        kinds = {"commit_group": "commit", "wait_group": "wait", "wait_all": "wait_all", "ca": "copy", "cg": "copy"}
        return kinds.get(opcode[2], ""), number
    if opcode[:2] == ("wgmma", "wait_group"):
        constant = at.operands[0]
        return "finish", constant.bits if isinstance(constant, Constant) else 0
    if _loads(at):
        return "load", 0
    if opcode[0] == "st" and "shared" in opcode and registers:
        return "store", 0
    if not registers:
        return "", 0
    return "pass" if _passes(at) else "read", 0

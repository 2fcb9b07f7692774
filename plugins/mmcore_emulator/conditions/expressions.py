"""The values of a function's registers as expressions of its parameters and special registers.

An expression exists for a register that is computed without reading memory. A register with several definitions may
have the value of each; a loop's counter has its initial value and the limits that it is compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from mmcore_emulator.isa.entries import Compute, Execute, Move
from mmcore_emulator.isa.table import decode, destinations, effect
from mmcore_emulator.ptx.instructions import Address, Function, Instruction, Negated, Operand, Register, Symbol
from mmcore_emulator.ptx.types import TYPE_BYTES, Constant

_INTEGERS = ("s32", "u32", "s64", "u64")
_TILE = 64  # elements along k
_DEEPEST = 60  # nested operations of an expression; deeper ones count as unknown


@dataclass(frozen=True)
class Argument:
    """A part of a parameter."""

    name: str
    offset: int  # in bytes
    type: str


@dataclass(frozen=True)
class Special:
    """A special register such as %ctaid.x."""

    name: str


@dataclass(frozen=True, eq=False)
class Computed:
    """The result of an instruction."""

    operation: Compute
    operands: tuple[Expression, ...]
    type: str  # of the register


@dataclass(frozen=True, eq=False)
class OneOf:
    """One of several values, depending on the path."""

    options: tuple[Expression, ...]
    type: str


@dataclass(frozen=True, eq=False)
class Inverse:
    """The complement of a predicate."""

    operand: Expression


Expression: TypeAlias = Argument | Special | Constant | Computed | OneOf | Inverse


@dataclass(frozen=True, eq=False)
class Condition:
    """A comparison of integers whose operands are known without reading memory."""

    at: Instruction
    outcome: Expression  # a predicate


def conditions(function: Function) -> list[Condition]:
    """Return the comparisons of a function that depend on its parameters or its grid, in the order of its code.

    A minimum or maximum with a constant is a comparison, too.
    """
    slices = _Slices(function)
    found = []
    for index, instruction in enumerate(function.body):
        compared = _as_comparison(instruction)
        if _compares_integers(compared):
            (result, *_) = destinations(compared) or (None,)
            outcome = None if result is None else slices.result(slices.with_last_values(compared, index), result, 0)
            if outcome is not None and any(_varies(leaf) for leaf in leaves(outcome)):
                found.append(Condition(instruction, outcome))
    return found


def leaves(expression: Expression, _seen: set[int] | None = None) -> Iterator[Argument | Special | Constant]:
    """Yield the parameters, special registers and constants of an expression, each at least once."""
    seen = set() if _seen is None else _seen
    if id(expression) in seen:
        return
    seen.add(id(expression))
    match expression:
        case Computed(_, operands) | OneOf(operands):
            for operand in operands:
                yield from leaves(operand, seen)
        case Inverse(operand):
            yield from leaves(operand, seen)
        case _:
            yield expression


def _compares_integers(instruction: Instruction) -> bool:
    made = effect(instruction)
    return made.kind == "compare" and made.type[0] in "usb"


def _as_comparison(instruction: Instruction) -> Instruction:
    """Return the comparison with a larger number that stands for a minimum or maximum; others as they are.

    A loop of tiles that ends at the minimum is one element short only behind the last tile.
    """
    made, limit = decode(instruction), instruction.operands[-1] if instruction.operands else None
    if not isinstance(made, Compute) or made.compute not in (np.minimum, np.maximum) or made.result not in _INTEGERS:
        return instruction
    if not isinstance(limit, Constant):
        return instruction
    beyond = replace(limit, bits=limit.bits + min(limit.bits, _TILE))
    operands = (Register("", "pred"), instruction.operands[1], beyond)
    return replace(instruction, opcode=("setp", "lt", made.result), operands=operands)


def _varies(leaf: Argument | Special | Constant) -> bool:
    return isinstance(leaf, Argument) or (isinstance(leaf, Special) and "ctaid" in leaf.name)


@dataclass
class _Slices:
    """The expressions of a function's registers, made at their first use."""

    function: Function
    known: dict[Register, Expression | None] = field(default_factory=dict)
    pending: list[Register] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.definitions: dict[Register, list[Instruction]] = {}
        self.compared: dict[Register, list[Operand]] = {}
        for instruction in self.function.body:
            for register in destinations(instruction):
                self.definitions.setdefault(register, []).append(instruction)
            if _compares_integers(instruction) and len(instruction.operands) > 2:
                one, other = instruction.operands[1:3]
                for counter, limit in ((one, other), (other, one)):
                    if isinstance(counter, Register):
                        self.compared.setdefault(counter, []).append(limit)
        self.parameters = {parameter.name for parameter in self.function.parameters}

    def with_last_values(self, instruction: Instruction, index: int) -> Instruction:
        """Return the instruction at an index with the values that its block gave last to registers as operands.

        The compiler counts down what is left of a loop in the register that it has compared before.
        """
        first = max((start for start in self.function.labels.values() if start <= index), default=0)
        operands = list(instruction.operands)
        for position, operand in enumerate(operands[1:], 1):
            if isinstance(operand, Register) and len(self.definitions.get(operand, ())) > 1:
                before = self.function.body[first:index]
                last = next((each for each in reversed(before) if operand in destinations(each)), None)
                if last is not None and last.guard is None and operand not in last.operands[1:]:
                    operands[position] = value = Register(f"{operand.name} of {last.line}.{index}", operand.type)
                    self.definitions[value] = [last]
        return replace(instruction, operands=tuple(operands))

    def operand(self, operand: Operand, depth: int) -> Expression | None:
        """Return the expression of an operand; None if it is not known."""
        match operand:
            case Register():
                return self.register(operand, depth)
            case Negated(register):
                inner = self.register(register, depth)
                return None if inner is None else Inverse(inner)
            case Constant():
                return operand
            case Symbol(name):
                # A variable's address is aligned; its value does not depend on the size.
                return Special(name) if name[:1] == "%" or name == "WARP_SZ" else Constant(0)
        return None

    def register(self, register: Register, depth: int) -> Expression | None:
        """Return the expression of a register; None if it is not known, or belongs to a loop that is being followed."""
        if register in self.known:
            return self.known[register]
        if register in self.pending or depth > _DEEPEST:
            return None
        self.pending.append(register)
        definitions = self.definitions.get(register, [])
        options = [self.result(instruction, register, depth + 1) for instruction in definitions]
        if len(definitions) > 1 and None in options:
            options += [self.operand(limit, depth + 1) for limit in self._limits(register, definitions)]
        several = tuple(option for option in options if option is not None)
        expression = several[0] if len(several) == 1 else OneOf(several, register.type) if several else None
        self.pending.pop()
        if not self.pending or expression is not None:
            self.known[register] = expression
        return expression

    def _limits(self, register: Register, definitions: list[Instruction]) -> Iterator[Operand]:
        """Yield what a loop's counter, or its next value, is compared with."""
        stepped = [source for each in definitions for source in each.operands[1:2] if isinstance(source, Register)]
        for counter in dict.fromkeys((register, *stepped)):
            yield from self.compared.get(counter, ())

    def result(self, instruction: Instruction, register: Register, depth: int) -> Expression | None:
        """Return the expression of an instruction's result; None if it is not known."""
        semantics = decode(instruction)
        if isinstance(semantics, Execute) and semantics.memory is not None and semantics.memory.space == "param":
            return self._argument(instruction, register)
        sources = instruction.operands[1:]
        if isinstance(semantics, Move):
            return self.operand(sources[0], depth) if len(sources) == 1 else None
        if not isinstance(semantics, Compute) or semantics.also or isinstance(instruction.operands[0], tuple):
            return None
        operands = [self.operand(source, depth) for source in sources]
        known = tuple(operand for operand in operands if operand is not None)
        return Computed(semantics, known, register.type) if len(known) == len(operands) else None

    def _argument(self, instruction: Instruction, register: Register) -> Expression | None:
        target, address = instruction.operands[0], instruction.operands[-1]
        if not isinstance(address, Address) or not isinstance(address.base, Symbol):
            return None
        kind, offset = effect(instruction).type, address.offset
        if isinstance(target, tuple):
            offset += TYPE_BYTES[kind] * target.index(register)
        return Argument(address.base.name, offset, kind) if address.base.name in self.parameters else None

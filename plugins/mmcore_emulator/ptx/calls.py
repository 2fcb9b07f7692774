"""Inline expansion of calls: the body of the called function replaces the call, so no other module handles calls.

Each call gets a copy with separate registers, labels and parameters. All copies share the function's local memory: a
thread executes one copy at a time, because recursion is refused. Reference: PTX ISA, "Control Flow Instructions:
call", "Abstracting the ABI".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mmcore_emulator.errors import PtxError
from mmcore_emulator.ptx.declarations import Variable
from mmcore_emulator.ptx.instructions import (
    Address,
    Function,
    Instruction,
    Negated,
    Operand,
    Parameter,
    Register,
    Scalar,
    Symbol,
    TensorAddress,
    Vector,
)
from mmcore_emulator.ptx.param_space import passed_in_registers

LARGEST = 1 << 16
"""The most instructions that a kernel may have after expansion; they take some ten seconds to translate."""
_DEEPEST = 50
_BRANCHES = ("bra", "brx")
_STOPS = ("trap", "brkpt")


def with_calls_expanded(function: Function, find: Callable[[str], Function | None]) -> Function:
    """Return a function in which the bodies of called functions replace the calls; ``find`` returns these by name.

    A call that cannot be expanded remains a call with one operand: the description of the called function. An ``exit``
    follows every instruction that stops a thread (``trap``).

    Raises:
        PtxError: a call contradicts the function that it calls.
    """
    expansion = _Expansion(find, dict(function.variables), dict(function.passed))
    expansion.add(function, None, (function.name,))
    parts = {name: getattr(expansion, name) for name in ("body", "labels", "variables", "passed")}
    return passed_in_registers(replace(function, **parts))


@dataclass(frozen=True)
class _Copy:
    """A copy of a function's body."""

    call: Instruction  # the call that it replaces
    suffix: str  # distinguishes its registers and labels from those of other copies
    symbols: Mapping[str, str]  # new names of its parameters and variables
    return_label: str  # the label that it returns to

    def of(self, instruction: Instruction) -> Instruction:
        """Return an instruction of the function as it is in the copy; without a line, it gets the line of the call."""
        branches = instruction.opcode[0] in _BRANCHES
        operands = tuple(self._operand(operand, branches) for operand in instruction.operands)
        guard = None if instruction.guard is None else self._register(instruction.guard)
        located, callers = self.call, self.call.callers
        if instruction.line:
            located, callers = instruction, (*instruction.callers, (self.call.source, self.call.line), *callers)
        placed = replace(instruction, line=located.line, source=located.source, column=located.column, callers=callers)
        return replace(placed, operands=operands, guard=guard)

    def _register(self, register: Register) -> Register:
        return Register(register.name + self.suffix, register.type)

    def _operand(self, operand: Operand, branches: bool) -> Operand:
        match operand:
            case tuple():
                return tuple(self._scalar(part, branches) for part in operand)
            case Address(base, offset):
                return Address(self._scalar(base, branches), offset)
            case TensorAddress(base, coordinates):
                scalars = tuple(self._scalar(part, branches) for part in coordinates)
                return TensorAddress(self._scalar(base, branches), scalars)
            case _:
                return self._scalar(operand, branches)

    def _scalar(self, operand: Scalar, branches: bool) -> Scalar:
        match operand:
            case Register():
                return self._register(operand)
            case Negated(register):
                return Negated(self._register(register))
            case Symbol(name):
                return Symbol(name + self.suffix if branches else self.symbols.get(name, name))
            case _:
                return operand


@dataclass
class _Expansion:
    """A kernel's instructions that have been copied so far, with their labels, variables and parameters."""

    find: Callable[[str], Function | None]
    variables: dict[str, Variable]
    passed: dict[str, Parameter]
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    copied: int = 0  # instructions so far
    copies: int = 0

    def add(self, function: Function, copy: _Copy | None, callers: tuple[str, ...]) -> None:
        """Add the kernel's body, or a copy of the last function of ``callers``."""
        self.copied += 1 + len(function.body)
        labels = defaultdict(list)
        for label, index in function.labels.items():
            labels[index].append(label + (copy.suffix if copy else ""))
        for index, instruction in enumerate(function.body):
            self.labels |= dict.fromkeys(labels[index], len(self.body))
            instruction = copy.of(instruction) if copy else instruction
            kind = instruction.opcode[0]
            if copy and kind == "ret":
                self.body.append(replace(instruction, opcode=("bra",), operands=(Symbol(copy.return_label),)))
            elif kind == "call":
                self._call(instruction, callers)
            elif kind == "brx":
                self._unguarded(instruction, lambda plain: self.body.append(plain))
            else:
                self.body.append(instruction)
                if kind in _STOPS:
                    self.body.append(replace(instruction, opcode=("exit",), operands=()))
        self.labels |= dict.fromkeys(labels[len(function.body)], len(self.body))

    def _unguarded(self, instruction: Instruction, add: Callable[[Instruction], None]) -> None:
        """Add an instruction without its guard, and a branch around it for the threads that the guard excludes."""
        if instruction.guard is None:
            add(instruction)
            return
        self.copies += 1
        around = f"around/{self.copies}"
        skip = replace(instruction, opcode=("bra",), operands=(Symbol(around),), negated=not instruction.negated)
        self.body.append(skip)
        add(replace(instruction, guard=None, negated=False))
        self.labels[around] = len(self.body)

    def _call(self, call: Instruction, callers: tuple[str, ...]) -> None:
        """Expand ``call {(results),} name{, (arguments)}``, or keep a call through a pointer."""
        results, target, arguments = _parts(call)
        called = self.find(target.name) if isinstance(target, Symbol) else None
        if called is None:
            refusal = _as_written(target.name) if isinstance(target, Symbol) else "a function through a pointer"
        else:
            refusal = self._refusal(called, (*results, *arguments), callers)
        if called is None or refusal:
            self.body.append(replace(call, operands=(Symbol(refusal),)))
            return
        _check_count(called, "results", results, called.returns)
        _check_count(called, "arguments", arguments, called.parameters)
        pairs = zip((*called.returns, *called.parameters), (*results, *arguments), strict=True)
        places = {formal.name: actual.name for formal, actual in pairs if isinstance(actual, Symbol)}
        self._unguarded(call, lambda plain: self._expand(plain, called, places, callers))

    def _refusal(self, called: Function, passed: Vector, callers: tuple[str, ...]) -> str:
        """Return a phrase for a function that cannot be expanded, with the reason; "" if it can."""
        name = _as_written(called.name)
        if called.name in callers:
            through = " and ".join(map(_as_written, callers[callers.index(called.name) + 1 :]))
            return f"{name}, which calls itself{through and f' through {through}'}"
        if len(callers) > _DEEPEST:
            return f"{name}, {_DEEPEST} calls deep"
        if self.copied + len(called.body) > LARGEST:
            return f"{name}, with which the kernel has more than {LARGEST} instructions"
        if not all(isinstance(operand, Symbol) and operand.name in self.passed for operand in passed):
            return f"{name} with arguments or results in registers"
        return ""

    def _expand(self, call: Instruction, called: Function, places: Mapping[str, str], callers: tuple[str, ...]) -> None:
        """Add a copy of a function's body; ``places`` maps its parameters and results to the caller's names."""
        self.copies += 1
        suffix = f"/{self.copies}"
        renamed = {name: name + suffix for name in called.passed}
        self.passed |= {renamed[name]: parameter for name, parameter in called.passed.items()}
        copy = _Copy(call, suffix, {**self._variables_of(called), **places, **renamed}, f"behind{suffix}")
        self.add(called, copy, (*callers, called.name))
        self.labels[copy.return_label] = len(self.body)

    def _variables_of(self, called: Function) -> dict[str, str]:
        """Return new names for the variables whose name is taken; all copies of the function share them."""
        names = {}
        for name, variable in called.variables.items():
            if self.variables.setdefault(name, variable) is not variable:
                names[name] = f"{name}@{called.name}"
                self.variables[names[name]] = replace(variable, name=names[name])
        return names


def _parts(call: Instruction) -> tuple[Vector, Symbol | Register, Vector]:
    """Return results, function and arguments of a call."""
    match call.operands:
        case (tuple(results), Symbol() | Register() as target, tuple(arguments), *_):
            return results, target, arguments
        case (Symbol() | Register() as target, tuple(arguments), *_):
            return (), target, arguments
        case (tuple(results), Symbol() | Register() as target, *_):
            return results, target, ()
        case (Symbol() | Register() as target, *_):
            return (), target, ()
    raise PtxError(f"PTX {call.mnemonic} names no function")


def _check_count(called: Function, what: str, actual: Sequence[object], declared: Sequence[object]) -> None:
    if len(actual) != len(declared):
        raise PtxError(f"a PTX call of {called.name} has {len(actual)} {what}, not {len(declared)}")


def _as_written(symbol: str) -> str:
    """Return the name of a function in the source, "fact" for "_Z4facti"; or its symbol if it has no simple name."""
    match = re.match(r"_Z(\d{1,4})", symbol)
    return symbol[match.end() :][: int(match[1])] if match else symbol

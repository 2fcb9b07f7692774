"""Calls of functions: the body of what is called takes the place of the call, so that nobody else learns of calls.

Each call has a copy of its own, with registers, labels and parameters of its own. A function's local memory is the same
in all its copies: a thread is in one of them at a time, as what calls itself is refused. Reference: PTX ISA, "Control
Flow Instructions: call", "Abstracting the ABI".
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
"""Instructions that a kernel may have with all that it calls; they take some ten seconds to translate."""
_DEEPEST = 50
_BRANCHES = ("bra", "brx")
_STOPS = ("trap", "brkpt")


def with_calls_expanded(function: Function, find: Callable[[str], Function | None]) -> Function:
    """A function with the bodies of all that it calls in the place of the calls.

    What cannot be expanded stays a call, of one operand, which says what is called. Behind what stops a thread
    (``trap``) stands an ``exit``.

    Args:
        function: the function.
        find: the function of a name; None where there is none such.

    Raises:
        PtxError: a call contradicts the function that it calls.
    """
    expansion = _Expansion(find, dict(function.variables), dict(function.passed))
    expansion.add(function, None, (function.name,))
    made = {name: getattr(expansion, name) for name in ("body", "labels", "variables", "passed")}
    return passed_in_registers(replace(function, **made))


@dataclass(frozen=True)
class _Copy:
    """A copy of a function's body.

    Attributes:
        call: the instruction that it is made for.
        suffix: what tells its registers and labels from those of others.
        symbols: what its parameters and variables are called.
        behind: the label that it returns to.
    """

    call: Instruction
    suffix: str
    symbols: Mapping[str, str]
    behind: str

    def of(self, each: Instruction) -> Instruction:
        """An instruction of the function in the copy; one that has no line has that of the call."""
        branches = each.opcode[0] in _BRANCHES
        operands = tuple(self._operand(operand, branches) for operand in each.operands)
        guard = None if each.guard is None else self._register(each.guard)
        line, source = (each.line, each.source) if each.line else (self.call.line, self.call.source)
        return replace(each, operands=operands, guard=guard, line=line, source=source)

    def _register(self, register: Register) -> Register:
        return Register(register.name + self.suffix, register.type)

    def _operand(self, operand: Operand, branches: bool) -> Operand:
        match operand:
            case tuple():
                return tuple(self._scalar(part, branches) for part in operand)
            case Address(base, offset):
                return Address(self._scalar(base, branches), offset)
            case TensorAddress(base, coordinates):
                found = tuple(self._scalar(part, branches) for part in coordinates)
                return TensorAddress(self._scalar(base, branches), found)
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
    """A kernel's instructions, as far as they have been copied, and what they name."""

    find: Callable[[str], Function | None]
    variables: dict[str, Variable]
    passed: dict[str, Parameter]
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    copied: int = 0  # instructions
    copies: int = 0

    def add(self, function: Function, copy: _Copy | None, callers: tuple[str, ...]) -> None:
        """Add the kernel's body, or a copy of a function's, which is the last of ``callers``."""
        self.copied += 1 + len(function.body)
        labels = defaultdict(list)
        for label, index in function.labels.items():
            labels[index].append(label + (copy.suffix if copy else ""))
        for index, each in enumerate(function.body):
            self.labels |= dict.fromkeys(labels[index], len(self.body))
            each = copy.of(each) if copy else each
            kind = each.opcode[0]
            if copy and kind == "ret":
                self.body.append(replace(each, opcode=("bra",), operands=(Symbol(copy.behind),)))
            elif kind == "call":
                self._call(each, callers)
            elif kind == "brx":
                self._unguarded(each, lambda plain: self.body.append(plain))
            else:
                self.body.append(each)
                if kind in _STOPS:
                    self.body.append(replace(each, opcode=("exit",), operands=()))
        self.labels |= dict.fromkeys(labels[len(function.body)], len(self.body))

    def _unguarded(self, each: Instruction, add: Callable[[Instruction], None]) -> None:
        """Add what ``add`` adds for an instruction without its guard, and a branch around it for whom it is not."""
        if each.guard is None:
            add(each)
            return
        self.copies += 1
        around = f"around/{self.copies}"
        self.body.append(replace(each, opcode=("bra",), operands=(Symbol(around),), negated=not each.negated))
        add(replace(each, guard=None, negated=False))
        self.labels[around] = len(self.body)

    def _call(self, each: Instruction, callers: tuple[str, ...]) -> None:
        """``call {(results),} name{, (arguments)}``, or one through a pointer, with what it may lead to behind."""
        results, target, arguments = _parts(each)
        called = self.find(target.name) if isinstance(target, Symbol) else None
        if called is None:
            refusal = _as_written(target.name) if isinstance(target, Symbol) else "a function through a pointer"
        else:
            refusal = self._refusal(called, (*results, *arguments), callers)
        if called is None or refusal:
            self.body.append(replace(each, operands=(Symbol(refusal),)))
            return
        _check_count(called, "results", results, called.returns)
        _check_count(called, "arguments", arguments, called.parameters)
        pairs = zip((*called.returns, *called.parameters), (*results, *arguments), strict=True)
        places = {formal.name: actual.name for formal, actual in pairs if isinstance(actual, Symbol)}
        self._unguarded(each, lambda plain: self._expand(plain, called, places, callers))

    def _refusal(self, called: Function, passed: Vector, callers: tuple[str, ...]) -> str:
        """What is called, as a sentence goes on, where that cannot be expanded; empty where it can."""
        name = _as_written(called.name)
        if called.name in callers:
            through = " and ".join(map(_as_written, callers[callers.index(called.name) + 1 :]))
            return f"{name}, which calls itself{through and f' through {through}'}"
        if len(callers) > _DEEPEST:
            return f"{name}, {_DEEPEST} calls deep"
        if self.copied + len(called.body) > LARGEST:
            return f"{name}, with which the kernel has more than {LARGEST} instructions"
        if not all(isinstance(each, Symbol) and each.name in self.passed for each in passed):
            return f"{name} with arguments or results in registers"
        return ""

    def _expand(self, call: Instruction, called: Function, places: Mapping[str, str], callers: tuple[str, ...]) -> None:
        """A copy of a function's body, of which ``places`` names parameters and results."""
        self.copies += 1
        suffix = f"/{self.copies}"
        own = {name: name + suffix for name in called.passed}
        self.passed |= {own[name]: parameter for name, parameter in called.passed.items()}
        copy = _Copy(call, suffix, {**self._variables_of(called), **places, **own}, f"behind{suffix}")
        self.add(called, copy, (*callers, called.name))
        self.labels[copy.behind] = len(self.body)

    def _variables_of(self, called: Function) -> dict[str, str]:
        """New names for the variables that a function declares by a name that is taken, as all its copies have them."""
        names = {}
        for name, variable in called.variables.items():
            if self.variables.setdefault(name, variable) is not variable:
                names[name] = f"{name}@{called.name}"
                self.variables[names[name]] = replace(variable, name=names[name])
        return names


def _parts(call: Instruction) -> tuple[Vector, Symbol | Register, Vector]:
    """Results, function and arguments of a call."""
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


def _check_count(called: Function, what: str, given: Sequence[object], declared: Sequence[object]) -> None:
    if len(given) != len(declared):
        raise PtxError(f"a PTX call of {called.name} has {len(given)} {what}, not {len(declared)}")


def _as_written(symbol: str) -> str:
    """What the source calls a function: "fact" of "_Z4facti"; its symbol where that is not so plain."""
    found = re.match(r"_Z(\d{1,4})", symbol)
    return symbol[found.end() :][: int(found[1])] if found else symbol

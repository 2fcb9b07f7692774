"""The body of a function of PTX: scopes, registers, labels and instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mmcore_emulator.errors import PtxError
from mmcore_emulator.ptx.declarations import variable
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
from mmcore_emulator.ptx.project_headers import is_of_project
from mmcore_emulator.ptx.types import TYPE_BYTES, Constant, integer, real, whole_number

_PACKED = ("f16x2", "bf16x2")  # types of registers that hold two numbers
_REGISTERS = re.compile(r"\.reg\s*\.(?P<type>\w+)\s+(?P<names>.*)$", re.DOTALL)
_STATEMENT = re.compile(
    r"\s*(?:(?P<loc>\.loc\b[^\n]*)|(?P<file>\.file\b[^\n]*)|(?P<label>[\w$]+):(?!:)|(?P<open>\{)|(?P<close>\})"
    r"|(?P<statement>[^;]*);)"
)
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*\binlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_INSTRUCTION = re.compile(
    r"(?:@(?P<not>!?)(?P<guard>[\w$%]+)\s+)?(?P<opcode>[a-z][\w.:]*)\s*(?P<operands>.*)$", re.DOTALL
)
_TENSOR_ADDRESS = re.compile(r"\[\s*(?P<base>[%\w$.]+)\s*,\s*\{(?P<coordinates>[^{}]*)\}\s*\]$")
_ADDRESS = re.compile(r"\[\s*(?P<base>[%\w$.]+)\s*(?:\+\s*(?P<offset>-?\w+))?\s*\]$")


_PARAMETER = re.compile(
    r"\.param\s*(?:\.align\s+\d+\s*)?\.(?P<type>\w+)\s*(?:\.ptr\b[^%\w]*(?:\.\w+\s+)*(?:\.align\s+\d+\s+)?)?"
    r"(?P<name>[\w$]+)\s*(?:\[(?P<extent>\d+)\])?\s*$"
)


_Place: TypeAlias = tuple[int, int, int]


@dataclass
class _Scope:
    """A scope between two braces, and its declarations; inline assembly may reuse a name of another scope."""

    suffix: str  # distinguishes its registers from those of the same name in other scopes
    # Registers declared one by one, and the used ones of ``families``.
    registers: dict[str, Register] = field(default_factory=dict)
    families: list[tuple[str, int, str]] = field(default_factory=list)  # (prefix, count, type) of ``.reg .b32 %r<5>``
    labels: set[str] = field(default_factory=set)  # names of its labels
    passed: set[str] = field(default_factory=set)  # names of its ``.param`` variables

    def find(self, name: str) -> Register | None:
        """Return the register of that name in this scope."""
        if name not in self.registers:
            for prefix, count, kind in self.families:
                number = name.removeprefix(prefix)
                if number != name and re.fullmatch("0|[1-9][0-9]*", number) and whole_number(number) < count:
                    self.registers[name] = Register(name + self.suffix, kind)
        return self.registers.get(name)


class FunctionBody:
    """A parser of one function's statements that keeps track of scopes and source lines."""

    def __init__(self, function: Function, files: dict[int, str]) -> None:
        self._function = function
        self._files = files
        self._scopes = [_Scope("")]
        self._opened = 0
        self._line = self._column = 0
        self._source = ""
        self._called_at: tuple[tuple[str, int], ...] = ()
        self._main = 0
        self._callers: dict[_Place, _Place] = {}
        # Branches by their index in the body, with their scopes: a label may follow its branch.
        self._branches: dict[int, list[_Scope]] = {}
        # For ``brx.idx``: the labels of each target list, with the scopes of the list.
        self._lists: dict[str, tuple[list[str], list[_Scope]]] = {}
        self._labelled = ""

    def read(self, text: str) -> None:
        position = 0
        while match := _STATEMENT.match(text, position):
            position = match.end()
            if match["loc"]:
                self._locate(match["loc"])
            elif match["label"]:
                self._label(match["label"])
            elif match["open"]:
                self._opened += 1
                self._scopes.append(_Scope(f"@{self._opened}"))
            elif match["close"]:
                if len(self._scopes) == 1:
                    raise PtxError(f"PTX function {self._function.name} closes a scope it did not open")
                self._scopes.pop()
            elif statement := " ".join((match["statement"] or "").split()):
                self._statement(statement)
        if rest := text[position:].strip():
            raise PtxError(f"PTX statement {rest.splitlines()[0]!r} is not understood")
        self._lead_branches()

    def _label(self, name: str) -> None:
        scope = self._scopes[-1]
        if name in scope.labels:
            raise PtxError(f"PTX label {name} is declared twice in {self._function.name}")
        scope.labels.add(name)
        self._labelled = name + scope.suffix
        self._function.labels[self._labelled] = len(self._function.body)

    def _lead_branches(self) -> None:
        """Resolve the targets of branches to labels of the innermost scope that has them."""
        for index, scopes in self._branches.items():
            branch = self._function.body[index]
            *_, target = branch.operands or (None,)
            if isinstance(target, Symbol):
                label = _label_of(target.name, scopes)
                targets: Operand = Symbol(label)
                if branch.opcode[0] == "brx":
                    if label not in self._lists:
                        raise PtxError(f"PTX branch {branch.mnemonic} has no list of targets {target.name}")
                    names, around = self._lists[label]
                    targets = tuple(Symbol(_label_of(name, around)) for name in names)
                self._function.body[index] = replace(branch, operands=(*branch.operands[:-1], targets))

    def _locate(self, text: str) -> None:
        match = _LOC.match(text)
        if not match:
            raise PtxError(f"PTX line mark {text!r} is not understood")
        file, line, column, *caller = (whole_number(number) for number in match.groups() if number)
        place = (file, line, column)
        if caller:
            self._callers[place] = (caller[0], caller[1], caller[2])
        self._main = self._main or file
        # Code of a function from a library's header is attributed to the line that calls it.
        visited = {place}
        while not self._is_shown(place[0]) and (above := self._callers.get(place)) and above not in visited:
            place = above
            visited.add(place)
        # Line 0 marks code without a source line; it keeps the preceding line.
        if place[1]:
            self._line, self._source, self._column = place[1], self._name(place[0]), place[2]
            self._called_at = tuple(self._calls(place, visited))

    def _is_shown(self, file: int) -> bool:
        """Return whether a file is the function's own or a header of its project."""
        return file == self._main or is_of_project(self._files.get(file, ""), self._files.get(self._main, ""))

    def _name(self, file: int) -> str:
        """Return the name of a file without its folder."""
        return self._files.get(file, "").rpartition("/")[2]

    def _calls(self, place: _Place, visited: set[_Place]) -> Iterator[tuple[str, int]]:
        """Yield the calls that the code of a place was inlined at."""
        while (above := self._callers.get(place)) and above not in visited:
            visited.add(above)
            place = above
            if place[1]:
                yield self._name(place[0]), place[1]

    def _statement(self, text: str) -> None:
        if match := _REGISTERS.match(text):
            self._declare("b32" if match["type"] in _PACKED else match["type"], match["names"])
        elif text.startswith((".shared", ".local")):
            declared = variable(text)
            self._function.variables[declared.name] = declared
        elif text.startswith(".param"):
            passed = parameter(text)
            self._scopes[-1].passed.add(passed.name)
            self._function.passed[passed.name + self._scopes[-1].suffix] = passed
        elif text.startswith(".branchtargets"):
            names = [name.strip() for name in text.removeprefix(".branchtargets").split(",")]
            self._lists[self._labelled] = (names, list(self._scopes))
        elif text.startswith(".pragma") or ".callprototype" in text:
            return
        elif match := _INSTRUCTION.match(text):
            if match["opcode"].startswith(("bra", "brx")):
                self._branches[len(self._function.body)] = list(self._scopes)
            guard = match["guard"] and self._scalar(match["guard"])
            if guard is not None and not isinstance(guard, Register):
                raise PtxError(f"PTX guard in {text!r} is not a register")
            self._function.body.append(
                Instruction(
                    tuple(match["opcode"].split(".")),
                    tuple(self._operand(operand) for operand in _split(match["operands"])),
                    guard,
                    bool(match["not"]),
                    self._line,
                    self._source,
                    self._column,
                    self._called_at,
                )
            )
        else:
            raise PtxError(f"PTX statement {text!r} is not understood")

    def _declare(self, kind: str, names: str) -> None:
        if kind not in TYPE_BYTES:
            # A register of an exotic type is an error only if an instruction uses it.
            return
        scope = self._scopes[-1]
        for name in names.split(","):
            name = name.strip()
            if match := re.fullmatch(r"(%?[\w$]+)<([0-9]+)>", name):
                scope.families.append((match[1], whole_number(match[2]), kind))
            else:
                scope.registers[name] = Register(name + scope.suffix, kind)

    def _operand(self, text: str) -> Operand:
        if text.startswith(("{", "(")):
            return self._vector(text[1:-1])
        if "|" in text:
            return self._vector(text.replace("|", ","))
        if text.startswith("["):
            text = text.removesuffix(".unified")  # the address is the same in every thread
            match = _ADDRESS.match(text)
            offset = integer(match["offset"] or "0") if match else None
            if tensor := _TENSOR_ADDRESS.match(text):
                return TensorAddress(self._scalar(tensor["base"]), self._vector(tensor["coordinates"]))
            if not match or offset is None:
                # Only newer instructions have such addresses; the translation refuses them by name.
                return Symbol(text)
            return Address(self._scalar(match["base"]), offset)
        return self._scalar(text)

    def _vector(self, text: str) -> Vector:
        return tuple(self._scalar(part) for part in _split(text))

    def _scalar(self, text: str) -> Scalar:
        if text.startswith("!") and isinstance(negated := self._scalar(text[1:].strip()), Register):
            return Negated(negated)
        for scope in reversed(self._scopes):
            if register := scope.find(text):
                return register
            if text in scope.passed:
                return Symbol(text + scope.suffix)
        if (number := integer(text)) is not None:
            return Constant(number & 0xFFFFFFFFFFFFFFFF)
        if (constant := real(text)) is not None:
            return constant
        if not re.fullmatch(r"[%\w$.|!-]+", text):
            raise PtxError(f"PTX operand {text!r} is not understood")
        return Symbol(text)


def _label_of(name: str, scopes: Sequence[_Scope]) -> str:
    """Return the label of that name in the innermost scope that has it."""
    return name + next((scope for scope in reversed(scopes) if name in scope.labels), scopes[0]).suffix


def _split(text: str) -> Iterator[str]:
    """Yield operands, separated by commas outside brackets and braces."""
    depth, begin = 0, 0
    for position, character in enumerate(text):
        depth += (character in "[{(") - (character in "]})")
        if character == "," and depth == 0:
            yield text[begin:position].strip()
            begin = position + 1
    if depth:
        raise PtxError(f"PTX operands {text!r} are not closed")
    if last := text[begin:].strip():
        yield last


def parameter(text: str) -> Parameter:
    """Return the parameter of a declaration.

    Raises:
        PtxError: it cannot be read.
    """
    match = _PARAMETER.search(" ".join(text.split()))
    if not match or match["type"] not in TYPE_BYTES:
        raise PtxError(f"PTX parameter {text.strip()!r} is not understood")
    return Parameter(match["name"], match["type"], TYPE_BYTES[match["type"]] * whole_number(match["extent"] or "1"))

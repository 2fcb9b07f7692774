"""PTX text, as NVRTC writes it, read into instructions.

Only structure is understood here (functions, declarations, labels, operands, source lines); what an instruction
does is operations.py's business. Reference: NVIDIA, Parallel Thread Execution ISA.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mmcore_emulator.declarations import Variable, module_variables, variable
from mmcore_emulator.ptx_types import TYPE_BYTES, Constant, PtxError, integer, real, whole_number


@dataclass(frozen=True)
class Register:
    """A virtual register; ``type`` is as declared ("b32", "f64", "pred")."""

    name: str
    type: str


@dataclass(frozen=True)
class Symbol:
    """A name: a variable, a parameter, a label or a special register such as %tid.x."""

    name: str


@dataclass(frozen=True)
class Negated:
    """A predicate that is taken for its contrary, ``!%p1``."""

    register: Register


Scalar: TypeAlias = Register | Constant | Symbol | Negated


@dataclass(frozen=True)
class Address:
    """Memory operand ``[base + offset]``."""

    base: Scalar
    offset: int = 0


Vector: TypeAlias = tuple[Scalar, ...]
"""``{%r1, %r2}``, or two destinations: ``%r1|%p1``."""


@dataclass(frozen=True)
class TensorAddress:
    """Memory operand ``[tensor map, {coordinates}]``, slowest coordinate last."""

    base: Scalar
    coordinates: Vector


Operand: TypeAlias = Scalar | Address | TensorAddress | Vector


@dataclass(frozen=True)
class Instruction:
    """One instruction."""

    opcode: tuple[str, ...]  # its parts, as in ("ld", "global", "f32")
    operands: tuple[Operand, ...]  # destination first
    guard: Register | None = None  # predicate register of ``@%p``, or None
    negated: bool = False  # whether it is ``@!%p``
    line: int = 0  # line of the .cu file, 0 where the compiler gave none
    source: str = ""  # name of that file

    @property
    def mnemonic(self) -> str:
        """The opcode as written: "ld.global.f32"."""
        return ".".join(self.opcode)


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter: its name, element type and size in bytes."""

    name: str
    type: str
    nbytes: int


@dataclass
class Function:
    """One ``.entry``.

    Attributes:
        name: its symbol.
        parameters: in order.
        variables: its own and the module's.
        threads: of a block: at most (under "maxntid") and exactly ("reqntid"), where the source says so.
        cluster: blocks of a cluster along x, y and z, where the source says so.
        passed: what is declared in its body to pass to functions that it calls, and to take from them.
        body: instructions in order.
        labels: index in ``body`` that each label stands before.
    """

    name: str
    parameters: list[Parameter]
    variables: dict[str, Variable]
    threads: dict[str, int] = field(default_factory=dict)
    cluster: tuple[int, ...] = ()
    passed: set[str] = field(default_factory=set)
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(\((?P<parameters>[^)]*)\))?(?P<directives>[^{;]*)")
_CALLABLE = re.compile(r"\.func\b[^{;]*\{")
_THREADS = re.compile(r"\.(maxntid|reqntid)\s+([\d\s,]+)")
_CLUSTER = re.compile(r"\.reqnctapercluster\s+([\d\s,]+)")
_PARAMETER = re.compile(
    r"\.param\s*(?:\.align\s+\d+\s*)?\.(?P<type>\w+)\s*(?:\.ptr\b[^%\w]*(?:\.\w+\s+)*(?:\.align\s+\d+\s+)?)?"
    r"(?P<name>[\w$]+)\s*(?:\[(?P<extent>\d+)\])?\s*$"
)
_CALL_PARAMETER = re.compile(r"\.param\s*(?:\.align\s+\d+\s*)?\.\w+\s+(?P<name>[\w$]+)")
_REGISTERS = re.compile(r"\.reg\s*\.(?P<type>\w+)\s+(?P<names>.*)$", re.DOTALL)
_STATEMENT = re.compile(
    r"\s*(?:(?P<loc>\.loc\b[^\n]*)|(?P<file>\.file\b[^\n]*)|(?P<label>[\w$]+):(?!:)|(?P<open>\{)|(?P<close>\})"
    r"|(?P<statement>[^;]*);)"
)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*\binlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_INSTRUCTION = re.compile(
    r"(?:@(?P<not>!?)(?P<guard>[\w$%]+)\s+)?(?P<opcode>[a-z][\w.:]*)\s*(?P<operands>.*)$", re.DOTALL
)
_TENSOR_ADDRESS = re.compile(r"\[\s*(?P<base>[%\w$.]+)\s*,\s*\{(?P<coordinates>[^{}]*)\}\s*\]$")
_ADDRESS = re.compile(r"\[\s*(?P<base>[%\w$.]+)\s*(?:\+\s*(?P<offset>-?\w+))?\s*\]$")


def parse(text: str) -> dict[str, Function]:
    """The functions of a PTX module, by symbol.

    Raises:
        PtxError: the text cannot be read; the message quotes the statement.
    """
    files = {whole_number(number): path.rpartition("/")[2] for number, path in _FILE.findall(text)}
    text = _COMMENT.sub(" ", text)
    functions: dict[str, Function] = {}
    spans = [(found, *_body(text, found.end())) for found in _ENTRY.finditer(text)]
    callable_spans = [(found.start(), _body(text, found.end() - 1)[1]) for found in _CALLABLE.finditer(text)]
    outside = _outside(text, sorted([*((found.start(), end) for found, _, end in spans), *callable_spans]))
    variables = module_variables(outside)
    for found, begin, end in spans:
        parameters = _parameters(found["parameters"] or "")
        directives = found["directives"]
        function = Function(found[1], parameters, dict(variables), _threads(directives), _cluster(directives))
        _Body(function, files).read(text[begin : end - 1])
        functions[function.name] = function
    return functions


def _body(text: str, position: int) -> tuple[int, int]:
    """Begin of the text inside the braces at ``position``, and end of the text behind them."""
    if text[position : position + 1] != "{":
        raise PtxError("a PTX function has no body")
    depth = 0
    for brace in re.compile(r"[{}]").finditer(text, position):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return position + 1, brace.end()
    raise PtxError("a PTX function's body does not end")


def _threads(directives: str) -> dict[str, int]:
    found = _THREADS.findall(directives)
    return {name: math.prod(whole_number(extent) for extent in re.findall(r"\d+", extents)) for name, extents in found}


def _cluster(directives: str) -> tuple[int, ...]:
    found = _CLUSTER.search(directives)
    extents = [whole_number(extent) for extent in re.findall(r"\d+", found[1])] if found else []
    return (*extents, *[1] * (3 - len(extents))) if extents else ()


def _outside(text: str, spans: list[tuple[int, int]]) -> str:
    kept, position = [], 0
    for begin, end in spans:
        kept.append(text[position:begin])
        position = end
    return " ".join([*kept, text[position:]])


def _parameters(text: str) -> list[Parameter]:
    parameters = [_parameter(item) for item in text.split(",") if item.strip()]
    names = [parameter.name for parameter in parameters]
    for name in names:
        if names.count(name) > 1:
            raise PtxError(f"PTX parameter {name} stands twice")
    return parameters


def _parameter(text: str) -> Parameter:
    found = _PARAMETER.search(" ".join(text.split()))
    if not found or found["type"] not in TYPE_BYTES:
        raise PtxError(f"PTX parameter {text.strip()!r} is not understood")
    return Parameter(found["name"], found["type"], TYPE_BYTES[found["type"]] * whole_number(found["extent"] or "1"))


_Place: TypeAlias = tuple[int, int, int]


@dataclass
class _Scope:
    """What is declared between two braces; inline assembly may reuse a name of another scope for something else.

    Attributes:
        suffix: what tells its registers from those of the same name in other scopes.
        registers: declared one by one, and those of ``families`` that were used.
        families: (prefix, count, type) of ``.reg .b32 %r<5>``.
        labels: names of the labels that stand here.
    """

    suffix: str
    registers: dict[str, Register] = field(default_factory=dict)
    families: list[tuple[str, int, str]] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)

    def find(self, name: str) -> Register | None:
        """The register of that name declared here."""
        if name not in self.registers:
            for prefix, count, kind in self.families:
                number = name.removeprefix(prefix)
                if number != name and re.fullmatch("0|[1-9][0-9]*", number) and whole_number(number) < count:
                    self.registers[name] = Register(name + self.suffix, kind)
        return self.registers.get(name)


class _Body:
    """Reads the statements of one function, keeping track of scopes and source lines."""

    def __init__(self, function: Function, files: dict[int, str]) -> None:
        self._function = function
        self._files = files
        self._scopes = [_Scope("")]
        self._opened = 0
        self._line = 0
        self._source = ""
        self._main = 0
        self._callers: dict[_Place, _Place] = {}
        # Branches by their place in the body, with the scopes that they stand in: labels may come behind them.
        self._branches: dict[int, list[_Scope]] = {}

    def read(self, text: str) -> None:
        position = 0
        while found := _STATEMENT.match(text, position):
            position = found.end()
            if found["loc"]:
                self._locate(found["loc"])
            elif found["label"]:
                self._label(found["label"])
            elif found["open"]:
                self._opened += 1
                self._scopes.append(_Scope(f"@{self._opened}"))
            elif found["close"]:
                if len(self._scopes) == 1:
                    raise PtxError(f"PTX function {self._function.name} closes a scope it did not open")
                self._scopes.pop()
            elif statement := " ".join((found["statement"] or "").split()):
                self._statement(statement)
        if rest := text[position:].strip():
            raise PtxError(f"PTX statement {rest.splitlines()[0]!r} is not understood")
        self._lead_branches()

    def _label(self, name: str) -> None:
        scope = self._scopes[-1]
        if name in scope.labels:
            raise PtxError(f"PTX label {name} stands twice in {self._function.name}")
        scope.labels.add(name)
        self._function.labels[name + scope.suffix] = len(self._function.body)

    def _lead_branches(self) -> None:
        """Let branches name the labels of the innermost scope that has them."""
        for index, scopes in self._branches.items():
            branch = self._function.body[index]
            *_, target = branch.operands or (None,)
            if isinstance(target, Symbol):
                found = next((scope for scope in reversed(scopes) if target.name in scope.labels), self._scopes[0])
                label = Symbol(target.name + found.suffix)
                self._function.body[index] = replace(branch, operands=(*branch.operands[:-1], label))

    def _locate(self, text: str) -> None:
        found = _LOC.match(text)
        if not found:
            raise PtxError(f"PTX line mark {text!r} is not understood")
        file, line, column, *caller = (whole_number(number) for number in found.groups() if number)
        place = (file, line, column)
        if caller:
            self._callers[place] = (caller[0], caller[1], caller[2])
        self._main = self._main or file
        # What a header's function does is done where the .cu file calls it.
        visited = {place}
        while place[0] != self._main and (above := self._callers.get(place)) and above not in visited:
            place = above
            visited.add(place)
        # Line 0 marks code that belongs to no line of its own; it keeps the line before it.
        if place[1]:
            self._line, self._source = place[1], self._files.get(place[0], "")

    def _statement(self, text: str) -> None:
        if found := _REGISTERS.match(text):
            self._declare(found["type"], found["names"])
        elif text.startswith((".shared", ".local")):
            declared = variable(text)
            self._function.variables[declared.name] = declared
        elif found := _CALL_PARAMETER.match(text):
            self._function.passed.add(found["name"])
        elif text.startswith((".pragma", ".branchtargets")) or ".callprototype" in text:
            return
        elif found := _INSTRUCTION.match(text):
            if found["opcode"].startswith("bra"):
                self._branches[len(self._function.body)] = list(self._scopes)
            guard = found["guard"] and self._scalar(found["guard"])
            if guard is not None and not isinstance(guard, Register):
                raise PtxError(f"PTX guard in {text!r} is not a register")
            self._function.body.append(
                Instruction(
                    tuple(found["opcode"].split(".")),
                    tuple(self._operand(operand) for operand in _split(found["operands"])),
                    guard,
                    bool(found["not"]),
                    self._line,
                    self._source,
                )
            )
        else:
            raise PtxError(f"PTX statement {text!r} is not understood")

    def _declare(self, kind: str, names: str) -> None:
        if kind not in TYPE_BYTES:
            # A register of an exotic type is only a problem where an instruction uses it.
            return
        scope = self._scopes[-1]
        for name in names.split(","):
            name = name.strip()
            if found := re.fullmatch(r"(%[\w$]+)<([0-9]+)>", name):
                scope.families.append((found[1], whole_number(found[2]), kind))
            else:
                scope.registers[name] = Register(name + scope.suffix, kind)

    def _operand(self, text: str) -> Operand:
        if text.startswith("{"):
            return self._vector(text[1:-1])
        if "|" in text:
            return self._vector(text.replace("|", ","))
        if text.startswith("["):
            found = _ADDRESS.match(text)
            offset = integer(found["offset"] or "0") if found else None
            if tensor := _TENSOR_ADDRESS.match(text):
                return TensorAddress(self._scalar(tensor["base"]), self._vector(tensor["coordinates"]))
            if not found or offset is None:
                # Only newer instructions have such addresses; the translation refuses those by name.
                return Symbol(text)
            return Address(self._scalar(found["base"]), offset)
        if text.startswith("("):
            # What a call takes and returns; the call itself is refused.
            return Symbol(text)
        return self._scalar(text)

    def _vector(self, text: str) -> Vector:
        return tuple(self._scalar(part) for part in _split(text))

    def _scalar(self, text: str) -> Scalar:
        if text.startswith("!") and isinstance(negated := self._scalar(text[1:].strip()), Register):
            return Negated(negated)
        for scope in reversed(self._scopes):
            if register := scope.find(text):
                return register
        if (number := integer(text)) is not None:
            return Constant(number & 0xFFFFFFFFFFFFFFFF)
        if (constant := real(text)) is not None:
            return constant
        if not re.fullmatch(r"[%\w$.|!-]+", text):
            raise PtxError(f"PTX operand {text!r} is not understood")
        return Symbol(text)


def _split(text: str) -> Iterator[str]:
    """Operands, separated by commas that stand outside brackets and braces."""
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

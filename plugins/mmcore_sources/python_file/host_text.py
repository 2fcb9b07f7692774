"""Launches in Python, as host code in CUDA C++, from which a launch is inferred like any other."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from mmcore_sources.python_file.arrays import ArrayReader
from mmcore_sources.python_file.program import PythonProgram
from mmcore_sources.python_file.scopes import Scope
from mmcore_sources.python_file.values import ValueReader

_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "/",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_INTEGER = re.compile(r"u?int(?:c|p|8|16|32|64)?|int_|float(?:16|32|64)|index|Int32|c_int|str")
_OF_ARRAY = ("data_ptr", "contiguous", "item", "astype", "get", "ravel", "flatten", "cuda", "reshape", "view")
_WRAPPED = ("In", "InOut", "asarray", "to_device", "to_gpu", "ascontiguousarray", "int")


class Unknown(ValueError):
    """An expression without a translation."""


def one_word(text: str) -> str:
    """Return a text as one name, such as "config_TILE" for "config.TILE"."""
    return re.sub(r"\W", "_", text)


@dataclass(frozen=True)
class PythonLaunch:
    """A launch of a kernel in Python.

    Attributes:
        name: the kernel's function, with the arguments of its template: "multiply<16>".
        line, scope: its place.
        grid, block, shared: expressions; None if they are not given.
        arguments: the arguments of the function.
        sizes: C++ texts of further sizes by the names of the host: "a_shape_0".
    """

    name: str
    line: int
    scope: Scope
    grid: ast.expr | None
    block: ast.expr | None
    arguments: tuple[ast.expr, ...]
    shared: ast.expr | None = None
    sizes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HostWriter:
    """The translation of a program's expressions into C++."""

    program: PythonProgram

    def launch(self, launch: PythonLaunch, further: tuple[str, ...] = ()) -> str:
        """Return a host function of one line that declares the values and launches the kernel.

        ``further`` are arguments after those of the launch, as texts.
        """
        visible = self.program.visible(launch.scope, launch.line)
        statements = [self._declared(each.name, each.value, each.scope, each.line) for each in visible]
        statements += [f"int {name} = {text};" for name, text in launch.sizes.items()]
        geometry = [self._extents_or(each, launch) for each in (launch.grid, launch.block)]
        if launch.shared is not None:
            geometry.append(self._number_or(launch.shared, launch, "0"))
        passed = [self._number_or(each, launch, "unknown") for each in launch.arguments]
        call = f"{launch.name}<<<{', '.join(geometry)}>>>({', '.join([*passed, *further])});"
        return f"void launch_in_line_{launch.line}() {{ {' '.join(filter(None, statements))} {call} }}"

    def number(self, node: ast.expr, scope: Scope, line: int) -> str:
        """Return the C++ text of a number. Raises :class:`Unknown`."""
        match node:
            case ast.Constant(value=bool()):
                return str(int(bool(node.value)))
            case ast.Constant(value=int() | float() as value):
                return str(value)
            case ast.Name(name):
                return name
            case ast.Attribute(owner, "gpudata" | "ptr" | "data" | "value"):
                return self.number(owner, scope, line)
            case ast.Attribute(owner, "size") if len(ArrayReader(self.program).read(owner, scope, line).sides) == 2:
                return f"({self._side(owner, 0, scope, line)} * {self._side(owner, 1, scope, line)})"
            case ast.Attribute():
                return one_word(ast.unparse(node))
            case ast.Subscript(ast.Attribute(owner, "shape"), ast.Constant(value=int(axis))):
                return self._side(owner, axis, scope, line)
            case ast.Subscript(ast.Name(name), ast.Constant(value=int(axis))) if 0 <= axis < 3:
                return f"{name}.{'xyz'[axis]}"
            case ast.UnaryOp(ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), left), ast.FloorDiv(), right)):
                return f"ceil((double)({self.number(left, scope, line)}) / ({self.number(right, scope, line)}))"
            case ast.UnaryOp(ast.USub(), operand):
                return f"-({self.number(operand, scope, line)})"
            case ast.BinOp(left, ast.Div(), right):
                return f"((double)({self.number(left, scope, line)}) / ({self.number(right, scope, line)}))"
            case ast.BinOp(ast.Constant(value=int(base)), ast.Pow(), ast.Constant(value=int(power))) if 0 <= power < 32:
                return str(base**power)
            case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
                one, other = (self.number(each, scope, line) for each in (left, right))
                return f"({one} {_OPERATORS[type(operator)]} {other})"
            case ast.Call():
                return self._call(node, scope, line)
        raise Unknown(ast.unparse(node))

    def _call(self, call: ast.Call, scope: Scope, line: int) -> str:
        name = self.program.full_name(call.func)
        word = name.rpartition(".")[2] or name.lstrip(".")
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is not None and word in ("size", "stride") and len(call.args) == 1:
            axis = call.args[0]
            if word == "size" and isinstance(axis, ast.Constant) and isinstance(axis.value, int):
                return self._side(owner, axis.value, scope, line)
            raise Unknown(ast.unparse(call))
        if word == "len" and len(call.args) == 1:
            return self._side(call.args[0], 0, scope, line)
        if owner is not None and word in _OF_ARRAY:
            return self.number(owner, scope, line)
        if word == "int" and len(call.args) == 1:
            return f"(int)({self.number(call.args[0], scope, line)})"
        if word == "Out" and call.args:  # what the array held is not copied
            return f"out_{self.number(call.args[0], scope, line)}"
        if (_INTEGER.fullmatch(word) or word in _WRAPPED) and call.args:
            return self.number(call.args[0], scope, line)
        if call.args and not call.keywords and word.isidentifier():
            return f"{word}({', '.join(self.number(each, scope, line) for each in call.args)})"
        raise Unknown(ast.unparse(call))

    def _side(self, array: ast.expr, axis: int, scope: Scope, line: int) -> str:
        """Return the side of an array as it was created if that is known, else a name such as "a_shape_0".

        A plain number becomes a name of its place, and so does a product of constants (``TILE * 500``), so that a
        launch holds for all sizes.
        """
        sides = ArrayReader(self.program).read(array, scope, line).sides
        if -len(sides) <= axis < len(sides):
            side = sides[axis]
            if isinstance(side, ast.Constant) or self._is_product(side, scope, line):
                return f"side_{side.lineno}_{side.col_offset}"
            if not isinstance(side, ast.Subscript) or ast.unparse(side) != f"{ast.unparse(array)}.shape[{axis}]":
                return self.number(side, scope, line)
        return one_word(f"{ast.unparse(array)}_shape_{axis % 2}")

    def _is_product(self, side: ast.expr, scope: Scope, line: int) -> bool:
        """Return whether a side is a product of a number and of names with one value."""
        if not isinstance(side, ast.BinOp) or not isinstance(side.op, ast.Mult):
            return False
        names = {each.id for each in ast.walk(side) if isinstance(each, ast.Name)}
        literal = any(isinstance(each, ast.Constant) for each in (side.left, side.right))
        known = isinstance(ValueReader(self.program).value(side, scope, line), int)
        return literal and known and not names & self.program.varying

    def extents(self, node: ast.expr, scope: Scope, line: int) -> str:
        """Return the C++ text of a grid or block. Raises :class:`Unknown`."""
        match node:
            case ast.Tuple(parts) | ast.List(parts):
                return f"dim3({', '.join(self.number(each, scope, line) for each in parts)})"
            case ast.BinOp(ast.Tuple([part]), ast.Mult(), ast.Constant(value=int(count))) if 1 <= count <= 3:
                return f"dim3({', '.join([self.number(part, scope, line)] * count)})"
            case ast.Call(ast.Name("tuple" | "dim3"), [argument]):
                return self.extents(argument, scope, line)
        return self.number(node, scope, line)

    def _declared(self, name: str, value: ast.expr, scope: Scope, line: int) -> str:
        of_tuple = value.left if isinstance(value, ast.BinOp) else value
        try:
            if isinstance(of_tuple, ast.Tuple | ast.List):
                extents = self.extents(value, scope, line - 1)
                return f"dim3 {name}{extents.removeprefix('dim3')};" if name.isidentifier() else ""
            text = self.number(value, scope, line - 1)
        except (Unknown, RecursionError):
            return ""
        return f"int {one_word(name)} = {text};" if text != name else ""

    def _extents_or(self, node: ast.expr | None, launch: PythonLaunch) -> str:
        try:
            return "unknown" if node is None else self.extents(node, launch.scope, launch.line)
        except Unknown:
            return "unknown"

    def _number_or(self, node: ast.expr, launch: PythonLaunch, otherwise: str) -> str:
        try:
            return self.number(node, launch.scope, launch.line)
        except Unknown:
            return otherwise

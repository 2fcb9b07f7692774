"""A Numba kernel as a sketch in CUDA C++, from which ``cuda_file`` infers roles, block and grid.

The sketch is never compiled. Expressions without a counterpart become calls of ``unknown``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from mmcore_sources.python_file.host_text import one_word

_BUILT_IN = re.compile(r"(?:.*\.)?((?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz])")
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "/",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.And: "&&",
    ast.Or: "||",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Not: "!",
    ast.Invert: "~",
}
_BARRIERS = ("syncthreads", "syncwarp")
_C_TYPES = {"float16": "__half", "float32": "float", "float64": "double", "int32": "int", "int8": "char"}


def dimensions(function: ast.FunctionDef, others: Mapping[str, ast.FunctionDef]) -> dict[str, int]:
    """Return the number of axes of each parameter that is an array, by name.

    ``others`` are the functions that it may call with its arrays, by name.
    """
    names = {each.arg for each in function.args.args}
    axes: dict[str, int] = {}
    for node in ast.walk(function):
        match node:
            case ast.Subscript(ast.Subscript(ast.Name(name), _), _) if name in names:
                axes[name] = 2
            case ast.Subscript(ast.Name(name), ast.Tuple(parts)) if name in names:
                axes[name] = max(axes.get(name, 1), len(parts))
            case ast.Subscript(ast.Attribute(ast.Name(name), "shape"), ast.Constant(value=int(axis))) if name in names:
                axes[name] = max(axes.get(name, 1), axis + 1)
            case ast.Subscript(ast.Name(name), _) | ast.Attribute(ast.Name(name), "shape" | "size") if name in names:
                axes.setdefault(name, 1)
            case ast.Assign([ast.Tuple(sides)], ast.Attribute(ast.Name(name), "shape")) if name in names:
                axes[name] = len(sides)
            case ast.Call(ast.Attribute(), [ast.Name(name), ast.Tuple(parts), *_]) if name in names:
                axes[name] = max(axes.get(name, 1), len(parts))  # an atomic operation
            case ast.Call(ast.Name() | ast.Attribute(), arguments) if (
                called := others.get(ast.unparse(node.func))
            ) is not None and called is not function:
                inner = dimensions(called, {})
                for parameter, argument in zip(called.args.args, arguments, strict=False):
                    if isinstance(argument, ast.Name) and argument.id in names and parameter.arg in inner:
                        axes[argument.id] = max(axes.get(argument.id, 1), inner[parameter.arg])
    return {name: axes[name] for name in (each.arg for each in function.args.args) if name in axes}


@dataclass
class Sketch:
    """The translation of one kernel.

    Attributes:
        function: the kernel.
        axes: the number of axes of each array parameter.
        types: the C++ types of the parameters by name.
        constants: the names of imported constants, such as "config.TILE".
    """

    function: ast.FunctionDef
    axes: dict[str, int]
    types: dict[str, str]
    constants: Collection[str] = ()
    _lines: dict[int, str] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)
    _local: set[str] = field(default_factory=set)

    def lines(self, sizes: tuple[str, ...] = ()) -> dict[int, str]:
        """Return the text of the sketch by line. ``sizes`` are further parameters of type int."""
        parameters = [self._parameter(each.arg) for each in self.function.args.args]
        self._names = {each.arg for each in self.function.args.args}
        listed = ", ".join([*parameters, *(f"int {name}" for name in sizes)])
        self._lines = {}
        self._put(self.function.lineno, f"__global__ void {self.function.name}({listed}) {{")
        self._body(self.function.body)
        return self._lines

    def _parameter(self, name: str) -> str:
        return f"{self.types.get(name, 'int')}{'*' * (name in self.axes)} {name}"

    def _put(self, line: int, text: str) -> None:
        self._lines[line] = f"{self._lines.get(line, '')} {text}"

    def _body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)
        self._put(statements[-1].end_lineno or statements[-1].lineno, "}")

    def _statement(self, node: ast.stmt) -> None:
        line = node.lineno
        match node:
            case ast.Assign([target], value) | ast.AnnAssign(target, _, ast.expr() as value):
                for text in self._assigned(target, value):
                    self._put(line, text)
            case ast.AugAssign(target, operator, value):
                sign = _OPERATORS.get(type(operator), "+")
                self._put(line, f"{self._text(target)} {sign}= {self._text(value)};")
            case ast.For(ast.Name(name), ast.Call(ast.Name("range" | "prange"), bounds), body):
                begin, end, step = self._range(bounds)
                self._put(line, f"for (int {name} = {begin}; {name} < {end}; {name} += {step}) {{")
                self._names.add(name)
                self._body(body)
            case ast.For(_, _, body):
                self._put(line, "for (;unknown();) {")
                self._body(body)
            case ast.While(test, body):
                self._put(line, f"while ({self._text(test)}) {{")
                self._body(body)
            case ast.If(test, body, other):
                self._put(line, f"if ({self._text(test)}) {{")
                self._body(body)
                if other:
                    self._put(other[0].lineno, "else {")
                    self._body(other)
            case ast.Return():
                self._put(line, "return;")
            case ast.Break():
                self._put(line, "break;")
            case ast.Continue():
                self._put(line, "continue;")
            case ast.Expr(ast.Call() as call):
                self._put(line, f"{self._text(call)};")

    def _range(self, bounds: list[ast.expr]) -> tuple[str, str, str]:
        texts = [self._text(each) for each in bounds]
        begin, end = ("0", texts[0]) if len(texts) == 1 else (texts[0], texts[1])
        return begin, end, texts[2] if len(texts) > 2 else "1"

    def _assigned(self, target: ast.expr, value: ast.expr) -> Iterator[str]:
        """Yield the statements of an assignment."""
        match target, value:
            case ast.Tuple(targets), ast.Call(ast.Attribute(_, "grid" | "gridsize" as word)):
                for each, axis in zip(targets, "xyz", strict=False):
                    yield from self._stored(
                        each, _index(axis) if word == "grid" else f"gridDim.{axis} * blockDim.{axis}"
                    )
            case ast.Tuple(targets), ast.Tuple(values) if len(targets) == len(values):
                for one, other in zip(targets, values, strict=True):
                    yield from self._assigned(one, other)
            case ast.Tuple(targets), ast.Attribute(ast.Name(name), "shape"):
                for position, each in enumerate(targets):
                    yield from self._stored(each, f"{name}_shape_{position}")
            case ast.Name(name), ast.Call(
                ast.Attribute(ast.Attribute(_, "shared" | "local" as space), "array")
            ) as made:
                yield self._array(name, "__shared__ " * (space == "shared"), made)
            case _:
                yield from self._stored(target, self._text(value))

    def _array(self, name: str, qualifier: str, call: ast.Call) -> str:
        keywords = {each.arg: each.value for each in call.keywords}
        shape = keywords.get("shape", call.args[0] if call.args else None)
        sides = shape.elts if isinstance(shape, ast.Tuple) else [shape] if shape is not None else []
        self._local.add(name)
        dtype = ast.unparse(keywords.get("dtype", call.args[-1] if call.args else ast.Name("float32")))
        word = _C_TYPES.get(dtype.rpartition(".")[2], "float")
        return f"{qualifier}{word} {name}{''.join(f'[{self._text(each)}]' for each in sides)};"

    def _stored(self, target: ast.expr, value: str) -> Iterator[str]:
        text = self._text(target)
        new = isinstance(target, ast.Name) and text not in self._names
        self._names.add(text)
        yield f"{'auto ' * new}{text} = {value};"

    def _text(self, node: ast.expr) -> str:
        """Return the text of an expression."""
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return str(int(value)) if isinstance(value, bool) else str(value)
            case ast.Name(name):
                return name
            case ast.Attribute() if match := _BUILT_IN.fullmatch(ast.unparse(node)):
                return match[1]
            case ast.Attribute() if ast.unparse(node) in self.constants:
                return one_word(ast.unparse(node))
            case ast.Subscript(ast.Attribute(ast.Name(name), "shape"), ast.Constant(value=int(axis))):
                return f"{name}_shape_{axis % max(1, self.axes.get(name, 1))}"
            case ast.Subscript(ast.Subscript(ast.Name(name), first), second) if name in self.axes:
                return self._element(name, [first, second])
            case ast.Subscript(ast.Name(name), index):
                return self._element(name, index.elts if isinstance(index, ast.Tuple) else [index])
            case ast.Subscript(owner, index):
                return f"{self._text(owner)}[{self._text(index)}]"
            case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
                return f"({self._text(left)} {_OPERATORS[type(operator)]} {self._text(right)})"
            case ast.UnaryOp(operator, operand):
                return f"{_OPERATORS[type(operator)]}({self._text(operand)})"
            case ast.Compare(left, operators, others):
                terms = [left, *others]
                pairs = zip(terms, operators, terms[1:], strict=False)
                return " && ".join(
                    f"{self._text(a)} {_OPERATORS.get(type(o), '==')} {self._text(b)}" for a, o, b in pairs
                )
            case ast.BoolOp(operator, values):
                return "(" + f" {_OPERATORS[type(operator)]} ".join(map(self._text, values)) + ")"
            case ast.IfExp(test, one, other):
                return f"({self._text(test)} ? {self._text(one)} : {self._text(other)})"
            case ast.Call():
                return self._call(node)
        return "unknown()"

    def _element(self, name: str, indices: list[ast.expr]) -> str:
        texts = [self._text(each) for each in indices]
        if name in self._local or name not in self.axes or len(texts) != 2:
            return name + "".join(f"[{each}]" for each in texts)
        return f"{name}[({texts[0]}) * {name}_shape_1 + ({texts[1]})]"

    def _call(self, call: ast.Call) -> str:
        word = ast.unparse(call.func).rpartition(".")[2]
        arguments = [self._text(each) for each in call.args]
        if word == "grid":
            return _index("x")
        if word == "gridsize":
            return "(gridDim.x * blockDim.x)"
        if word in _BARRIERS:
            return f"__{word}()"
        if word in _C_TYPES or word in ("int64", "uint32", "int", "float"):
            return arguments[0] if arguments else "0"
        if ".atomic." in ast.unparse(call.func) and len(call.args) == 3 and isinstance(call.args[0], ast.Name):
            index = call.args[1]
            element = self._element(call.args[0].id, index.elts if isinstance(index, ast.Tuple) else [index])
            return f"atomic{word.capitalize()}(&{element}, {arguments[2]})"
        return f"{word}({', '.join(arguments)})"


def _index(axis: str) -> str:
    return f"(blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis})"

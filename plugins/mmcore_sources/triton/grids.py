"""The grid of a Triton launch as an expression of sizes and the config's values."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mmcore.errors import InvalidKernel
from mmcore_sources.python_file.program import PythonProgram
from mmcore_sources.python_file.scopes import Scope

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Div: "/"}
_DEEPEST = 20


@dataclass(frozen=True)
class GridWriter:
    """The translation of the expressions in a line of a scope.

    ``constants`` are the values of the config, and ``roles`` those of the host's sizes by their texts.
    """

    program: PythonProgram
    scope: Scope
    line: int
    constants: Sequence[str]
    roles: Mapping[str, str]

    def text(self, grid: ast.expr, depth: int = 0) -> str:
        """Return the extents of a grid: a tuple, or a function of the config. Raises InvalidKernel."""
        match grid:
            case ast.Tuple(parts) | ast.List(parts):
                return ", ".join(self._number(each, 0) for each in parts)
            case ast.Lambda(_, body):
                return self.text(body, depth + 1)
            case ast.Name(name) if depth < _DEEPEST:
                for function, _ in self.program.scoped:
                    if isinstance(function, ast.FunctionDef) and function.name == name:
                        returned = [each.value for each in ast.walk(function) if isinstance(each, ast.Return)]
                        if len(returned) == 1 and returned[0] is not None:
                            return self.text(returned[0], depth + 1)
                if (assigned := self.program.value_of(name, self.scope, self.line)) is not None:
                    return self.text(assigned.value, depth + 1)
        return self._number(grid, depth)

    def _number(self, node: ast.expr, depth: int) -> str:
        if depth > _DEEPEST:
            raise self._unknown(node)
        if (role := self.roles.get(ast.unparse(node))) is not None:
            return role
        match node:
            case ast.Constant(value=int() as value):
                return str(value)
            case ast.Subscript(_, ast.Constant(value=str(name))) if name in self.constants:
                return name
            case ast.Name(name) if name in self.constants:
                return name
            case ast.Name() | ast.Attribute(ast.Name()) if (
                assigned := self.program.value_of(ast.unparse(node), self.scope, self.line)
            ) is not None:
                return self._number(assigned.value, depth + 1)
            case ast.UnaryOp(ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), left), ast.FloorDiv(), right)):
                return f"ceil({self._number(left, depth + 1)} / {self._number(right, depth + 1)})"
            case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
                one, other = self._number(left, depth + 1), self._number(right, depth + 1)
                return f"({one} {_OPERATORS[type(operator)]} {other})"
            case ast.Call(_, [left, right]) if re.search("cdiv|ceil_?div", ast.unparse(node.func)):
                return f"ceil({self._number(left, depth + 1)} / {self._number(right, depth + 1)})"
            case ast.Call(ast.Name("min" | "max" as word), arguments):
                return f"{word}({', '.join(self._number(each, depth + 1) for each in arguments)})"
            case ast.Call(_, [argument]) if ast.unparse(node.func).rpartition(".")[2] in ("ceil", "int", "floor"):
                number = self._number(argument, depth + 1)
                function = ast.unparse(node.func).rpartition(".")[2]
                return number if function == "int" else f"{function}({number})"
        raise self._unknown(node)

    def _unknown(self, node: ast.expr) -> InvalidKernel:
        return InvalidKernel(
            f"the grid of the launch in line {self.line} depends on {ast.unparse(node)}; --grid gives it"
        )

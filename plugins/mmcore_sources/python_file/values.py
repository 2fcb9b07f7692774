"""The values of a program's expressions, as far as literals show them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mmcore_sources.python_file.program import PythonProgram
from mmcore_sources.python_file.scopes import Scope

MULTIPROCESSORS = 132
"""The number that stands for the multiprocessors of the GPU that the program would run on."""

_DEEPEST = 20


@dataclass(frozen=True)
class ValueReader:
    """The evaluation of expressions in a program.

    ``names`` are values of names that win over the program's, such as those of a comprehension.
    """

    program: PythonProgram
    names: Mapping[str, Any] = field(default_factory=dict)

    def value(self, node: ast.expr, scope: Scope, line: int, depth: int = 0) -> Any:
        """Return the value of an expression of literals; None if it is unknown."""
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(name) if name in self.names:
                return self.names[name]
            case ast.Attribute(_, "multi_processor_count") | ast.Subscript(_, ast.Constant("multiprocessor_count")):
                return MULTIPROCESSORS
            case ast.Attribute(_, word) if self.program.full_name(node) == f"triton.language.{word}":
                return f"tl.{word}"
            case ast.IfExp(_, usual, _):  # which branch is taken depends on what is passed
                return self.value(usual, scope, line, depth + 1)
            case ast.Name() | ast.Attribute(ast.Name()) if depth < _DEEPEST:
                assigned = self.program.value_of(name := ast.unparse(node), scope, line)
                if assigned is None and isinstance(node, ast.Attribute):
                    assigned = next(reversed(self.program.named.get(name, [])), None)
                if assigned is not None:
                    return self.value(assigned.value, assigned.scope, assigned.line, depth + 1)
                passed = self.program.argument_at_calls(name, scope)
                return None if passed is None else self.value(*passed, depth + 1)
            case ast.BinOp(left, operator, right):
                one, other = (self.value(each, scope, line, depth + 1) for each in (left, right))
                return _combined(one, operator, other)
        return None


def _combined(one: Any, operator: ast.operator, other: Any) -> Any:
    if not isinstance(one, int) or not isinstance(other, int):
        return None
    match operator:
        case ast.Add():
            return one + other
        case ast.Sub():
            return one - other
        case ast.Mult():
            return one * other
        case ast.FloorDiv() if other:
            return one // other
    return None

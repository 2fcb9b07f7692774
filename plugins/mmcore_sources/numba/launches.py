"""The launches of Numba kernels, and the functions around a kernel."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from mmcore_sources.python_file.host_text import PythonLaunch
from mmcore_sources.python_file.program import PythonProgram
from mmcore_sources.python_file.values import ValueReader


def launches_of(program: PythonProgram, functions: Mapping[str, ast.FunctionDef]) -> list[PythonLaunch]:
    """Return the launches ``f[grid, block](…)`` and ``f.forall(n)(…)`` in the order of their lines."""
    found = []
    for call, scope in program.calls:
        configured: ast.expr = call.func
        if isinstance(configured, ast.Name) and configured.id not in functions:
            assigned = program.value_of(configured.id, scope, call.lineno)
            configured = assigned.value if assigned is not None else configured
        match configured:
            case ast.Subscript(ast.Name(word) | ast.Attribute(_, word), ast.Tuple([grid, block, *further])):
                shared = further[1] if len(further) > 1 else None
                if name := word if word in functions else _made_by(program, word, functions):
                    found.append(PythonLaunch(name, call.lineno, scope, grid, block, tuple(call.args), shared))
            case ast.Call(ast.Attribute(ast.Name(word) | ast.Attribute(_, word), "forall")) if word in functions:
                found.append(PythonLaunch(word, call.lineno, scope, None, None, tuple(call.args)))
    return sorted(found, key=lambda each: each.line)


def _made_by(program: PythonProgram, word: str, functions: Mapping[str, ast.FunctionDef]) -> str:
    """Return the kernel inside the function whose call is assigned to a name: ``f = make(16)``; empty if none is."""
    for assigned in program.named.get(word, []):
        if isinstance(assigned.value, ast.Call) and isinstance(assigned.value.func, ast.Name):
            for name, function in functions.items():
                if any(outer.name == assigned.value.func.id for outer in around(program, function)):
                    return name
    return ""


def around(program: PythonProgram, function: ast.FunctionDef) -> Sequence[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the functions around a function."""
    return next(scope.functions for node, scope in program.scoped if node is function)


def outer_values(program: PythonProgram, function: ast.FunctionDef) -> dict[str, Any]:
    """Return the values of the parameters of the functions around a kernel, as passed at the first call."""
    reader, values = ValueReader(program), dict[str, Any]()
    for outer in around(program, function):
        for parameter in outer.args.args:
            if (passed := program.anywhere.get(parameter.arg)) is not None:
                values[parameter.arg] = reader.value(passed.value, passed.scope, passed.line)
    return {name: value for name, value in values.items() if value is not None}

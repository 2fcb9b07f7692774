"""The statements of a program that fill the arrays of a launch with values before it."""

from __future__ import annotations

import ast

from mmcore_sources.python_file.host_text import HostWriter, PythonLaunch, Unknown
from mmcore_sources.python_file.program import PythonProgram
from mmcore_sources.python_file.scopes import Scope

_CREATE = ("zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "rand", "randn", "random", "random_sample",
           "uniform", "normal", "standard_normal", "randint", "arange", "eye")  # fmt: skip
_KEEP = ("array", "asarray", "ascontiguousarray", "asfortranarray", "to_device", "to_gpu", "to_gpu_async", "tensor",
         "from_numpy", "In", "InOut", "astype", "reshape", "copy", "contiguous", "cuda", "to", "float", "half",
         "ravel", "flatten", "data_ptr")  # fmt: skip
_IN_PLACE = ("fill", "fill_", "zero_", "normal_", "uniform_")
_COPY = ("set", "set_async", "copy_to_device", "copy_")
_INTO_FIRST = ("memcpy_htod", "memcpy_htod_async", "memset_d8", "memset_d32", "copyto")
_DEEPEST = 20


def fills(program: PythonProgram, launch: PythonLaunch) -> dict[int, str]:
    """Return a call that fills each filled array of a launch, as a host function by the line that fills it."""
    found: dict[int, str] = {}
    for argument in launch.arguments:
        try:
            name = HostWriter(program).number(argument, launch.scope, launch.line)
        except Unknown:
            continue
        line = _filled_in(program, argument, launch.scope, launch.line)
        if line and name.isidentifier():
            found[line] = f"{found.get(line, '')} void fill_{name}_in_line_{line}() {{ fill({name}); }}"
    return found


def _filled_in(program: PythonProgram, node: ast.expr, scope: Scope, line: int, depth: int = 0) -> int:
    """Return the line that fills the array of an expression with values; 0 if none does."""
    if depth > _DEEPEST:
        return 0
    match node:
        case ast.Name(name) | ast.Attribute(ast.Name("self"), name):
            name = ast.unparse(node)
            assigned = program.value_of(name, scope, line)
            if place := _filled_in_place(program, name, scope if assigned is None else assigned.scope, line, depth):
                return place
            if assigned is not None:
                before = assigned.line - (assigned.scope == scope)
                return _filled_in(program, assigned.value, assigned.scope, before, depth + 1)
            passed = program.argument_at_calls(name, scope)
            return 0 if passed is None else _filled_in(program, *passed, depth + 1)
        case ast.Call(called, arguments):
            word = program.full_name(called).rpartition(".")[2]
            if word in _CREATE:
                return node.lineno
            if word in _KEEP:
                if isinstance(called, ast.Attribute) and (
                    place := _filled_in(program, called.value, scope, line, depth + 1)
                ):
                    return place
                return _filled_in(program, arguments[0], scope, line, depth + 1) if arguments else 0
        case ast.List():
            return node.lineno
        case ast.Attribute(owner, "data" | "ptr" | "gpudata" | "T"):
            return _filled_in(program, owner, scope, line, depth + 1)
        case ast.BinOp(left, _, right):
            return _filled_in(program, left, scope, line, depth + 1) or _filled_in(
                program, right, scope, line, depth + 1
            )
    return 0


def _filled_in_place(program: PythonProgram, name: str, scope: Scope, line: int, depth: int) -> int:
    """Return the line of a statement of a scope that stores values to an array; 0 if there is none."""
    for node, around in program.scoped:
        if around != scope or getattr(node, "lineno", line + 1) > line:
            continue
        match node:
            case ast.Assign([ast.Subscript(array)]) if ast.unparse(array) == name:
                return node.lineno
            case ast.Call(ast.Attribute(array, word)) if ast.unparse(array) == name and word in _IN_PLACE:
                return node.lineno
            case ast.Call(ast.Attribute(array, word), [source]) if ast.unparse(array) == name and word in _COPY:
                return _filled_in(program, source, scope, node.lineno - 1, depth + 1)
            case ast.Call(called, [array, source, *_]) if ast.unparse(array) == name:
                word = program.full_name(called).rpartition(".")[2]
                if word in _INTO_FIRST:
                    return (
                        node.lineno if "set" in word else _filled_in(program, source, scope, node.lineno - 1, depth + 1)
                    )
    return 0

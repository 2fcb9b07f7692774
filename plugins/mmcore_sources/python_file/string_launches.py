"""Launches of kernels that CuPy, PyCUDA or cuda.core compile from strings."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mmcore_sources.python_file.host_text import PythonLaunch
from mmcore_sources.python_file.literals import LiteralReader
from mmcore_sources.python_file.program import PythonProgram, keywords_of
from mmcore_sources.python_file.scopes import Scope

_GETTERS = ("get_function", "get_kernel", "get_func")
_DEEPEST = 10
_ONE = ast.Tuple([ast.Constant(1)], ast.Load())


def launches(program: PythonProgram, reader: LiteralReader) -> list[PythonLaunch]:
    """Return the launches in a program in the order of their lines."""
    found = [_launch(program, reader, call, scope) for call, scope in program.calls]
    return sorted((each for each in found if each is not None), key=lambda each: each.line)


def _launch(program: PythonProgram, reader: LiteralReader, call: ast.Call, scope: Scope) -> PythonLaunch | None:
    keywords = keywords_of(call)
    word = program.full_name(call.func).rpartition(".")[2]
    if word == "launch" and len(call.args) >= 3:  # cuda.core: launch(stream, config, kernel, *arguments)
        return _with_config(program, reader, call, scope)
    if word in ("prepared_call", "prepared_async_call", "prepared_timed_call") and isinstance(call.func, ast.Attribute):
        name = _kernel(program, reader, call.func.value, scope, call.lineno)
        first = 3 if word == "prepared_async_call" else 2
        geometry = [*call.args[:2], None, None]
        launch = PythonLaunch(name, call.lineno, scope, geometry[0], geometry[1], tuple(call.args[first:]))
        return launch if name else None
    name = _kernel(program, reader, call.func, scope, call.lineno)
    if not name:
        return None
    if "block" in keywords and not (call.args and len(call.args) <= 3 and isinstance(call.args[-1], ast.Tuple)):
        listed = keywords.get("args")
        passed: Sequence[ast.expr] = call.args if listed is None else _listed(program, listed, scope, call.lineno)
        grid = keywords.get("grid", _ONE)
        return PythonLaunch(name, call.lineno, scope, grid, keywords["block"], tuple(passed), keywords.get("shared"))
    parts = [*call.args, *(keywords[each] for each in ("grid", "block", "args") if each in keywords)]
    if len(parts) < 3:
        return None
    shared = keywords.get("shared_mem", parts[3] if len(parts) > 3 else None)
    passed = _listed(program, parts[2], scope, call.lineno)
    return PythonLaunch(name, call.lineno, scope, parts[0], parts[1], tuple(passed), shared)


def _with_config(program: PythonProgram, reader: LiteralReader, call: ast.Call, scope: Scope) -> PythonLaunch | None:
    name = _kernel(program, reader, call.args[2], scope, call.lineno)
    config = call.args[1]
    if isinstance(config, ast.Name) and (assigned := program.value_of(config.id, scope, call.lineno)) is not None:
        config = assigned.value
    if not name or not isinstance(config, ast.Call):
        return None
    facts = keywords_of(config)
    grid, block = facts.get("grid"), facts.get("block")
    return PythonLaunch(name, call.lineno, scope, grid, block, tuple(call.args[3:]), facts.get("shmem_size"))


def _kernel(
    program: PythonProgram, reader: LiteralReader, node: ast.expr, scope: Scope, line: int, depth: int = 0
) -> str:
    """Return the name of the CUDA function that an expression denotes; empty for others."""
    if depth > _DEEPEST:
        return ""
    if isinstance(node, ast.Name | ast.Attribute):
        assigned = program.value_of(name := ast.unparse(node), scope, line)
        if assigned is None:
            assigned = next(reversed(program.named.get(name, [])), None)
        if assigned is None or assigned.value is node:
            return ""
        return _kernel(program, reader, assigned.value, assigned.scope, assigned.line, depth + 1)
    if not isinstance(node, ast.Call):
        return ""
    word = program.full_name(node.func).rpartition(".")[2]
    for function in (each for each in program.functions if each.name == word):
        returned = [each.value for each in ast.walk(function) if isinstance(each, ast.Return) and each.value]
        names = (_kernel(program, reader, each, Scope((function,)), each.lineno, depth + 1) for each in returned)
        return next(filter(None, names), "")
    keywords = keywords_of(node)
    named = node.args[0] if word in _GETTERS and node.args else None
    if word in ("RawKernel", "_compile_kernel"):
        named = keywords.get("name", keywords.get("kernel_name", node.args[1] if len(node.args) > 1 else None))
    literal = reader.read(named) if named is not None else None
    return "" if literal is None else literal.text


def _listed(program: PythonProgram, node: ast.expr, scope: Scope, line: int) -> Sequence[ast.expr]:
    if isinstance(node, ast.Name) and (assigned := program.value_of(node.id, scope, line)) is not None:
        node = assigned.value
    return node.elts if isinstance(node, ast.Tuple | ast.List) else ()

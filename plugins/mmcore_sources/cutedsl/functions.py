"""The ``@cute.kernel`` functions of a Python file, with the ``@cute.jit`` functions that launch them, as kernels."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import MATRICES
from mmcore_sources.cuda_file.inference.expressions import LaunchText, parse_expressions
from mmcore_sources.cuda_file.inference.infer import Inferred
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.size_names import SIDES
from mmcore_sources.cutedsl.jit_build import JitBuild
from mmcore_sources.python_file.arrays import Array, ArrayReader
from mmcore_sources.python_file.found import FoundKernel
from mmcore_sources.python_file.program import PythonProgram, keywords_of
from mmcore_sources.python_file.scopes import Scope
from mmcore_sources.python_file.values import ValueReader
from mmcore_sources.triton.grids import GridWriter

_MATRIX = re.compile(r"(?:[mgst]|tensor_?)?_?([abc])(?:_?(?:tensor|ptr|mat|gpu))?_?")


@dataclass(frozen=True)
class JitLaunch:
    """A launch ``kernel(…).launch(grid=…, block=…)`` in a ``@cute.jit`` function."""

    function: ast.FunctionDef
    kernel: ast.Call
    line: int
    scope: Scope
    grid: ast.expr | None
    block: ast.expr | None


def kernels_of_cute(program: PythonProgram) -> Iterable[FoundKernel]:
    """Return the kernels that CuTe DSL compiles."""
    functions = {each.name: each for each in program.functions if program.is_decorated(each, "cutlass.cute.kernel")}
    launches = dict(reversed(list(_launches(program, functions))))
    return [
        FoundKernel(
            name,
            "CuTe DSL",
            function.lineno,
            functools.partial(_declared, program, function, launches.get(name)),
            len(_tensors(function)) >= len(MATRICES),
            name in launches,
        )
        for name, function in functions.items()
    ]


def kernels_of_cutile(program: PythonProgram) -> Iterable[FoundKernel]:
    """Return the kernels of cuTile, whose declaration is a refusal."""

    def refused(name: str, given: Mapping[str, Any]) -> Inferred:
        raise InvalidKernel(
            f"{name} is a kernel of cuTile, whose compiler tileiras makes machine code alone and no PTX: "
            "mmcore cannot run it"
        )

    return [
        FoundKernel(each.name, "cuTile", each.lineno, functools.partial(refused, each.name), launched=True)
        for each in program.functions
        if program.is_decorated(each, "cuda.tile.kernel")
    ]


def _tensors(function: ast.FunctionDef) -> list[str]:
    """Return the parameters that may be tensors: those annotated so, or all without an annotation."""
    listed = [each for each in function.args.args if each.arg != "self"]
    tensors = [each.arg for each in listed if each.annotation is not None and "Tensor" in ast.unparse(each.annotation)]
    return tensors or [each.arg for each in listed if each.annotation is None]


def _launches(program: PythonProgram, kernels: Mapping[str, ast.FunctionDef]) -> Iterator[tuple[str, JitLaunch]]:
    for call, scope in program.calls:
        match call.func:
            case ast.Attribute(ast.Call(ast.Name(name)) as kernel, "launch") if name in kernels and scope.functions:
                function = scope.functions[-1]
                if isinstance(function, ast.FunctionDef) and program.is_decorated(function, "cutlass.cute.jit"):
                    words = keywords_of(call)
                    yield name, JitLaunch(function, kernel, call.lineno, scope, words.get("grid"), words.get("block"))


def _declared(
    program: PythonProgram, function: ast.FunctionDef, launch: JitLaunch | None, given: Mapping[str, Any]
) -> Inferred:
    """Return the declaration of a CuTe DSL kernel."""
    if launch is None:
        method = any(each.arg == "self" for each in function.args.args)
        why = "it is a method of a class" if method else "no @cute.jit function launches it"
        raise InvalidKernel(f"the CuTe DSL kernel {function.name} cannot be launched: {why}")
    host = launch.function
    roles = _roles(host, given.get("args"))
    call = _call_of(program, host)
    arrays = _arrays(program, host, roles, call)
    by_columns = given.get("column_major", "".join(_transposed(arrays)))
    order = _order(program, launch, roles)
    where, line = f"as launched in line {launch.line}", call[1] if call is not None else 0
    block = given.get("block") or _block(program, launch)
    shapes = {role: SIDES[role][::-1] if role in by_columns else SIDES[role] for role in MATRICES}
    grid = str(given.get("grid", "")) or _grid(program, launch, {name: shapes[role] for name, role in roles.items()})
    parse_expressions(grid, "the grid")
    known = next((arrays[role].dtype for role in MATRICES if role in arrays and arrays[role].dtype), "")
    dtype = str(given.get("dtype", known or "float32"))
    output = arrays["C"].dtype if "C" in arrays and arrays["C"].dtype else dtype
    source = program.source_of(host.lineno)
    overrides = {name: given[name] for name in ("output", "accumulator", "alpha", "beta") if name in given}
    attributes = {
        "title": f"{function.name} of {source['source'].name}",
        **source,
        "arguments": tuple(order),
        "configs": [{"block": block}],
        "build": JitBuild(program.extracted(host), _parameters(program, host, roles, call), function.name),
        "launch": LaunchText(grid),
        "dtype": dtype,
        "output": output,
        "accumulator": "float64" if dtype == "float64" else "float32",
        "column_major": by_columns,
        "min_compute_capability": (8, 0),
        **overrides,
    }
    shown = ", ".join(f"{name}={role} ({'×'.join(shapes[role])})" for name, role in roles.items())
    types = ", ".join(dict.fromkeys([dtype, output]))
    why = f"as passed in line {line}" if known else "the file does not show their type"
    notes = [
        Note("tensors", shown, "by their names, and by their shapes where they are created", "--args"),
        Note("arrays", types, why, "--dtype, --output", not known),
        Note("block", "×".join(map(str, block)), where, "--block"),
        Note("grid", grid, where, "--grid"),
    ]
    return Inferred(attributes, tuple(notes))


def _roles(host: ast.FunctionDef, given: Sequence[str] | None) -> dict[str, str]:
    """Return the matrix of each tensor of a ``@cute.jit`` function. Raises InvalidKernel."""
    names = _tensors(host)
    if given is not None:
        return dict(zip(names, map(str.strip, given), strict=False))
    named = {name: match[1].upper() for name in names if (match := _MATRIX.fullmatch(name.casefold()))}
    if sorted(named.values()) == sorted(MATRICES):
        return named
    if len(names) != len(MATRICES):
        raise InvalidKernel(f"{host.name} takes {len(names)} tensors, not three; --args gives the matrix of each")
    return dict(zip(names, MATRICES, strict=True))


def _call_of(program: PythonProgram, host: ast.FunctionDef) -> tuple[Mapping[str, ast.expr], int, Scope] | None:
    """Return the arguments of the first call of a ``@cute.jit`` function, or of its compilation, by parameter."""
    names = [each.arg for each in host.args.args]
    for call, scope in program.calls:
        compiled = program.full_name(call.func).endswith("cute.compile")
        called = call.args[0] if compiled and call.args else call.func
        if isinstance(called, ast.Name) and called.id == host.name:
            passed = dict(zip(names, call.args[compiled:], strict=False))
            passed |= {each.arg: each.value for each in call.keywords if each.arg in names}
            return passed, call.lineno, scope
    return None


def _arrays(
    program: PythonProgram,
    host: ast.FunctionDef,
    roles: Mapping[str, str],
    call: tuple[Mapping[str, ast.expr], int, Scope] | None,
) -> dict[str, Array]:
    """Return the arrays that the file passes, by matrix."""
    if call is None:
        return {}
    passed, line, scope = call
    reader = ArrayReader(program)
    return {role: reader.read(passed[name], scope, line) for name, role in roles.items() if name in passed}


def _transposed(arrays: Mapping[str, Array]) -> Iterator[str]:
    """Yield B if its columns are as long as the rows of A and its rows are not, so that it is an n×k tensor."""
    sides = {role: [ast.unparse(side) for side in array.sides] for role, array in arrays.items()}
    a, b = sides.get("A", []), sides.get("B", [])
    if len(a) == len(b) == 2 and b[1] == a[1] != b[0]:
        yield "B"


def _order(program: PythonProgram, launch: JitLaunch, roles: Mapping[str, str]) -> list[str]:
    """Return the matrices in the order of the kernel's arguments, each that one whose name is in the expression."""

    def matrices(node: ast.expr, depth: int = 0) -> Iterator[str]:
        for name in (each.id for each in ast.walk(node) if isinstance(each, ast.Name)):
            if name in roles:
                yield roles[name]
            elif depth < len(roles) and (assigned := program.value_of(name, launch.scope, launch.line)) is not None:
                yield from matrices(assigned.value, depth + 1)

    passed = (next(matrices(each), "") for each in (*launch.kernel.args, *(k.value for k in launch.kernel.keywords)))
    order = list(dict.fromkeys(filter(None, passed)))
    if sorted(order) != sorted(MATRICES):
        raise InvalidKernel(f"line {launch.line} does not pass three tensors to the kernel")
    return order


def _block(program: PythonProgram, launch: JitLaunch) -> tuple[int, ...]:
    node = launch.block
    if isinstance(node, ast.Name) and (assigned := program.value_of(node.id, launch.scope, launch.line)) is not None:
        node = assigned.value
    parts = node.elts if isinstance(node, ast.Tuple | ast.List) else [node] if node is not None else []
    reader = ValueReader(program)
    extents = [reader.value(each, launch.scope, launch.line) for each in parts]
    if not extents or not all(isinstance(each, int) for each in extents):
        raise InvalidKernel(f"the block of the launch in line {launch.line} has no value in the file; --block gives it")
    while len(extents) > 1 and extents[-1] == 1:
        extents.pop()
    return tuple(extents)


def _grid(program: PythonProgram, launch: JitLaunch, shapes: Mapping[str, str]) -> str:
    """Return the grid as an expression of sizes. Raises InvalidKernel."""
    meant = {
        text: side
        for name, sides in shapes.items()
        for axis, side in enumerate(sides)
        for text in (f"{name}.shape[{axis}]", f"cute.size({name}, mode=[{axis}])", f"cute.size({name}.shape[{axis}])")
    }
    if launch.grid is None:
        raise InvalidKernel(f"the launch in line {launch.line} has no grid=; --grid gives it")
    return GridWriter(program, launch.scope, launch.line, (), meant).text(launch.grid)


def _parameters(
    program: PythonProgram,
    host: ast.FunctionDef,
    roles: Mapping[str, str],
    call: tuple[Mapping[str, ast.expr], int, Scope] | None,
) -> dict[str, Any]:
    """Return the meaning of each parameter of a ``@cute.jit`` function. Raises InvalidKernel for an unknown one."""
    parameters: dict[str, Any] = {}
    usual = dict(zip([each.arg for each in reversed(host.args.args)], reversed(host.args.defaults), strict=False))
    for parameter in host.args.args:
        name, kind = parameter.arg, ast.unparse(parameter.annotation) if parameter.annotation is not None else ""
        if name in roles or "stream" in (kind + name).casefold():
            parameters[name] = roles.get(name, "stream")
            continue
        passed, line, scope = call or ({}, host.lineno, Scope())
        node = passed.get(name, usual.get(name))
        value = None if node is None else ValueReader(program).value(node, scope, line)
        if value is None or "onstexpr" not in kind:
            raise InvalidKernel(f"{name}, a parameter of {host.name}, is neither a tensor nor a known Constexpr")
        parameters[name] = value
    return parameters

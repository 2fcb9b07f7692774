"""The ``@triton.jit`` functions of a Python file, with their launches, as kernels."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import MATRICES, SIZES, Argument
from mmcore.kernel.constraints import Square
from mmcore.kernel.problem import dtype_named
from mmcore_sources.cuda_file.inference.expressions import LaunchText, parse_expressions
from mmcore_sources.cuda_file.inference.infer import Inferred
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.size_names import SIDES
from mmcore_sources.python_file.arrays import ArrayReader
from mmcore_sources.python_file.found import FoundKernel
from mmcore_sources.python_file.host_text import PythonLaunch
from mmcore_sources.python_file.launch_bugs import launch_bugs
from mmcore_sources.python_file.program import PythonProgram, keywords_of
from mmcore_sources.python_file.rounded_grids import rounded_up
from mmcore_sources.python_file.scopes import Scope
from mmcore_sources.python_file.values import MULTIPROCESSORS, ValueReader
from mmcore_sources.triton.build import TritonBuild, with_block
from mmcore_sources.triton.configs import OPTIONS, ConfigReader, of_heuristics
from mmcore_sources.triton.grids import GridWriter
from mmcore_sources.triton.roles import matrices_of, roles_of

_USUAL = {"num_warps": 4, "num_stages": 3}
_DECORATORS = ("triton.jit", "triton.runtime.jit.jit")


@dataclass(frozen=True)
class TritonLaunch:
    """A launch ``f[grid](…)``: the grid, and the arguments by the names of the parameters."""

    name: str
    line: int
    scope: Scope
    grid: ast.expr
    arguments: Mapping[str, ast.expr]
    options: Mapping[str, ast.expr]


def kernels_of_triton(program: PythonProgram) -> Iterable[FoundKernel]:
    """Return the kernels that Triton compiles."""
    functions = {each.name: each for each in program.functions if program.is_decorated(each, *_DECORATORS)}
    launches = {launch.name: launch for launch in reversed(list(_launches(program, functions)))}
    called = {node.func.id for each in functions.values() for node in ast.walk(each)
              if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}  # fmt: skip
    return [
        FoundKernel(
            name,
            "Triton",
            function.lineno,
            functools.partial(_declared, program, function, launches.get(name)),
            len(matrices_of(function)) >= 3,
            name in launches,
        )
        for name, function in functions.items()
        if name in launches or name not in called
    ]


def _launches(program: PythonProgram, functions: Mapping[str, ast.FunctionDef]) -> Iterator[TritonLaunch]:
    for call, scope in program.calls:
        match call.func:
            case ast.Subscript(ast.Name(name), grid) if name in functions:
                names = [each.arg for each in functions[name].args.args]
                keywords = keywords_of(call)
                arguments = dict(zip(names, _unpacked(call.args), strict=False))
                arguments |= {word: value for word, value in keywords.items() if word in names}
                options = {word: value for word, value in keywords.items() if word in OPTIONS}
                yield TritonLaunch(name, call.lineno, scope, grid, arguments, options)


def _unpacked(arguments: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """Yield the arguments of a launch, the two strides or sides for ``*a.stride()`` and ``*a.shape``."""
    for each in arguments:
        match each:
            case ast.Starred(ast.Call(ast.Attribute(_, "stride" | "size") as method, [])):
                yield from (ast.Call(method, [ast.Constant(axis)], []) for axis in (0, 1))
            case ast.Starred(ast.Attribute(_, "shape") as shape):
                yield from (ast.Subscript(shape, ast.Constant(axis)) for axis in (0, 1))
            case _:
                yield each


def _declared(
    program: PythonProgram, function: ast.FunctionDef, launch: TritonLaunch | None, given: Mapping[str, Any]
) -> Inferred:
    """Return the declaration of a Triton kernel."""
    if launch is None and not given.keys() >= {"args", "grid"}:
        raise InvalidKernel(f"nothing launches {function.name}; --args and --grid, with --config, describe a launch")
    constants = [each.arg for each in function.args.args if _is_constant(each)]
    names = [each.arg for each in function.args.args if each.arg not in constants]
    passed = {} if launch is None else launch.arguments
    roles = roles_of(function, names, passed, given.get("args"))
    configs = _configs(program, function, launch, constants, given)
    where = f"as launched in line {launch.line}" if launch is not None else "as given"
    fixed = where if len(configs) == 1 else f"the first of {len(configs)}"
    if MULTIPROCESSORS in configs[0].values():
        fixed = f"{fixed}; {MULTIPROCESSORS} stands for the number of multiprocessors"
    grid = str(given.get("grid", ""))
    if not grid and launch is not None:
        meant = {ast.unparse(passed[name]): name for name in constants if isinstance(passed.get(name), ast.Attribute)}
        meant |= _host_roles(passed, roles)
        grid = GridWriter(program, launch.scope, launch.line, constants, meant).text(launch.grid)
    parse_expressions(grid, "the grid")
    host = launch and PythonLaunch(launch.name, launch.line, launch.scope, launch.grid, None, ())
    types, type_note, warnings = _types(program, function, launch, roles, given)
    source = program.source_of(function.lineno)
    arguments: tuple[Argument | int, ...] = tuple(roles[name] for name in names)
    sizes = {role for role in roles.values() if role in SIZES}
    attributes = {
        "title": f"{function.name} of {source['source'].name}",
        **source,
        "arguments": tuple(each for each in arguments if not isinstance(each, int)),
        "configs": with_block(configs),
        "build": TritonBuild(program.extracted(function), arguments),
        "launch": LaunchText(grid, rounded_up=rounded_up(program, host) if host else ""),
        "constraints": (Square(),) if sizes == {"n"} else (),
        "min_compute_capability": (8, 0),
        **types,
    }
    overrides = {name: given[name] for name in ("dtype", "output", "accumulator", "column_major", "alpha", "beta")
                 if name in given}  # fmt: skip
    shown = ", ".join(f"{name}={role!s}" if name != role else name for name, role in roles.items())
    block = ", ".join(f"{name}={value}" for name, value in configs[0].items())
    notes = [
        Note("arguments", shown, "by what is passed and by the parameters' names", "--args"),
        type_note,
        Note("config", block, fixed, "--config"),
        Note("grid", grid, where, "--grid"),
    ]
    bugs = launch_bugs(program, [host] if host else [])
    return Inferred({**attributes, **overrides}, tuple(notes), warnings=warnings, bugs=bugs)


def _is_constant(parameter: ast.arg) -> bool:
    return parameter.annotation is not None and "constexpr" in ast.unparse(parameter.annotation)


def _host_roles(passed: Mapping[str, ast.expr], roles: Mapping[str, Argument | int]) -> dict[str, str]:
    """Return the role of each size by the host's text for it, sides of the arrays among them.

    A text that is passed as k and as another size is the other, since grids cover C.
    """
    sizes = [(ast.unparse(value), str(roles[name])) for name, value in passed.items() if roles.get(name) in SIZES]
    meant = dict(sorted(sizes, key=lambda each: each[1] != "k"))
    for name, value in passed.items():
        for axis, side in enumerate(SIDES.get(str(roles.get(name)), "")):
            meant[f"{ast.unparse(value)}.shape[{axis}]"] = side
    return meant


def _configs(
    program: PythonProgram,
    function: ast.FunctionDef,
    launch: TritonLaunch | None,
    constants: Sequence[str],
    given: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Return the configs of ``@triton.autotune``, each with what the launch fixes; raise InvalidKernel for a lack."""
    fixed: dict[str, Any] = {}
    for parameter, default in zip(reversed(function.args.args), reversed(function.args.defaults), strict=False):
        if parameter.arg in constants and isinstance(default, ast.Constant):
            fixed[parameter.arg] = default.value
    if launch is not None:
        for name, node in (*launch.arguments.items(), *launch.options.items()):
            if name in constants or name in OPTIONS:
                fixed[name] = ValueReader(program).value(node, launch.scope, launch.line)
    asked = [name for name in constants if name not in of_heuristics(function)]
    parameters = given.get("parameters", {})
    found = [{**_USUAL, **fixed, **each, **parameters} for each in ConfigReader(program).tuned(function) or [{}]]
    configs = [{name: value for name, value in each.items() if value is not None} for each in found]
    # A config with values that the program computes is left out, and so is one of another backend.
    whole = [each for each in configs if each.keys() >= {*asked}]
    if not whole:
        missing = [name for name in asked if any(name not in each for each in configs)]
        values = ",".join(f"{name}=…" for name in missing)
        raise InvalidKernel(
            f"{', '.join(missing)} of {function.name} has no value in the file; --config {values} gives it"
        )
    known = {*constants, *OPTIONS, *parameters}
    return list({str(each): each for each in [each for each in whole if each.keys() <= known] or whole}.values())


def _types(
    program: PythonProgram,
    function: ast.FunctionDef,
    launch: TritonLaunch | None,
    roles: Mapping[str, Argument | int],
    given: Mapping[str, Any],
) -> tuple[dict[str, str], Note, tuple[str, ...]]:
    """Return the element types of the arrays that are passed, with a note and warnings."""
    reader, found = ArrayReader(program), dict[str, str]()
    for name, node in launch.arguments.items() if launch is not None else ():
        if roles.get(name) in MATRICES:
            found[str(roles[name])] = reader.read(node, launch.scope, launch.line).dtype if launch is not None else ""
    known = found.get("A") or found.get("B") or found.get("C") or ""
    named = next((word for word in ("bfloat16", "float16", "half") if word in program.text), "float32")
    dtype = str(given.get("dtype", known or named.replace("half", "float16")))
    body = ast.unparse(function)
    warnings: tuple[str, ...] = ()
    rounds = dtype == "float32" and "tl.dot(" in body and "ieee" not in body and "allow_tf32=False" not in body
    why = f"as passed in line {launch.line}" if known and launch is not None else "the file does not show their type"
    if rounds and "dtype" not in given:
        dtype = _rounded(function) or "tf32"
        by = "tl.dot" if dtype == "tf32" else "the source"
        why = f"{why}; {by} rounds float32 to {dtype}"
        warnings = (f"{function.name} rounds A and B of float32 to {dtype}; here both are {dtype}",)
        if dtype == "tf32":
            kept = "so that C differs from a float32 product from the fourth digit on; input_precision='ieee' keeps it"
            warnings = (f"tl.dot in line {_line_of_dot(function)} rounds A and B of float32 to tf32, {kept}",)
    output = found.get("C") or ("float32" if rounds else dtype)
    sums = "float64" if dtype == "float64" else "int32" if dtype_named(dtype).is_integer else "float32"
    sums = "float22" if dtype.startswith("float8") else sums  # what tensor cores sum 8-bit floats in
    shown = re.sub("^(.*), \\1$", r"\1", f"{dtype}, {output}")
    note = Note("arrays", shown, why, "--dtype, --output", not known)
    return {"dtype": dtype, "output": output, "accumulator": sums}, note, warnings


def _line_of_dot(function: ast.FunctionDef) -> int:
    """Return the line of the first ``tl.dot`` of a function."""
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return min(node.lineno for node in calls if ast.unparse(node.func) == "tl.dot")


def _rounded(function: ast.FunctionDef) -> str:
    """Return the type of 16 bits that a function casts both operands of each ``tl.dot`` to; empty if there is none."""

    def cast(node: ast.expr) -> str:
        match node:
            case ast.Call(ast.Attribute(_, "to"), [ast.Attribute(_, "float16" | "bfloat16" as dtype)]):
                return dtype
            case ast.Name(name):
                return next(iter(casts.get(name, [])[::-1]), "")
        return ""

    casts: dict[str, list[str]] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign([ast.Name(name)], ast.Call() as value):
                casts.setdefault(name, []).append(cast(value))
    calls = (each for each in ast.walk(function) if isinstance(each, ast.Call) and ast.unparse(each.func) == "tl.dot")
    types = {cast(operand) for call in calls for operand in call.args[:2]}
    return types.pop() if len(types) == 1 else ""

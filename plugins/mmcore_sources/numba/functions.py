"""The ``@cuda.jit`` functions of a Python file, with their launches, as kernels."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import MATRICES, SIZES, Argument, Scalar
from mmcore.kernel.constraints import Square
from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.host_bugs.find import translated_bugs
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from mmcore_sources.cuda_file.inference.infer import Inferred, infer
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.roles import matrices_of
from mmcore_sources.cuda_file.inference.size_names import SIDES, usual_role
from mmcore_sources.numba.array_types import C_TYPES, ArrayTypes, array_types, kernel_decorator, mixed_types
from mmcore_sources.numba.build import ArrayLaunch, NumbaBuild
from mmcore_sources.numba.launches import around, launches_of, outer_values
from mmcore_sources.numba.sketch import Sketch, dimensions
from mmcore_sources.python_file.fills import fills
from mmcore_sources.python_file.found import FoundKernel
from mmcore_sources.python_file.host_text import HostWriter, PythonLaunch, Unknown, one_word
from mmcore_sources.python_file.launch_bugs import launch_bugs
from mmcore_sources.python_file.passed_arguments import transposed_views
from mmcore_sources.python_file.program import PythonProgram
from mmcore_sources.python_file.rounded_grids import rounded_up

# A step over all blocks, unlike a loop along k that ends at the number of blocks.
_GRID_STEP = re.compile(r"gridDim\.\w\s*\*|\*\s*gridDim|\+=?\s*\(?gridDim")
# Sizes as parameters of a sketch, under names whose roles are clear.
_PARAMETERS = {"m": "rows_of_c", "n": "cols_of_c", "k": "cols_of_a"}


def kernels_of_numba(program: PythonProgram) -> Iterable[FoundKernel]:
    """Return the kernels that Numba compiles."""
    functions = {
        function.name: function for function in program.functions if kernel_decorator(program, function) is not None
    }
    found = launches_of(program, functions)
    names = {launch.name for launch in found}
    return [
        FoundKernel(
            name,
            "Numba",
            function.lineno,
            functools.partial(_declared, program, function, [each for each in found if each.name == name]),
            len(_axes(program, function)) >= 3,
            name in names,
        )
        for name, function in functions.items()
    ]


def _axes(program: PythonProgram, function: ast.FunctionDef) -> dict[str, int]:
    return dimensions(function, program.imported_functions | {each.name: each for each in program.functions})


def _declared(
    program: PythonProgram, function: ast.FunctionDef, found: Sequence[PythonLaunch], given: Mapping[str, Any]
) -> Inferred:
    """Return the declaration of a Numba kernel."""
    axes = _axes(program, function)
    names = [each.arg for each in function.args.args]
    arrays = array_types(program, function, found, axes, str(given.get("dtype", "float32")))
    words = C_TYPES | {"": "float"}
    types = {name: words.get(arrays.types[name], "float") for name in axes}
    sketch = Sketch(function, axes, types, {each.name for each in program.imported if each.value is not None})
    roles = _roles(sketch, names, given)
    constants = _size_constants(program, function)
    lines = _with_sizes(sketch.lines(tuple(_PARAMETERS.values())), roles, constants)
    lines = _constants(program, function) | lines
    passed: tuple[str, ...] = ()
    for launch in found[:1]:
        sizes, passed = _sizes(program, launch, [name if axes.get(name) == 2 else "" for name in names], roles)
        host = {launch.line: HostWriter(program).launch(replace(launch, sizes=sizes), passed)}
        for line, statement in (*fills(program, launch).items(), *host.items()):
            lines[line] = f"{lines.get(line, '')} {statement}"
    path = program.placed(function.lineno)
    taken = {**given, "entry": function.name, "args": [*(roles[name] for name in names), *_PARAMETERS]}
    text = "\n".join(lines.get(line, "") for line in range(1, max(lines) + 1)) + "\n"
    by_columns = "".join(sorted(roles[name] for name in arrays.by_columns))
    if by_columns and "column_major" not in given:
        taken["column_major"] = by_columns
    inferred = infer(path, text, taken)
    loops = _GRID_STEP.search(text) is not None
    inferred = replace(inferred, bugs=launch_bugs(program, found, translated_bugs(text, inferred), loops=loops))
    square = len(set(passed)) == 1 and "gridDim" in "".join(lines.values())
    inferred = _with_build(program, function, inferred, arrays, roles, found, square=square or len(constants) == 1)
    return _with_constants(inferred, constants)


def _size_constants(program: PythonProgram, function: ast.FunctionDef) -> dict[str, str]:
    """Return the module's numbers that a kernel takes for the product's sizes, by name, with their roles."""
    shapes = (each for each in ast.walk(function) if isinstance(each, ast.Call))
    edges = {each.id for call in shapes if ast.unparse(call.func).endswith(("shared.array", "local.array"))
             for each in ast.walk(call) if isinstance(each, ast.Name)}  # fmt: skip
    local = {each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    used = {each.id for each in ast.walk(function) if isinstance(each, ast.Name)} - edges - local
    used -= {each.arg for each in function.args.args}
    of_module = {each.name for each in program.assignments if not each.scope.functions and each.line < function.lineno}
    sizes = {name: usual_role(name) for name in sorted(used & of_module)}
    sizes = {name: role for name, role in sizes.items() if role in _PARAMETERS}
    return dict.fromkeys(sizes, "n") if len(sizes) == 1 else sizes


def _with_constants(inferred: Inferred, constants: Mapping[str, str]) -> Inferred:
    """Return a declaration whose build replaces the module's sizes by the product's."""
    if not constants:
        return inferred
    build = replace(inferred.attributes["build"], sizes=dict(constants))
    note = Note("constants", ", ".join(f"{name}={role}" for name, role in constants.items()), "by their names", "none")
    return replace(inferred, attributes={**inferred.attributes, "build": build}, notes=(*inferred.notes, note))


def _with_build(
    program: PythonProgram,
    function: ast.FunctionDef,
    inferred: Inferred,
    arrays: ArrayTypes,
    roles: Mapping[str, str],
    found: Sequence[PythonLaunch],
    *,
    square: bool,
) -> Inferred:
    """Return a declaration whose code Numba builds."""
    axes = _axes(program, function)
    names = [each.arg for each in function.args.args]
    parameters = tuple(_argument(roles[name], _passed(program, found, names, name)) for name in names)
    of_matrices = {roles[name]: count for name, count in axes.items()}
    decorator = ast.unparse(kernel_decorator(program, function) or ast.Constant(None))
    fastmath = "fastmath=True" in decorator
    kernel = replace(program.extracted(function), values=outer_values(program, function))
    build = NumbaBuild(kernel, parameters, of_matrices, arrays.contiguous, fastmath)
    attributes = dict(inferred.attributes)
    rule: LaunchText = attributes["launch"]
    up = rounded_up(program, found[0]) if found else ""
    launch = ArrayLaunch(rule.grid, rule.shared_bytes, rounded_up=up, parameters=parameters, axes=of_matrices)
    sizes = {role for role in roles.values() if role in SIZES}
    of_shapes = any(isinstance(each, ast.Attribute) and each.attr == "shape" for each in ast.walk(function))
    square |= bool(sizes) and not of_shapes and not {"m", "n", "k"} <= sizes
    attributes |= {
        "entry": "",
        "arguments": parameters,
        "launch": launch,
        "build": build,
        **program.source_of(function.lineno),
        "constraints": (*attributes["constraints"], *[Square()] * square),
    }
    shown = ", ".join(roles[name] if roles[name] == name else f"{name}={roles[name]}" for name in names)
    types = ", ".join(dict.fromkeys(arrays.types[name] for name in axes))
    notes = [
        Note("arguments", shown, "C is the array that is stored to", "--args"),
        Note("arrays", types, arrays.why, "--dtype, --output", arrays.guessed),
        *[Note("sizes", "m = n = k", "the kernel gets one size", "none")] * square,
        *(note for note in inferred.notes if note.what != "arguments"),
    ]
    warnings = (*inferred.warnings, *mixed_types(arrays, roles, found), *transposed_views(program, found))
    return replace(inferred, attributes=attributes, notes=tuple(notes), warnings=warnings)


def _argument(role: str, passed: ast.expr | None) -> Argument:
    """Return the argument of a parameter; Numba takes a number of Python as 64 bits."""
    if role in MATRICES:
        return role
    narrow = "32" in ast.unparse(passed) if isinstance(passed, ast.Call) else False
    real = role in ("alpha", "beta")
    return Scalar(role, f"{'float' if real else 'int'}{32 if narrow else 64}")


def _passed(program: PythonProgram, found: Sequence[PythonLaunch], names: Sequence[str], name: str) -> ast.expr | None:
    for launch in found[:1]:
        argument = dict(zip(names, launch.arguments, strict=False)).get(name)
        if isinstance(argument, ast.Name):
            assigned = program.value_of(argument.id, launch.scope, launch.line)
            return argument if assigned is None else assigned.value
        return argument
    return None


def _roles(sketch: Sketch, names: Sequence[str], given: Mapping[str, Any]) -> dict[str, str]:
    """Return the role of each parameter by name. Raises InvalidKernel."""
    if "args" in given:
        if len(given["args"]) != len(names):
            raise InvalidKernel(
                f"--args names {len(given['args'])} arguments, but {sketch.function.name} takes {', '.join(names)}"
            )
        return dict(zip(names, map(str.strip, given["args"]), strict=True))
    lines = sketch.lines()
    (function, *_) = read_program("\n".join(lines[line] for line in sorted(lines))).functions
    roles = {name: matrix for matrix, name in matrices_of(function, Body(function)).items()}
    scalars = [name for name in names if name not in roles]
    for name in scalars:
        word = name.casefold()
        role = next((each for each in (*SIZES, "alpha", "beta") if word == each), "n" if len(scalars) == 1 else "")
        if not role:
            raise InvalidKernel(
                f"the role of {name} in {sketch.function.name} is unknown; --args gives the role of each parameter"
            )
        roles[name] = role
    return roles


def _with_sizes(lines: Mapping[int, str], roles: Mapping[str, str], constants: Mapping[str, str]) -> dict[int, str]:
    """Return a sketch with its parameters for sizes in place of its arrays' sides and of constants that are sizes."""

    def size(match: re.Match[str]) -> str:
        role = roles.get(match[1], "")
        return _PARAMETERS[SIDES[role][int(match[2])]] if role in SIDES else match[0]

    def constant(match: re.Match[str]) -> str:
        return _PARAMETERS[constants[match[0]]] if match[0] in constants else match[0]

    return {
        line: re.sub(r"\b[A-Za-z]\w*", constant, re.sub(r"\b(\w+)_shape_([01])\b", size, text))
        for line, text in lines.items()
    }


def _constants(program: PythonProgram, function: ast.FunctionDef) -> dict[int, str]:
    """Return the module's numbers that a kernel uses, as constants of the sketch by line."""
    used = {ast.unparse(each) for each in ast.walk(function) if isinstance(each, ast.Name | ast.Attribute)}
    constants = {
        outer.lineno: " ".join(
            f"const int {name} = {value};" for name, value in outer_values(program, function).items()
        )
        for outer in around(program, function)[:1]
    }
    for each in program.assignments:
        if not each.scope.functions and each.name in used and each.line < function.lineno:
            try:
                value = HostWriter(program).number(each.value, each.scope, each.line - 1)
            except Unknown:
                continue
            constants[each.line] = f"{constants.get(each.line, '')} const int {one_word(each.name)} = {value};"
    return constants


def _sizes(
    program: PythonProgram, launch: PythonLaunch, names: Sequence[str], roles: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the sides of the host's arrays of two axes by their names, and m, n and k as the host writes them.

    ``names`` are the parameters that get the launch's arguments, "" for other arrays and numbers.
    """
    writer = HostWriter(program)
    sides: dict[str, dict[str, str]] = {}
    for name, argument in zip(names, launch.arguments, strict=False):
        if (role := roles.get(name, "")) in SIDES:
            for axis, size in enumerate(SIDES[role]):
                shape = ast.Subscript(ast.Attribute(argument, "shape"), ast.Constant(axis))
                try:
                    text = writer.number(shape, launch.scope, launch.line)
                except Unknown:
                    continue
                sides.setdefault(size, {})[re.sub(r"\W", "_", f"{ast.unparse(argument)}_shape_{axis}")] = text
    passed = {size: next(iter(several.values())) for size, several in sides.items()}
    declared = {
        name: passed[size]
        for size, several in sides.items()
        for name in (*several, *(text for text in several.values() if text.isidentifier()))
        if name != passed[size]
    }
    return declared, tuple(passed.get(size, "unknown") for size in _PARAMETERS)

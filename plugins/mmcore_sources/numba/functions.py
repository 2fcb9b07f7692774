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
from mmcore_sources.numba.sketch_sizes import PARAMETERS, passed_sizes, with_sizes
from mmcore_sources.numba.subscripts import Subscripts
from mmcore_sources.numba.transposed_arrays import TransposedArrays, transposed_arrays
from mmcore_sources.python_file.fills import fills
from mmcore_sources.python_file.found import FoundKernel
from mmcore_sources.python_file.host_text import HostWriter, PythonLaunch, Unknown, one_word
from mmcore_sources.python_file.launch_bugs import launch_bugs
from mmcore_sources.python_file.passed_arguments import transposed_views
from mmcore_sources.python_file.program import PythonProgram
from mmcore_sources.python_file.rounded_grids import rounded_up

# A step over all blocks, unlike a loop along k that ends at the number of blocks.
_GRID_STEP = re.compile(r"gridDim\.\w\s*\*|\*\s*gridDim|\+=?\s*\(?gridDim")


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
    transposed = _transposed(program, sketch, roles, arrays, found, given)
    constants = _size_constants(program, function)
    named = {name: transposed.sides[role] for name, role in roles.items() if role in SIDES}
    lines = with_sizes(sketch.lines(tuple(PARAMETERS.values())), named, constants)
    lines = _constants(program, function) | lines
    passed: tuple[str, ...] = ()
    for launch in found[:1]:
        sizes, passed = passed_sizes(program, launch, [name if axes.get(name) == 2 else "" for name in names], named)
        host = {launch.line: HostWriter(program).launch(replace(launch, sizes=sizes), passed)}
        for line, statement in (*fills(program, launch).items(), *host.items()):
            lines[line] = f"{lines.get(line, '')} {statement}"
    path = program.placed(function.lineno)
    taken = {**given, "entry": function.name, "args": [*(roles[name] for name in names), *PARAMETERS]}
    text = "\n".join(lines.get(line, "") for line in range(1, max(lines) + 1)) + "\n"
    by_columns = {roles[name] for name in arrays.by_columns} ^ transposed.matrices
    if "column_major" not in given and (by_columns or _has_axes(axes)):
        taken["column_major"] = "".join(sorted(by_columns))
    inferred = infer(path, text, taken)
    loops = _GRID_STEP.search(text) is not None
    inferred = replace(inferred, bugs=launch_bugs(program, found, translated_bugs(text, inferred), loops=loops))
    if len(set(passed)) == 1 and "gridDim" in "".join(lines.values()):  # blocks may be counted along one side alone
        inferred = _with_squares(inferred, "program_sizes")
    inferred = _with_build(program, function, inferred, arrays, roles, found)
    if len(constants) == 1 or _gets_one_size(function, roles):
        note = Note("sizes", "m = n = k", "the kernel gets one size", "none")
        inferred = replace(_with_squares(inferred, "constraints"), notes=(*inferred.notes, note))
    return _with_transposed(_with_constants(inferred, constants), transposed)


def _with_squares(inferred: Inferred, constraints: str) -> Inferred:
    """Return a declaration with squares among its ``constraints``, or among those of its program's sizes."""
    several = (*inferred.attributes[constraints], Square())
    return replace(inferred, attributes={**inferred.attributes, constraints: several})


def _gets_one_size(function: ast.FunctionDef, roles: Mapping[str, str]) -> bool:
    """Return whether a kernel gets no m, n and k: neither as numbers nor as the shapes of its arrays."""
    sizes = {role for role in roles.values() if role in SIZES}
    of_shapes = any(isinstance(each, ast.Attribute) and each.attr == "shape" for each in ast.walk(function))
    return bool(sizes) and not of_shapes and not {"m", "n", "k"} <= sizes


def _transposed(
    program: PythonProgram,
    sketch: Sketch,
    roles: Mapping[str, str],
    arrays: ArrayTypes,
    found: Sequence[PythonLaunch],
    given: Mapping[str, Any],
) -> TransposedArrays:
    """Return the matrices that a kernel takes as transposed arrays, which the user may give.

    An array that the program stores by columns itself has the shape of its matrix then.
    """
    matrices = {role: name for name, role in roles.items() if role in SIDES and sketch.axes.get(name) == 2}
    if "column_major" in given:
        by_columns = {roles[name] for name in arrays.by_columns}
        return TransposedArrays(frozenset(given["column_major"]) & matrices.keys() - by_columns, is_given=True)
    names = [each.arg for each in sketch.function.args.args]
    return transposed_arrays(program, names, Subscripts(_body(sketch), matrices), found)


def _body(sketch: Sketch) -> Body:
    lines = sketch.lines()
    return Body(read_program("\n".join(lines[line] for line in sorted(lines))).functions[0])


def _has_axes(axes: Mapping[str, int]) -> bool:
    """Return whether all arrays have two axes, so that their storage does not follow from the indexes."""
    return set(axes.values()) == {2}


def _with_transposed(inferred: Inferred, transposed: TransposedArrays) -> Inferred:
    """Return a declaration whose launch and build exchange the axes of transposed arrays."""
    matrices, attributes = transposed.matrices, dict(inferred.attributes)
    attributes |= {name: replace(attributes[name], transposed=matrices) for name in ("build", "launch")}
    attributes["title"] += "".join(f", read as {each}" for each in transposed.unusual)
    unusual = (*inferred.unusual, *transposed.unusual)
    return replace(inferred, attributes=attributes, unusual=unusual, notes=(*inferred.notes, *transposed.notes))


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
    sizes = {name: role for name, role in sizes.items() if role in PARAMETERS}
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
    launch = ArrayLaunch(
        rule.grid, rule.shared_bytes, rounded_up=up, block=rule.block, parameters=parameters, axes=of_matrices
    )
    attributes |= {
        "entry": "",
        "arguments": parameters,
        "launch": launch,
        "build": build,
        **program.source_of(function.lineno),
    }
    shown = ", ".join(roles[name] if roles[name] == name else f"{name}={roles[name]}" for name in names)
    types = ", ".join(dict.fromkeys(arrays.types[name] for name in axes))
    notes = [
        Note("arguments", shown, "C is the array that is stored to", "--args"),
        Note("arrays", types, arrays.why, "--dtype, --output", arrays.guessed),
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
    body = _body(sketch)
    roles = {name: matrix for matrix, name in matrices_of(body.function, body).items()}
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

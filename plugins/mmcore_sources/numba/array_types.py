"""The types of the arrays that a Numba kernel gets: from its signature or from its launch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mmcore_sources.python_file.arrays import Array, ArrayReader
from mmcore_sources.python_file.host_text import PythonLaunch
from mmcore_sources.python_file.program import PythonProgram, keywords_of

C_TYPES = {
    "float16": "__half",
    "float32": "float",
    "float64": "double",
    "int32": "int",
    "int8": "char",
    "uint8": "uint8_t",
}
"""The element types in CUDA C++ by numpy's names."""

_OF_SIGNATURE = re.compile(r"\b(float16|float32|float64|int8|uint8|int32|f2|f4|f8|i4|i1)\s*(\[[^\]]*\])?")
_SHORT = {"f2": "float16", "f4": "float32", "f8": "float64", "i4": "int32", "i1": "int8"}


@dataclass(frozen=True)
class ArrayTypes:
    """The arrays of a kernel's parameters by name, and the origin of their types.

    ``passed`` are the types that the program passes, which may be others than mmcore has.
    """

    types: Mapping[str, str]
    by_columns: frozenset[str]
    why: str
    guessed: bool = False
    contiguous: bool = True
    passed: Mapping[str, str] = field(default_factory=dict)


def kernel_decorator(program: PythonProgram, function: ast.FunctionDef) -> ast.expr | None:
    """Return the decorator that makes a function a kernel; None for other functions, device functions among them."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        keywords = keywords_of(decorator) if isinstance(decorator, ast.Call) else {}
        if program.full_name(called) in ("numba.cuda.jit", "cuda.jit"):
            device = keywords.get("device")
            return None if isinstance(device, ast.Constant) and device.value else decorator
    return None


def array_types(
    program: PythonProgram,
    function: ast.FunctionDef,
    found: Sequence[PythonLaunch],
    axes: Mapping[str, int],
    usual: str,
) -> ArrayTypes:
    """Return the types of a kernel's arrays: from its signature, from the first launch, or else the usual one."""
    decorator = kernel_decorator(program, function)
    names = [each.arg for each in function.args.args]
    if isinstance(decorator, ast.Call) and decorator.args:
        text = ast.unparse(decorator.args[0])
        listed = _OF_SIGNATURE.findall(text.partition("(")[2] or text)
        if len(listed) == len(names):
            types = {name: _SHORT.get(word, word) for name, (word, _) in zip(names, listed, strict=True)}
            contiguous = all("::1" in shape for _, shape in listed if shape)
            return ArrayTypes(types, frozenset(), f"by the signature in line {decorator.lineno}", contiguous=contiguous)
    arrays: dict[str, Array] = {}
    for launch in found[:1]:
        reader = ArrayReader(program)
        pairs = zip(names, launch.arguments, strict=False)
        arrays = {name: reader.read(argument, launch.scope, launch.line) for name, argument in pairs if name in axes}
    known = {name: array.dtype for name, array in arrays.items() if array.dtype}
    by_columns = frozenset(name for name, array in arrays.items() if array.by_columns)
    usual = next((dtype for dtype in known.values() if dtype in C_TYPES), usual)
    why = f"as passed in line {found[0].line}" if known else "the file does not show their type"
    types = {name: known.get(name, usual) for name in axes}
    taken = {name: dtype if dtype in C_TYPES else usual for name, dtype in types.items()}
    shared = next((dtype for dtype in C_TYPES if dtype in _shared_types(function)), "")
    narrowed = shared == "float32" and "float64" in taken.values()
    if shared and (narrowed or not set(types.values()) <= C_TYPES.keys()):
        taken = dict.fromkeys(taken, shared)
        why = "as its arrays in shared memory"
    return ArrayTypes(taken, by_columns, why, not known, passed=types)


def _shared_types(function: ast.FunctionDef) -> set[str]:
    """Return the element types of a kernel's arrays in shared memory."""
    return {
        ast.unparse(argument).rpartition(".")[2]
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("shared.array")
        for argument in (*call.args[1:], *(each.value for each in call.keywords if each.arg == "dtype"))
    }


def mixed_types(arrays: ArrayTypes, roles: Mapping[str, str], found: Sequence[PythonLaunch]) -> Iterator[str]:
    """Yield a sentence if A or B is passed with another type than mmcore runs, which is one type for both."""
    names = {role: name for name, role in roles.items() if role in ("A", "B")}
    passed = [arrays.passed.get(names[role], arrays.types[names[role]]) for role in ("A", "B")]
    if passed != [arrays.types[names["A"]]] * 2:
        where = f"line {found[0].line} passes" if found else "the kernel takes"
        yield f"{where} arrays of {' and '.join(passed)} as A and B; here both are {arrays.types[names['A']]}"

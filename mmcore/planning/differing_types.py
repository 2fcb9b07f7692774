"""Element types of a declaration that differ from those of the source's pointers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mmcore.kernel.arguments import MATRICES
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import dtype_named
from mmcore.kernel.signature import signatures
from mmcore.planning.plan import Plan

# Pointers to other types, such as void, char, int, uint16_t or float4, often take elements of any type.
_PLAIN = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "nv_bfloat16": "bfloat16",
    "__nv_bfloat16": "bfloat16",
}

_ALIAS = r"\btypedef\s+(\w+)\s+{0}\s*;|\busing\s+{0}\s*=\s*(\w+)\s*;|^[ \t]*#[ \t]*define[ \t]+{0}[ \t]+(\w+)[ \t]*$"


@dataclass(frozen=True)
class DifferingType:
    """A matrix whose elements are of one type in the source and of another in the declaration."""

    matrix: str
    source: str
    line: int
    sentence: str


def differing_types(planned: Plan, *, by_option: bool) -> list[DifferingType]:
    """Return the matrices that a launch passes to pointers of another plain type, each once.

    ``by_option`` says that the types are options of a command instead of a declaration's.
    """
    kernel = planned.kernel
    if kernel.is_code or kernel.call is not None:
        return []
    found: dict[str, DifferingType] = {}
    for launch in planned.launches:
        name = planned.entry(launch).partition("<")[0].rpartition("::")[2].strip()
        signature = next((each for each in signatures(kernel.source_text()) if each.name == name), None)
        pairs = zip(signature.parameters, planned.arguments(launch), strict=False) if signature else ()
        for parameter, argument in pairs:
            matrix = argument if isinstance(argument, str) else ""
            plain = _plain(kernel.source_text(), parameter.type)
            declared = {"A": kernel.dtype, "B": kernel.dtype, "C": kernel.output}.get(matrix, "")
            if plain and declared and dtype_named(plain).storage != dtype_named(declared).storage:
                line = _line_of(kernel, name, parameter.name)
                sentence = f"{matrix} is {parameter.type} in {kernel.source.name}:{line} and {declared} "
                sentence += _change("output" if matrix == "C" else "dtype", plain, by_option=by_option)
                found.setdefault(matrix, DifferingType(matrix, kernel.source.name, line, sentence))
    return [found[matrix] for matrix in MATRICES if matrix in found]


def _plain(text: str, pointer: str) -> str:
    """Return the plain type of a pointer's elements, whose name may be another's; "" for other types."""
    word = pointer.removesuffix("*")
    names = {word} | {"".join(each) for each in re.findall(_ALIAS.format(re.escape(word)), text, re.MULTILINE)}
    plain = {_PLAIN[name] for name in names if name in _PLAIN}
    is_known = len(plain) == 1 and len(names - {word}) < 2 and pointer.count("*") == 1
    return plain.pop() if is_known else ""


def _change(name: str, plain: str, *, by_option: bool) -> str:
    return f"by --{name}: --{name} {plain}" if by_option else f'in the declaration: {name}="{plain}"'


def _line_of(kernel: Kernel, function: str, parameter: str) -> int:
    """Return the line of a function's parameter, or of its function if the parameter is not found."""
    text = kernel.source_text()
    for start in _definitions(text, function):
        names = re.compile(rf"\b{re.escape(parameter)}\b").search(text, start, text.find(")", start) + 1 or len(text))
        if parameter and names:
            return text.count("\n", 0, names.start()) + 1
    return text.count("\n", 0, next(_definitions(text, function), 0)) + 1


def _definitions(text: str, function: str) -> Iterator[int]:
    """Yield the places behind a function's name and the parenthesis that follows it."""
    return (match.end() for match in re.finditer(rf"\b{re.escape(function)}\s*\(", text))

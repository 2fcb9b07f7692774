"""The sizes of a Numba kernel's sketch: parameters in place of the sides of its arrays, and what the host passes."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from mmcore_sources.python_file.host_text import HostWriter, PythonLaunch, Unknown
from mmcore_sources.python_file.program import PythonProgram

PARAMETERS = {"m": "rows_of_c", "n": "cols_of_c", "k": "cols_of_a"}
"""The sizes as parameters of a sketch, under names whose roles are clear."""


def with_sizes(lines: Mapping[int, str], sides: Mapping[str, str], constants: Mapping[str, str]) -> dict[int, str]:
    """Return a sketch with its parameters for sizes in place of constants that are sizes, and of its arrays' ``sides``.

    These are the sizes of each array, by the name of its parameter.
    """

    def size(match: re.Match[str]) -> str:
        return PARAMETERS[sides[match[1]][int(match[2])]] if match[1] in sides else match[0]

    def constant(match: re.Match[str]) -> str:
        return PARAMETERS[constants[match[0]]] if match[0] in constants else match[0]

    return {
        line: re.sub(r"\b[A-Za-z]\w*", constant, re.sub(r"\b(\w+)_shape_([01])\b", size, text))
        for line, text in lines.items()
    }


def passed_sizes(
    program: PythonProgram, launch: PythonLaunch, names: Sequence[str], sizes: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the sides of the host's arrays of two axes by their names, and m, n and k as the host writes them.

    ``names`` are the parameters that get the launch's arguments, "" for other arrays and numbers, and ``sizes`` those
    of each array.
    """
    writer = HostWriter(program)
    sides: dict[str, dict[str, str]] = {}
    for name, argument in zip(names, launch.arguments, strict=False):
        if name in sizes:
            for axis, size in enumerate(sizes[name]):
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
    return declared, tuple(passed.get(size, "unknown") for size in PARAMETERS)

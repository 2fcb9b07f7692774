"""The host's names in a launch that are the block's extents, or numbers that only the kernel's parameters show."""

from __future__ import annotations

import ast
import contextlib

from mmcore.kernel.arguments import Argument, Scalar
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.expressions import EXTENTS
from mmcore_sources.cuda_file.inference.host_code import Reader

_AXIS = {axis: name for name, axis in EXTENTS.items()}


def block_names(reader: Reader, launch: HostLaunch) -> dict[str, ast.expr]:
    """Return the host's names for the block's extents, so that the grid follows if the user changes the block."""
    name, source = text_of(launch.geometry[1]), reader.source
    names = unknown_extents(reader, launch)
    if launch.geometry[1].type != "identifier" or name in source.macros or name in source.constants:
        return names
    return {**names, name: ast.Name("bx"), **{f"{name}.{axis}": ast.Name(extent) for axis, extent in _AXIS.items()}}


def unknown_extents(reader: Reader, launch: HostLaunch) -> dict[str, ast.expr]:
    """Return the variables without a value that are extents of the block, as ``edge`` in ``dim3(edge, edge)``."""
    names = dict[str, ast.expr]()
    with contextlib.suppress(Unreadable, IndexError):
        for (within, part), extent in zip(reader.parts(launch.geometry[1]), _AXIS.values(), strict=False):
            if part.type == "identifier" and within.scope == reader.scope and reader.whole(part) is None:
                names.setdefault(text_of(part), ast.Name(extent))
    return names


def guessed_numbers(reader: Reader, launch: HostLaunch, arguments: tuple[Argument, ...]) -> dict[str, ast.expr]:
    """Return the numbers that a kernel's parameters are taken to be, by the variables without a value passed there."""
    names = dict[str, ast.expr]()
    for passed, role in zip(launch.arguments, arguments, strict=False):
        number = role.value if isinstance(role, Scalar) else 0
        if passed.type == "identifier" and isinstance(number, int) and number > 1 and reader.whole(passed) is None:
            names[text_of(passed)] = ast.Constant(number)
    return names

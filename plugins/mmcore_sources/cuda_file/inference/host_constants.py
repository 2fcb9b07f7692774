"""Constants of the host code that are a size, as ``rows`` in ``dim3 grid(n / 16, rows / 16)``."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Set
from dataclasses import replace

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import Node, identifiers, initializers, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable, parse_expression
from mmcore_sources.cuda_file.inference.expressions import evaluate, names_in
from mmcore_sources.cuda_file.inference.host_calls import parameter_names
from mmcore_sources.cuda_file.inference.host_code import Reader, product_name
from mmcore_sources.cuda_file.inference.quotients import constant

_LARGE = 1 << 10


def extent_of(reader: Reader, launch: HostLaunch, position: int) -> ast.expr:
    """Return an extent of a launch's grid; 1 if it is not given."""
    parts = reader.parts(launch.geometry[0])  # others may be unreadable, such as the number of products in a batch
    if position >= len(parts):
        return ast.Constant(1)
    within, part = parts[position]
    return within.number(part)


def host_constant(
    reader: Reader, launch: HostLaunch, position: int, role: str, body: Body, *, tiled: bool
) -> tuple[str, ast.expr]:
    """Return the host's constant that is a size in an axis of the grid, and the extent with that size.

    Where blocks compute several rows or columns, ``tiled``, a constant that nothing divides is a number of blocks.

    Raises :class:`Unreadable` if the axis depends on no constant.
    """
    declared = [each for each in walk(launch.scope) if each.type == "declaration"]
    of_block = {*identifiers(launch.geometry[1])} | {*identifiers(body.function.body)}
    named = {name for each in declared for name, _ in initializers(each)} | {*reader.source.constants}
    named |= {name for name, macro in reader.source.macros.items() if macro.parameters is None}
    named |= {*parameter_names(launch.scope)}
    named |= {product for each in walk(launch.scope) if (product := _product(each, of_block | reader.names.keys()))}
    found: list[tuple[int, str, ast.expr]] = []
    for name in named - of_block - reader.names.keys():
        with contextlib.suppress(Unreadable):
            number = constant(reader.number(parse_expression(name)))
            extent = extent_of(replace(reader, names={**reader.names, name: ast.Name(role)}), launch, position)
            if number is not None and _grows(extent, role, tiled=tiled):
                found.append((number, name, extent))
    if not found:
        raise Unreadable(role)
    # The edge of a tile is smaller.
    _, name, extent = max(found, key=lambda each: each[:2])
    return name, extent


def _product(node: Node, others: Set[str]) -> str:
    """Return the name of a product of variables, as the rows of a batch of sequences; empty if one is of ``others``."""
    name = product_name(text_of(node)) if node.type == "binary_expression" else ""
    return name if not others & {*name.split("*")} else ""


def _grows(extent: ast.expr, role: str, *, tiled: bool) -> bool:
    """Return whether an extent grows with a size, if it is ``tiled`` by less than that; other names count as 1."""
    ones = dict.fromkeys(names_in(extent), 1)
    with contextlib.suppress(InvalidKernel):
        few, many = (evaluate(extent, {**ones, role: size}) for size in (_LARGE, _LARGE**2))
        return bool(few < many and not (tiled and many >= _LARGE**2))
    return False

"""Block and grid of a kernel, from its launch in the file or from its body's index into C."""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import text_of, walk
from mmcore_sources.cuda_file.inference.body import BUILT_IN, Body, Layout
from mmcore_sources.cuda_file.inference.expressions import EXTENTS, evaluate, names_in
from mmcore_sources.cuda_file.inference.host_code import Reader, Unreadable, constant, parse_expression
from mmcore_sources.cuda_file.inference.roles import Roles

_MOST_THREADS = 1024
_AXIS = {axis: name for name, axis in EXTENTS.items()}
_BY_BLOCK = "the source goes by blockDim, whatever it is"


@dataclass(frozen=True)
class Geometry:
    """Expressions for the extents of a block or grid, and their origin."""

    extents: tuple[ast.expr, ...]
    why: str
    guessed: bool = False

    @property
    def text(self) -> str:
        return ", ".join(map(ast.unparse, self.extents))


def launched(
    reader: Reader, launch: HostLaunch, roles: Roles, order: Sequence[str], layout: Layout | None
) -> tuple[Geometry | None, Geometry | None, ast.expr | None]:
    """Return block, grid and dynamic shared memory of a launch in the file, each None if it cannot be read.

    ``order`` lists the kernel's parameters; the ``reader`` of the launch knows the config's. The layout distinguishes m
    from n if both have one name.
    """
    where = f"as launched in line {launch.line}"
    block = grid = None
    with contextlib.suppress(Unreadable, IndexError):
        block = Geometry(_trimmed(reader.extents(launch.geometry[1])), where)
    hosts = _host_sizes(launch, roles, order)
    with contextlib.suppress(Unreadable, IndexError):
        extents, extents_of_block = [], _block_names(reader.source, launch)
        for position, axis in enumerate("xyz"):
            meant = {name: ast.Name(_role(found, axis, layout)) for name, found in hosts.items()}
            of_axis = replace(reader, names={**extents_of_block, **meant, **reader.names})
            found = of_axis.extents(launch.geometry[0])
            extents.append(found[position] if position < len(found) else ast.Constant(1))
        grid = Geometry(_trimmed(extents), where)
        if roles.sizes and not any(names_in(each) & {*roles.sizes.values(), "m"} for each in grid.extents):
            grid = None  # a grid of numbers fits only one size
    shared = None
    with contextlib.suppress(Unreadable, IndexError):
        shared = reader.number(launch.geometry[2])
    return block, grid, None if shared is not None and constant(shared) == 0 else shared


def _block_names(source: Program, launch: HostLaunch) -> dict[str, ast.expr]:
    """Return the host's names for the block's extents, so that the grid follows if the user changes the block."""
    name = text_of(launch.geometry[1])
    if launch.geometry[1].type != "identifier" or name in source.macros or name in source.constants:
        return {}
    return {name: ast.Name("bx"), **{f"{name}.{axis}": ast.Name(extent) for axis, extent in _AXIS.items()}}


def _trimmed(extents: Sequence[ast.expr]) -> tuple[ast.expr, ...]:
    """Return the extents without a last one of 1 along z."""
    kept = list(extents)
    while len(kept) > 1 and constant(kept[-1]) == 1:
        kept.pop()
    return tuple(kept)


def _host_sizes(launch: HostLaunch, roles: Roles, order: Sequence[str]) -> dict[str, list[str]]:
    """Return the sizes of each name in the host code: the arguments, and the names m and M if m is not passed."""
    sizes: dict[str, list[str]] = {}
    for name, argument in zip(order, launch.arguments, strict=False):
        if name in roles.sizes:
            word = text_of(argument).removeprefix("(int)").strip("() ")
            sizes.setdefault(word, []).append(roles.sizes[name])
    sizes |= {name: [role] for name, role in roles.sizes.items() if name not in order}  # macros that fix them
    passed = {role for several in sizes.values() for role in several}
    for role in "mnk":
        for word in (role, role.upper()):
            if role not in passed and word not in sizes and not roles.square:
                sizes[word] = [role]
    return {name: several for name, several in sizes.items() if name.replace(".", "_").isidentifier()}


def _role(several: list[str], axis: str, layout: Layout | None) -> str:
    """Return the size of several with one name that an axis of the grid covers: rows or columns of C."""
    if layout is not None and not layout.flat:
        wanted = "m" if layout.rows == axis else "n" if layout.columns == axis else ""
        if wanted in several:
            return wanted
    return next((role for role in ("n", "m") if role in several), several[0])


def by_body(reader: Reader, body: Body, layout: Layout) -> tuple[Geometry | None, Geometry | None]:
    """Return block and grid of a kernel without a launch, from its index into C; None if that is unclear."""
    try:
        height, width = (_product(part, reader) for part in (layout.height, layout.width))
    except Unreadable:
        return None, None
    why = "the source's index into C"
    if layout.flat:
        elements = ast.BinOp(ast.Name("m"), ast.Mult(), ast.Name("n"))
        grid = Geometry((_tiles(elements, width),), f"{why} counts its elements")
        if names_in(width) & set(EXTENTS):
            return Geometry((ast.Constant(256),), _BY_BLOCK), grid
        return None if constant(width) == 1 else Geometry((width,), why), grid
    along = {layout.rows: _tiles(ast.Name("m"), height), layout.columns: _tiles(ast.Name("n"), width)}
    extents = [along.get(axis, ast.Constant(1)) for axis in "xyz"]
    what = f"columns along {layout.columns or 'no axis'}, rows along {layout.rows or 'no axis'}"
    grid = Geometry(_trimmed(extents), f"{why} has {what}")
    return _block(reader, body, layout, height, width), grid


def _tiles(size: ast.expr, tile: ast.expr) -> ast.expr:
    return size if constant(tile) == 1 else ast.Call(ast.Name("ceil"), [ast.BinOp(size, ast.Div(), tile)], [])


def _product(factors: Sequence[str], reader: Reader) -> ast.expr:
    result: ast.expr | None = None
    for factor in factors:
        built_in = BUILT_IN.fullmatch(factor)
        if built_in is not None and built_in[1] != "blockDim":
            raise Unreadable(factor)
        number = ast.Name(_AXIS[built_in[2]]) if built_in else reader.number(parse_expression(factor))
        result = number if result is None else ast.BinOp(result, ast.Mult(), number)
    return ast.Constant(1) if result is None else result


def _block(reader: Reader, body: Body, layout: Layout, height: ast.expr, width: ast.expr) -> Geometry | None:
    """Return a block with a thread for each element of a tile, if the body uses its threads that way."""
    flat, names = layout.threads == {"x"}, reader.names
    if (names_in(height) | names_in(width)) & set(EXTENTS):
        edge = _square_array(reader, body)
        if edge is not None and layout.threads == {"x", "y"}:
            return Geometry((edge, edge), "the source's shared arrays")
        return Geometry(tuple(map(ast.Constant, (256,) if flat else (16, 16))), _BY_BLOCK)
    if "NUM_THREADS" in names:
        return Geometry((names["NUM_THREADS"],), "by the name of that parameter")
    # TM and TN usually are the rows and columns of a tile that a thread computes.
    height, width = (
        ast.BinOp(side, ast.FloorDiv(), names[name]) if name in names else side
        for side, name in ((height, "TM"), (width, "TN"))
    )
    if not flat and layout.threads != {"x", "y"}:
        return None
    sides = (height, width) if layout.rows == "x" else (width, height)
    return Geometry((ast.BinOp(height, ast.Mult(), width),) if flat else sides, "a thread for each element of a tile")


def _square_array(reader: Reader, body: Body) -> ast.expr | None:
    """Return the edge of the square arrays in shared memory."""
    for node in walk(body.function.body):
        if node.type == "declaration" and "__shared__" in text_of(node):
            sizes = [each.child_by_field_name("size") for each in walk(node) if each.type == "array_declarator"]
            if len(sizes) == 2 and None not in sizes:
                try:
                    outer, inner = (reader.number(each) for each in reversed(sizes) if each is not None)
                except Unreadable:
                    continue
                if ast.unparse(inner) in (ast.unparse(outer), f"{ast.unparse(outer)} + 1"):
                    return outer
    return None


def within_bounds(reader: Reader, body: Body, block: Geometry | None, values: Mapping[str, Any]) -> Geometry | None:
    """Return ``__launch_bounds__`` threads along x if the body uses only x and its block is larger; else the block."""
    axes = {axis for kind, axis in BUILT_IN.findall(text_of(body.function.body)) if kind == "threadIdx"}
    try:
        most = reader.number(parse_expression(body.function.bounds))
    except Unreadable:
        return block
    bounds = Geometry((most,), "its __launch_bounds__", guessed=True)
    return bounds if axes <= {"x"} and _threads(bounds, values) < _threads(block, values) else block


def _threads(block: Geometry | None, values: Mapping[str, Any]) -> float:
    try:
        return math.inf if block is None else math.prod(int(evaluate(each, values)) for each in block.extents)
    except InvalidKernel:
        return math.inf


def check_threads(block: Sequence[int]) -> None:
    """Raise :class:`InvalidKernel` if no device allows the threads of a block."""
    if not 1 <= (threads := math.prod(block)) <= _MOST_THREADS:
        what = f"a thread for each element of a tile would make blocks of {threads} threads"
        raise InvalidKernel(f"{what}; give another with --block")

"""Block and grid of a kernel, from its launch in the file or from its body's index into C."""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import text_of, walk
from mmcore_sources.cuda_file.inference.body import BUILT_IN, Body, Layout
from mmcore_sources.cuda_file.inference.expressions import EXTENTS, evaluate, names_in
from mmcore_sources.cuda_file.inference.host_code import (
    Reader,
    Unreadable,
    constant,
    parse_expression,
    reader_of_launch,
)
from mmcore_sources.cuda_file.inference.roles import Roles

_MOST_THREADS = 1024
_AXIS = {axis: name for name, axis in EXTENTS.items()}


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
    source: Program,
    launch: HostLaunch,
    roles: Roles,
    order: Sequence[str],
    names: Mapping[str, ast.expr],
    layout: Layout | None,
) -> tuple[Geometry | None, Geometry | None, ast.expr | None]:
    """Return block, grid and dynamic shared memory of a launch in the file, each None if it cannot be read.

    ``order`` lists the kernel's parameters, ``names`` has the meanings of the config's parameters there. The layout
    distinguishes m from n if both have one name.
    """
    where = f"as launched in line {launch.line}"
    block = grid = None
    with contextlib.suppress(Unreadable, IndexError):
        block = Geometry(_trimmed(reader_of_launch(source, launch, names).extents(launch.geometry[1])), where)
    hosts = _host_sizes(launch, roles, order)
    with contextlib.suppress(Unreadable, IndexError):
        extents, extents_of_block = [], _block_names(source, launch)
        for axis in "xyz":
            meant = {name: ast.Name(_role(found, axis, layout)) for name, found in hosts.items()}
            found = reader_of_launch(source, launch, {**extents_of_block, **meant, **names}).extents(launch.geometry[0])
            extents.append(found["xyz".index(axis)] if "xyz".index(axis) < len(found) else ast.Constant(1))
        grid = Geometry(_trimmed(extents), where)
        if roles.sizes and not any(names_in(each) & {*roles.sizes.values(), "m"} for each in grid.extents):
            grid = None  # a grid of numbers fits only one size
    shared = None
    with contextlib.suppress(Unreadable, IndexError):
        shared = reader_of_launch(source, launch, names).number(launch.geometry[2])
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


def by_body(
    source: Program, body: Body, layout: Layout, names: Mapping[str, ast.expr]
) -> tuple[Geometry | None, Geometry | None]:
    """Return block and grid of a kernel without a launch, from its index into C; None if that is unclear."""
    try:
        height, width = (_product(part, source, names) for part in (layout.height, layout.width))
    except Unreadable:
        return None, None
    why = "the source's index into C"
    if layout.flat:
        elements = ast.BinOp(ast.Name("m"), ast.Mult(), ast.Name("n"))
        grid = Geometry((_tiles(elements, width),), f"{why} counts its elements")
        return _flat_block(width, why), grid
    along = {layout.rows: _tiles(ast.Name("m"), height), layout.columns: _tiles(ast.Name("n"), width)}
    extents = [along.get(axis, ast.Constant(1)) for axis in "xyz"]
    what = f"columns along {layout.columns or 'no axis'}, rows along {layout.rows or 'no axis'}"
    grid = Geometry(_trimmed(extents), f"{why} has {what}")
    return _block(source, body, layout, height, width, names), grid


def _tiles(size: ast.expr, tile: ast.expr) -> ast.expr:
    return size if constant(tile) == 1 else ast.Call(ast.Name("ceil"), [ast.BinOp(size, ast.Div(), tile)], [])


def _product(factors: Sequence[str], source: Program, names: Mapping[str, ast.expr]) -> ast.expr:
    result: ast.expr | None = None
    for factor in factors:
        built_in = BUILT_IN.fullmatch(factor)
        if built_in is not None and built_in[1] != "blockDim":
            raise Unreadable(factor)
        number = ast.Name(_AXIS[built_in[2]]) if built_in else Reader(source, names).number(parse_expression(factor))
        result = number if result is None else ast.BinOp(result, ast.Mult(), number)
    return ast.Constant(1) if result is None else result


def _flat_block(width: ast.expr, why: str) -> Geometry | None:
    if names_in(width) & set(EXTENTS):
        return Geometry((ast.Constant(256),), "the source goes by blockDim, whatever it is")
    return None if constant(width) == 1 else Geometry((width,), why)


def _block(
    source: Program, body: Body, layout: Layout, height: ast.expr, width: ast.expr, names: Mapping[str, ast.expr]
) -> Geometry | None:
    """Return a block with a thread for each element of a tile, if the body uses its threads that way."""
    any_size = bool((names_in(height) | names_in(width)) & set(EXTENTS))
    if any_size:
        edge = _square_array(source, body, names)
        if edge is not None and layout.threads == {"x", "y"}:
            return Geometry((edge, edge), "the source's shared arrays")
        flat = layout.threads == {"x"}
        return Geometry(
            tuple(map(ast.Constant, (256,) if flat else (16, 16))), "the source goes by blockDim, whatever it is"
        )
    if "NUM_THREADS" in names:
        return Geometry((names["NUM_THREADS"],), "by the name of that parameter")
    # TM and TN usually are the rows and columns of a tile that a thread computes.
    height, width = (_divided(side, names.get(name)) for side, name in ((height, "TM"), (width, "TN")))
    if layout.threads == {"x", "y"}:
        sides = (height, width) if layout.rows == "x" else (width, height)
        return Geometry(sides, "a thread for each element of a tile")
    if layout.threads == {"x"}:
        return Geometry((ast.BinOp(height, ast.Mult(), width),), "a thread for each element of a tile")
    return None


def _divided(side: ast.expr, by: ast.expr | None) -> ast.expr:
    return side if by is None else ast.BinOp(side, ast.FloorDiv(), by)


def _square_array(source: Program, body: Body, names: Mapping[str, ast.expr]) -> ast.expr | None:
    """Return the edge of the square arrays in shared memory."""
    for node in walk(body.function.body):
        if node.type == "declaration" and "__shared__" in text_of(node):
            sizes = [each.child_by_field_name("size") for each in walk(node) if each.type == "array_declarator"]
            if len(sizes) == 2 and None not in sizes:
                try:
                    outer, inner = (Reader(source, names).number(each) for each in reversed(sizes) if each is not None)
                except Unreadable:
                    continue
                if ast.unparse(inner) in (ast.unparse(outer), f"{ast.unparse(outer)} + 1"):
                    return outer
    return None


def within_bounds(
    source: Program, body: Body, block: Geometry | None, names: Mapping[str, ast.expr], values: Mapping[str, Any]
) -> Geometry | None:
    """Return ``__launch_bounds__`` threads along x if the body uses only x and its block is larger; else the block."""
    axes = {axis for kind, axis in BUILT_IN.findall(text_of(body.function.body)) if kind == "threadIdx"}
    try:
        most = Reader(source, names).number(parse_expression(body.function.bounds))
    except Unreadable:
        return block
    bounds = Geometry((most,), "its __launch_bounds__", guessed=True)
    return bounds if axes <= {"x"} and _threads(bounds, values) < _threads(block, values) else block


def _threads(block: Geometry | None, values: Mapping[str, Any]) -> float:
    """Return the threads of a block; infinity if they are unknown."""
    try:
        return math.inf if block is None else math.prod(int(evaluate(each, values)) for each in block.extents)
    except InvalidKernel:
        return math.inf


def threads_of(block: Sequence[int]) -> int:
    """Return the threads of a block; raise :class:`InvalidKernel` if no device allows them."""
    threads = 1
    for extent in block:
        threads *= extent
    if not 1 <= threads <= _MOST_THREADS:
        raise InvalidKernel(
            f"a thread for each element of a tile would make blocks of {threads} threads; give another with --block"
        )
    return threads

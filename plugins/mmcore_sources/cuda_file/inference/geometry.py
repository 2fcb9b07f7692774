"""Block and grid of a kernel, from its launch in the file or from its body's index into C."""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmcore.errors import InvalidKernel, LacksOption
from mmcore.kernel.arguments import SIZES
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tokens import words
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.body import BUILT_IN, Body
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable, parse_expression
from mmcore_sources.cuda_file.inference.expressions import EXTENTS, evaluate, names_in
from mmcore_sources.cuda_file.inference.host_code import Reader, product_name
from mmcore_sources.cuda_file.inference.host_constants import extent_of, host_constant
from mmcore_sources.cuda_file.inference.launch_names import block_names
from mmcore_sources.cuda_file.inference.layout import Layout
from mmcore_sources.cuda_file.inference.quotients import constant
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.shared_tiles import block_of_tiles, edge_of_flat_tiles

_MOST_THREADS = 1024
_INSTANCE = re.compile(r"\b[A-Za-z_]\w*<(\d+)(?:,[^<>()]*)?> ?\(")
_LAUNCHED = "as launched in "
_ROWS = {"k": "m", "n": "k"}  # the rows of A and B by their columns
_AXIS = {axis: name for name, axis in EXTENTS.items()}
_BY_TILES = "a thread for each element of the source's shared arrays"
_OF_WARPS = re.compile(r"\b(?:w?mma|wgmma)(?:\.|::|_sync)")
_BY_TILE = "a thread for each element of a tile"
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
    reader: Reader, launch: HostLaunch, roles: Roles, body: Body, layout: Layout | None
) -> tuple[Geometry | None, Geometry | None]:
    """Return block and grid of a launch, each None if it cannot be read.

    The ``reader`` of the launch knows the config's parameters. The layout distinguishes m from n if both have one name.
    """
    order = [each.name for each in body.function.parameters]
    where = f"{_LAUNCHED}{launch.place}"
    block = grid = None
    with contextlib.suppress(Unreadable, IndexError):
        block = Geometry(_trimmed(reader.extents(launch.geometry[1])), where)
    hosts = host_sizes(launch, roles, order)
    with contextlib.suppress(Unreadable, IndexError):
        extents, taken, extents_of_block = [], "", block_names(reader, launch)
        for position, axis in enumerate("xy" if roles.batch else "xyz"):
            meant = {name: ast.Name(_role(found, axis, layout)) for name, found in hosts.items()}
            of_axis = replace(reader, names={**extents_of_block, **meant, **reader.names})
            extent = extent_of(of_axis, launch, position)
            wanted = _covered(axis, layout)
            whole = constant(extent) != 1 and not names_in(extent) & set(SIZES)
            if wanted and whole and "gridDim" not in text_of(body.function.body):
                name, extent = host_constant(of_axis, launch, position, wanted, body)
                taken += f"; {name} is taken to be {wanted}"
            extents.append(extent)
        grid = Geometry(_trimmed(extents), where + taken)
        alone = block is not None and all(constant(each) == 1 for each in (*block.extents, *grid.extents))
        of_sizes = any(names_in(each) & {*roles.sizes.values(), "m"} for each in grid.extents)
        used = {*words(body.function.body.text or b"")}
        counted = {name for each in grid.extents for name in names_in(each)} & used
        fits = of_sizes or counted  # blocks that know their number go over all tiles
        if roles.sizes and not fits and not (alone and not BUILT_IN.search(text_of(body.function.body))):
            grid = None  # a grid of numbers fits only one size
    return block, grid


def refuse_exchanged(reader: Reader, launch: HostLaunch) -> None:
    """Raise :class:`LacksOption` if a launch's first extents are those of a block, and its second those of a grid."""
    sizes = {text_of(each): ast.Name("n") for each in launch.arguments if each.type == "identifier"}
    try:
        first, second = (replace(reader, names={**sizes, **reader.names}).extents(each) for each in launch.geometry[:2])
    except (Unreadable, ValueError):
        return
    numbers = [constant(each) or 0 for each in first]
    blocks = math.prod(constant(each) or 0 for each in second)
    divided = any(isinstance(part, ast.Div | ast.FloorDiv) for each in second for part in ast.walk(each))
    if 1 < math.prod(numbers) <= _MOST_THREADS and (blocks > _MOST_THREADS or (not blocks and divided)):
        names = " and ".join(text_of(each) for each in launch.geometry[:2])
        first_grid = f"the grid comes first, and a block has at most {_MOST_THREADS:,} threads"
        what = f"{launch.place} exchanges grid and block: {first_grid}"
        shape = "x".join(map(str, numbers))
        raise LacksOption(f"{what}, but {names} are {_few(first)} and {_few(second)}", f"--block {shape}")


def _few(extents: Sequence[ast.expr]) -> str:
    return "×".join(map(ast.unparse, extents))


def _covered(axis: str, layout: Layout | None) -> str:
    """Return the size of C that an axis of the grid covers; empty for none, or if it is unknown."""
    if layout is None or layout.flat:
        return ""
    return "m" if layout.rows == axis else "n" if layout.columns == axis else ""


def along_x(grid: Geometry | None, reader: Reader, launch: HostLaunch) -> Geometry | None:
    """Return a grid without its other axes if the file launches several blocks of threads along x alone."""
    if grid is None or len(grid.extents) == 1 or len(launch.geometry) < 2:
        return grid
    with contextlib.suppress(Unreadable):
        blocks, threads = (reader.extents(each) for each in launch.geometry[:2])
        if len(blocks) == len(threads) == 1 and (constant(blocks[0]) or 0) > 1:
            return Geometry(grid.extents[:1], f"{grid.why}; {launch.place} launches one axis")
    return grid


def unused_axes(reader: Reader, launch: HostLaunch, body: Body) -> Iterator[str]:
    """Yield a warning if the source has an index along an axis that a launch has neither blocks nor threads along."""
    used = {axis for kind, axis in BUILT_IN.findall(text_of(body.function.body)) if kind in ("blockIdx", "threadIdx")}
    with contextlib.suppress(Unreadable):
        given = max(len(reader.extents(each)) for each in launch.geometry[:2])
        if missing := sorted(used & set("xyz"[given:])):
            always = " and ".join(f"blockIdx.{axis} and threadIdx.{axis}" for axis in missing)
            few = "along x alone" if given == 1 else "along x and y alone"
            wanted = f"a grid and a block of {'two' if missing == ['y'] else 'three'} numbers use {missing[-1]}"
            yield f"{launch.place} launches blocks and threads {few}, so that {always} are always 0; {wanted}"


def _trimmed(extents: Sequence[ast.expr]) -> tuple[ast.expr, ...]:
    """Return the extents without a last one of 1 along z."""
    kept = list(extents)
    while len(kept) > 1 and constant(kept[-1]) == 1:
        kept.pop()
    return tuple(kept)


def host_sizes(launch: HostLaunch, roles: Roles, order: Sequence[str]) -> dict[str, list[str]]:
    """Return the sizes of each name in the host code: the arguments, and the names m and M if m is not passed."""
    sizes: dict[str, list[str]] = {}
    for name, argument in zip(order, launch.arguments, strict=False):
        if name in roles.sizes:
            word = text_of(argument).removeprefix("(int)").removeprefix("this->").strip("() ")
            word = product_name(word) or word
            sizes.setdefault(word, []).append(roles.sizes[name])
        for member in (each for each in roles.sizes if each.startswith(f"{name}.")):
            owners = (text_of(argument), *(matrix for matrix, pointer in roles.pointers.items() if pointer == name))
            sizes |= {f"{owner}.{member.partition('.')[2]}": [roles.sizes[member]] for owner in owners}
    sizes |= {name: [role] for name, role in roles.sizes.items() if name not in order}  # macros that fix them
    # A matrix whose extents are a dim3 has its rows beside its columns.
    extents = [(word, several[0]) for word, several in sizes.items() if word.endswith(".x") and not roles.square]
    sizes = {**{f"{word[:-1]}y": [_ROWS[role]] for word, role in extents if role in _ROWS}, **sizes}
    passed = {*["k"] * (roles.depth > 0), *(role for several in sizes.values() for role in several)}
    for role in "mnk":
        for word in (role, role.upper()):
            if role not in passed and word not in sizes and not roles.square:
                sizes[word] = [role]
    return {name: several for name, several in sizes.items() if re.sub("[.*]", "_", name).isidentifier()}


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
    if names_in(width) & set(SIZES):  # blocks along x count tiles, which its index divides by the tiles of a row
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
    flat, names = layout.threads == {"x"}, _constants(reader, ("NUM_THREADS", "TM", "TN"))
    if (names_in(height) | names_in(width)) & set(EXTENTS):
        if (extents := block_of_tiles(reader, body)) is not None and layout.threads == {"x", "y"}:
            return Geometry(extents, _BY_TILES)
        return Geometry(tuple(map(ast.Constant, (256,) if flat else (16, 16))), _BY_BLOCK)
    if "NUM_THREADS" in names:
        return Geometry((names["NUM_THREADS"],), "by the name NUM_THREADS")
    height, width = (
        _threads_along(reader, *side, names)
        for side in ((height, layout.tall, layout.down, "TM"), (width, layout.wide, layout.across, "TN"))
    )
    if not flat and layout.threads != {"x", "y"}:
        return None
    sides = (height, width) if layout.rows == "x" else (width, height)
    known = layout.tall or layout.wide or layout.down or layout.across or {"TM", "TN"} & names.keys()
    why = "threads whose loops compute the elements of a tile" if layout.down or layout.across else _BY_TILE
    guessed = layout.looped and not known
    return Geometry((ast.BinOp(height, ast.Mult(), width),) if flat else sides, why, guessed)


def _threads_along(
    reader: Reader, side: ast.expr, factors: Sequence[str], between: Sequence[str], name: str, names: Mapping[str, Any]
) -> ast.expr:
    """Return the threads along a side of a tile, of which each computes several elements if the source shows that."""
    with contextlib.suppress(Unreadable):
        if between and not names_in(threads := _product(between, reader)) & set(EXTENTS):
            return threads
    # TM and TN usually are the rows and columns of a tile that a thread computes.
    if not factors and name not in names:
        return side
    return ast.BinOp(side, ast.FloorDiv(), _product(factors, reader) if factors else names[name])


def _constants(reader: Reader, names: Iterable[str]) -> dict[str, ast.expr]:
    """Return the numbers that the source gives to names."""
    found = dict[str, ast.expr]()
    for name in names:
        with contextlib.suppress(Unreadable):
            found[name] = reader.number(parse_expression(name))
    return found


def of_flat_tiles(reader: Reader, body: Body) -> tuple[Geometry, Geometry] | None:
    """Return the guessed block and grid of a kernel that divides its indexes along x by a tile's edge; None if not."""
    if not (edge := edge_of_flat_tiles(reader, body)):
        return None
    rows, columns = (_tiles(ast.Name(size), ast.Constant(edge)) for size in "mn")
    grid = Geometry((ast.BinOp(columns, ast.Mult(), rows),), "a block for each tile of C", guessed=True)
    return Geometry((ast.Constant(edge * edge),), _BY_TILES, guessed=True), grid


def usual_block(reader: Reader, body: Body) -> Geometry:
    """Return the guessed block of a kernel: that of its shared arrays, or of a function such as ``tile<32>``."""
    if (extents := block_of_tiles(reader, body)) is not None:
        return Geometry(extents, _BY_TILES, guessed=True)
    edge = next((int(each) for each in _INSTANCE.findall(text_of(body.function.body))), 0)
    threads = (256,) if body.thread_axes == {"x"} else (edge, edge) if 4 <= edge <= 32 else (16, 16)
    return Geometry(tuple(map(ast.Constant, threads)), "nothing else in the source shows it", guessed=True)


def by_names(names: Mapping[str, ast.expr]) -> Geometry | None:
    """Return the block of parameters that are named as Kernel Tuner names them; None without such parameters."""
    meant = {name.lower(): value for name, value in names.items()}
    extents = [meant.get(f"block_size_{axis}", ast.Constant(1)) for axis in "xyz"]
    return Geometry(_trimmed(extents), "by the names of those parameters") if "block_size_x" in meant else None


def within_bounds(reader: Reader, body: Body, block: Geometry | None, values: Mapping[str, Any]) -> Geometry | None:
    """Return ``__launch_bounds__`` threads along x if the body uses only x and its block is larger; else the block."""
    try:
        most = reader.number(parse_expression(body.function.bounds))
    except Unreadable:
        return block
    bounds = Geometry((most,), "its __launch_bounds__", guessed=True)
    return bounds if body.thread_axes <= {"x"} and _threads(bounds, values) < _threads(block, values) else block


def is_unclear(block: Geometry | None, values: Mapping[str, Any], body: Body) -> bool:
    """Return whether a block is unknown or too large, or the source works with any, or its warps compute the tile."""
    if block is None or block.why == _BY_BLOCK or _threads(block, values) > _MOST_THREADS:
        return True
    return block.why == _BY_TILE and _OF_WARPS.search(text_of(body.function.body)) is not None


def _threads(block: Geometry | None, values: Mapping[str, Any]) -> float:
    try:
        return math.inf if block is None else math.prod(int(evaluate(each, values)) for each in block.extents)
    except InvalidKernel:
        return math.inf


def check_threads(block: Geometry, extents: Sequence[int]) -> None:
    """Raise :class:`InvalidKernel` if no device allows the threads of a block with these extents."""
    if 1 <= (threads := math.prod(extents)) <= _MOST_THREADS:
        return
    what = f"a thread for each element of a tile would make blocks of {threads} threads"
    if block.why.startswith(_LAUNCHED):
        line, shape = block.why.removeprefix(_LAUNCHED), "×".join(map(str, extents))
        what = f"{line} launches {shape} = {threads} threads; a GPU allows {_MOST_THREADS}"
    raise LacksOption(f"{what}; give another with --block", "--block 16x16")

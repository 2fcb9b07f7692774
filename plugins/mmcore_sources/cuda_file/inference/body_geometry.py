"""Block and grid of a kernel without a launch, from its body: its index into C, its shared arrays, its bounds."""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import SIZES
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.body import BUILT_IN, Body
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable, parse_expression
from mmcore_sources.cuda_file.inference.expressions import EXTENTS, evaluate, names_in
from mmcore_sources.cuda_file.inference.geometry import AXIS, MOST_THREADS, Geometry, trimmed
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.layout import Layout
from mmcore_sources.cuda_file.inference.quotients import constant
from mmcore_sources.cuda_file.inference.shared_tiles import block_of_tiles, edge_of_flat_tiles
from mmcore_sources.cuda_file.inference.strided_loops import threads_of_steps
from mmcore_sources.cuda_file.inference.warps import block_of_warp_rows, divides_grid

_INSTANCE = re.compile(r"\b[A-Za-z_]\w*<(\d+)(?:,[^<>()]*)?> ?\(")
_BY_TILES = "a thread for each element of the source's shared arrays"
_OF_WARPS = re.compile(r"\b(?:w?mma|wgmma)(?:\.|::|_sync)")
_WARPS = re.compile(r".*\(blockDim\.x (?:/ (?:32|warpSize|WARP_SIZE)|>> 5)\)")  # of a block
_MOST_BLOCKS = 1024  # of a grid whose threads compute several elements of C
_BY_TILE = "a thread for each element of a tile"
_BY_BLOCK = "the source goes by blockDim, whatever it is"


def by_body(
    reader: Reader, body: Body, layout: Layout, threads_per_element: int = 1
) -> tuple[Geometry | None, Geometry | None]:
    """Return block and grid of a kernel without a launch, from its index into C; None if that is unclear."""
    if layout.of_tiles and (flat := of_flat_tiles(reader, body)) is not None:
        return flat
    if layout.of_tiles:
        tiles = ast.BinOp(_tiles(ast.Name("n"), ast.Name("bx")), ast.Mult(), _tiles(ast.Name("m"), ast.Name("by")))
        why = "the index of a block is divided, as that of a tile of C"
        return usual_block(reader, body), Geometry((tiles,), why, guessed=True)
    try:
        height, width = (_product(part, reader) for part in (layout.height, layout.width))
    except Unreadable:
        return None, None
    if names_in(width) & set(SIZES):  # blocks along x count tiles, which its index divides by the tiles of a row
        return None, None
    why = layout.why
    if layout.flat:
        elements = ast.BinOp(ast.Name("m"), ast.Mult(), ast.Name("n"))
        if threads_per_element > 1:
            elements = ast.BinOp(elements, ast.Mult(), ast.Constant(threads_per_element))
            return None, Geometry((_tiles(elements, ast.Name("bx")),), "a warp computes an element", guessed=True)
        blocks = _tiles(elements, width)
        grid = Geometry((blocks,), f"{why} counts its elements")
        if "gridDim" in text_of(body.function.body):
            blocks = ast.Call(ast.Name("min"), [ast.Constant(_MOST_BLOCKS), blocks], [])
            grid = Geometry((blocks,), "threads go on to further elements", guessed=True)
        if names_in(width) & set(EXTENTS):
            return Geometry((ast.Constant(256),), _BY_BLOCK), grid
        return None if constant(width) == 1 else Geometry((width,), why), grid
    if divides_grid(body):
        height, width = (
            _of_warps(side) if axis == "x" else side for axis, side in ((layout.rows, height), (layout.columns, width))
        )
    along = {layout.rows: _tiles(ast.Name("m"), height), layout.columns: _tiles(ast.Name("n"), width)}
    extents = [along.get(body.axis_of(axis), ast.Constant(1)) for axis in "xyz"]
    what = f"columns along {layout.columns or 'no axis'}, rows along {layout.rows or 'no axis'}"
    grid = Geometry(trimmed(extents), f"{why} has {what}")
    return _block(reader, body, layout, height, width), grid


def _tiles(size: ast.expr, tile: ast.expr) -> ast.expr:
    return size if constant(tile) == 1 else ast.Call(ast.Name("ceil"), [ast.BinOp(size, ast.Div(), tile)], [])


def _of_warps(side: ast.expr) -> ast.expr:
    """Return the rows or columns of the warps along x in a block, from those of one warp."""
    warps = ast.BinOp(ast.Name("bx"), ast.FloorDiv(), ast.Constant(32))
    return warps if constant(side) == 1 else ast.BinOp(warps, ast.Mult(), side)


def _product(factors: Sequence[str], reader: Reader) -> ast.expr:
    result: ast.expr | None = None
    for each in factors:
        factor = "blockDim.x" if (warps := _WARPS.fullmatch(each)) else each
        built_in = BUILT_IN.fullmatch(factor)
        if built_in is not None and built_in[1] != "blockDim":
            raise Unreadable(factor)
        number = ast.Name(AXIS[built_in[2]]) if built_in else reader.number(parse_expression(factor))
        number = ast.BinOp(number, ast.FloorDiv(), ast.Constant(32)) if warps else number
        result = number if result is None else ast.BinOp(result, ast.Mult(), number)
    return ast.Constant(1) if result is None else result


def _block(reader: Reader, body: Body, layout: Layout, height: ast.expr, width: ast.expr) -> Geometry | None:
    """Return a block with a thread for each element of a tile, if the body uses its threads that way."""
    flat, names = layout.threads == {"x"}, _constants(reader, ("NUM_THREADS", "TM", "TN"))
    if (names_in(height) | names_in(width)) & set(EXTENTS):
        if (extents := block_of_tiles(reader, body)) is not None and layout.threads == {"x", "y"}:
            return Geometry(extents, _BY_TILES)
        if (warps := block_of_warp_rows(body)) is not None:
            return warps
        return Geometry(tuple(map(ast.Constant, (256,) if flat else (16, 16))), _BY_BLOCK)
    if "NUM_THREADS" in names:
        return Geometry((names["NUM_THREADS"],), "by the name NUM_THREADS")
    if flat and (threads := threads_of_steps(reader, body)):
        return Geometry((ast.Constant(threads),), "the step of loops that begin at a thread")
    height, width = (
        _threads_along(reader, *side, names)
        for side in ((height, layout.tall, layout.down, "TM"), (width, layout.wide, layout.across, "TN"))
    )
    if not flat and layout.threads != {"x", "y"}:
        return None
    sides = (height, width) if layout.rows == "x" else (width, height)
    known = layout.tall or layout.wide or layout.down or layout.across or {"TM", "TN"} & names.keys()
    why = "threads whose loops compute the elements of a tile" if layout.down or layout.across else _BY_TILE
    guessed = layout.several and not known
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
    if (warps := block_of_warp_rows(body)) is not None:
        return warps
    edge = next((int(each) for each in _INSTANCE.findall(text_of(body.function.body))), 0)
    most = reader.whole(body.function.bounds) if body.function.bounds else None
    square = math.isqrt(most or 0)
    if not edge and most and square * square == most <= MOST_THREADS and body.thread_axes == {"x", "y"}:
        return Geometry((ast.Constant(square), ast.Constant(square)), "its __launch_bounds__", guessed=True)
    threads = (256,) if body.thread_axes == {"x"} else (edge, edge) if 4 <= edge <= 32 else (16, 16)
    return Geometry(tuple(map(ast.Constant, threads)), "nothing else in the source shows it", guessed=True)


def by_names(names: Mapping[str, ast.expr]) -> Geometry | None:
    """Return the block of parameters that are named as Kernel Tuner names them; None without such parameters."""
    meant = {name.lower(): value for name, value in names.items()}
    extents = [meant.get(f"block_size_{axis}", ast.Constant(1)) for axis in "xyz"]
    return Geometry(trimmed(extents), "by the names of those parameters") if "block_size_x" in meant else None


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
    if block is None or block.why == _BY_BLOCK or _threads(block, values) > MOST_THREADS:
        return True
    return block.why == _BY_TILE and _OF_WARPS.search(text_of(body.function.body)) is not None


def _threads(block: Geometry | None, values: Mapping[str, Any]) -> float:
    try:
        return math.inf if block is None else math.prod(int(evaluate(each, values)) for each in block.extents)
    except InvalidKernel:
        return math.inf

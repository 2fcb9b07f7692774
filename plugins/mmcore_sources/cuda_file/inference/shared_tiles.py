"""The block that a kernel's shared arrays need: a thread for each element of ``s[threadIdx.y][threadIdx.x]``."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator

from mmcore_cuda.cuda_source.tree import Node, text_of, walk
from mmcore_sources.cuda_file.inference.body import BUILT_IN, Body
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable, parse_expression
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.quotients import constant

_AXES, _MOST_THREADS = 2, 1024
_ROW, _COLUMN = ("threadIdx.y",), ("threadIdx.x",)


def block_of_tiles(reader: Reader, body: Body) -> tuple[ast.expr, ast.expr] | None:
    """Return x and y of the block whose threads have an element each of a shared array; None without such an array."""
    arrays = dict(shared_arrays(body))
    for name, indexes in accesses(body):
        sizes = arrays.get(name, [])
        if not 1 <= len(indexes) == len(sizes) <= 2:
            continue
        with contextlib.suppress(Unreadable):
            first = reader.number(sizes[0])
            terms = [body.terms(each) for each in indexes]
            if terms == [[_ROW], [_COLUMN]]:
                return _without_padding(reader.number(sizes[1]), first), first
            if terms == [[_COLUMN], [_ROW]]:
                return first, _without_padding(reader.number(sizes[1]), first)
            rows = [term for term in terms[0] if term != _COLUMN]
            if len(terms[0]) == 2 and len(rows) == 1 and rows[0][:1] == _ROW and len(rows[0]) == 2:
                width = reader.number(parse_expression(rows[0][1]))
                height = ast.BinOp(first, ast.FloorDiv(), width)
                return _without_padding(width, height), height
    return None


def edge_of_flat_tiles(reader: Reader, body: Body) -> int:
    """Return the edge of a tile that a block of threads along x computes, which divides indexes by it; 0 without one.

    Blocks along x count the tiles of C, too.
    """
    text = text_of(body.function.body)
    if {axis for _, axis in BUILT_IN.findall(text)} != {"x"}:
        return 0
    edges = set[int | None]()
    for _, sizes in shared_arrays(body):
        with contextlib.suppress(Unreadable):
            edges |= {constant(reader.number(size)) for size in sizes}
            if len(sizes) != _AXES or not re.search(rf"% *{re.escape(text_of(sizes[0]))}\b", text):
                return 0
    (edge,) = edges if len(edges) == 1 else (0,)
    return edge if edge and edge * edge <= _MOST_THREADS else 0


def _without_padding(width: ast.expr, height: ast.expr) -> ast.expr:
    """Return the columns of a tile without those against bank conflicts, such as 16 of ``s[16][16 + 4]``."""
    padded = ast.unparse(width).startswith(f"{ast.unparse(height)} + ")
    return height if padded or constant(ast.BinOp(width, ast.Sub(), height)) == 1 else width


def shared_arrays(body: Body) -> Iterator[tuple[str, list[Node]]]:
    """Yield the name and the sizes of each array in shared memory."""
    for node in walk(body.function.body):
        if node.type == "declaration" and "__shared__" in text_of(node):
            for declarator in node.children_by_field_name("declarator"):
                name, sizes = _unrolled(declarator, "declarator", "size")
                yield name, sizes


def accesses(body: Body) -> Iterator[tuple[str, list[Node]]]:
    """Yield the name and the indexes of each access to an array."""
    for node in walk(body.function.body):
        above = node.parent
        if node.type == "subscript_expression" and (above is None or above.type != "subscript_expression"):
            name, lists = _unrolled(node, "argument", "indices")
            yield name, [index for each in lists for index in each.named_children]


def _unrolled(node: Node, inner: str, field: str) -> tuple[str, list[Node]]:
    """Return the innermost name of nested nodes, and a field of each, the innermost first."""
    found = list[Node]()
    while (value := node.child_by_field_name(field)) is not None:
        found.insert(0, value)
        below = node.child_by_field_name(inner)
        if below is None:
            break
        node = below
    return text_of(node), found

"""Changes of the bounds of loops that stop too early, or begin too late."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mmcore_cuda.cuda_source.tree import LOOPS, Node, ancestors, identifiers, initializers, text_of, walk
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced

_BINARY = "binary_expression"
_FLOATING = re.compile(r"\b(?:float|double)\b|\b\d+(?:\.\d*)?f\b|\d\.|\.\d")
_ARRAY = re.compile(r"(\w+)((?:\[[^\]]+\])+)")
_EXTENT = re.compile(r"\[([^\]]+)\]")
_ADDED = re.compile(r"\+ (\d+)\)?$")


def loop_edits(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources with a greater bound of a loop: a quotient rounded up, the whole size, or ``<=`` for ``<``.

    A loop that begins with 1 may begin with 0, too, and one over a tile in shared memory end with the tile.
    """
    compared, divided = _compared(nodes), quotients(nodes)
    yield from _of_tiles(source, nodes, compared)
    for node in divided:
        yield replaced(source, [(node, rounded_up(node))])
    for node in divided:
        yield replaced(source, [(node, text_of(node.children[0]))])
    for node in compared:
        yield from _whole_size(source, node)
    yield from _from_zero(source, nodes)
    for node in compared:
        if text_of(node.children[1]) == "<" and node.children[2].type != "number_literal":
            yield replaced(source, [(node.children[1], "<=")])


def _of_tiles(source: bytes, nodes: Sequence[Node], compared: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources with the extent of a shared array as the bound of the loop over it, in place of another one."""
    shared = (text_of(each) for each in nodes if each.type == "declaration" and "__shared__" in text_of(each))
    extents = {name: _EXTENT.findall(several) for text in shared for name, several in _ARRAY.findall(text)}
    for node in compared:
        name, _, bound = map(text_of, node.children)
        loop = next((each for each in ancestors(node) if each.type in LOOPS), node)
        for each in walk(loop):
            array, indexes = _subscripts(each)
            pairs = zip(indexes, extents.get(array, []), strict=False)
            over = next((extent for index, extent in pairs if index == name), bound)
            if over != bound:
                yield replaced(source, [(node.children[2], over)])
                break


def _subscripts(node: Node) -> tuple[str, list[str]]:
    """Return the array and the indexes of ``X[i][j]``; none of another node."""
    indexes = list[str]()
    while node.type == "subscript_expression":
        indexes.insert(0, text_of(node.children[1])[1:-1].strip())
        node = node.children[0]
    return text_of(node), indexes


def _from_zero(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources with a loop that begins with 0 instead of 1."""
    for loop in (each for each in nodes if each.type == "for_statement"):
        begin = loop.child_by_field_name("initializer")
        for name, value in initializers(begin) if begin is not None and begin.type == "declaration" else ():
            if text_of(value) == "1":
                yield replaced(source, [(value, "0")], f"{name} = 0 instead of {name} = 1")


def quotients(nodes: Sequence[Node]) -> list[Node]:
    """Return the quotients that bound loops and are rounded down, in a condition or in a variable's first value."""
    bounds, outside = {text_of(each.children[2]) for each in _compared(nodes)}, list[Node]()
    for node in reversed([each for each in nodes if each.type == "init_declarator"]):
        value = node.child_by_field_name("value")
        if value is not None and text_of(node.children[0]) in bounds:
            bounds |= {*identifiers(value)}
            outside += [each for each in walk(value) if each.type == _BINARY]
    return [node for node in [*_conditions(nodes), *outside] if rounded_up(node)]


def _compared(nodes: Sequence[Node]) -> list[Node]:
    return [each for each in _conditions(nodes) if text_of(each.children[1]) in ("<", "<=")]


def _conditions(nodes: Sequence[Node]) -> list[Node]:
    """Return the binary expressions in the conditions of loops."""
    conditions = (each.child_by_field_name("condition") for each in nodes if each.type in LOOPS)
    return [each for condition in conditions if condition is not None for each in walk(condition)
            if each.type == _BINARY]  # fmt: skip


def rounded_up(node: Node) -> str:
    """Return a quotient of a size, rounded up; empty for others, such as ``(k + 15) / 16`` and ``k / 16.0f``."""
    left, sign, right = map(text_of, node.children)
    added = _ADDED.search(left)
    if sign == "/" and _FLOATING.search(f"{left} {right}"):
        return ""
    if sign == "/" and "-" not in left and not (added and right == str(int(added[1]) + 1)):
        return f"({left} + {right} - 1) / {right}"
    return f"({left} + (1 << {right}) - 1) >> {right}" if sign == ">>" else ""


def _whole_size(source: bytes, comparison: Node) -> Iterator[Edit]:
    """Yield a source with ``i < k`` for ``i < k - 1`` and for ``i + TILE <= k``."""
    left, _, right = comparison.children
    if right.type == "binary_expression" and text_of(right.children[1]) == "-":
        yield replaced(source, [(right, text_of(right.children[0]))])
    if left.type == "binary_expression" and text_of(left.children[1]) == "+":
        yield replaced(source, [(comparison, f"{text_of(left.children[0])} < {text_of(right)}")])

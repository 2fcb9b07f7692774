"""The parts of C that a kernel's blocks compute, from the tiles of A and B that its calls copy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mmcore_cuda.cuda_source.tree import Node, identifiers, walk
from mmcore_sources.cuda_file.inference.body import BUILT_IN, Body
from mmcore_sources.cuda_file.inference.layout import Layout

_CALLS = {"call_expression": "argument_list", "gnu_asm_expression": "gnu_asm_input_operand_list"}


def layout_of_copies(body: Body, pointers: Mapping[str, str]) -> Layout | None:
    """Return how a kernel's blocks cover C, from the coordinates beside A and B, as in ``copy(s, &map_a, k0, m0)``.

    None if they are not a block's index times a factor, with another axis of the grid for each matrix.
    """
    rows, columns = (_tile(body, pointers[matrix]) for matrix in "AB")
    if rows is None or columns is None or rows[0] == columns[0]:
        return None
    return Layout(rows[0], columns[0], rows[1], columns[1], why="the place of its copies from A and B")


def _tile(body: Body, pointer: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the axis of the block's index in the coordinates beside a pointer, and its factors; None if unclear."""
    tiles = set[tuple[str, tuple[str, ...]]]()
    for argument in _beside(body, pointer):
        for term in body.terms(argument):
            indexes = [factor for factor in term if "blockIdx" in factor]
            if indexes:
                match = BUILT_IN.fullmatch(indexes[0]) if len(indexes) == 1 else None
                tiles.add((match[2] if match else "", tuple(each for each in term if each not in indexes)))
    axis, factors = tiles.pop() if len(tiles) == 1 else ("", ())
    return (axis, factors) if axis else None


def _beside(body: Body, pointer: str) -> Iterator[Node]:
    """Yield the other arguments of the calls, and operands of the ``asm`` statements, that take a pointer."""
    for node in walk(body.function.body):
        listed = next((each for each in node.children if each.type == _CALLS.get(node.type)), None)
        arguments = listed.named_children if listed is not None else []
        if any({*identifiers(each)} == {pointer} for each in arguments):
            yield from (each for each in arguments if pointer not in {*identifiers(each)})

"""Integer parameters that are the logarithm of a size, as in ``row << m`` for a row of ``1 << m`` elements."""

from __future__ import annotations

from collections.abc import Iterable

from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body, power_of_two

_SHIFTS = ("<<", ">>")


def logarithms_of(body: Body, names: Iterable[str]) -> set[str]:
    """Return those of the names that the body only uses as the count of a shift, and that a power of two has."""
    shifts = [each for each in walk(body.function.body) if _is_shift(each)]
    counted = [name for each in shifts for name in identifiers(each.children[2])]
    powers = {power_of_two(each) for each in shifts}
    used = identifiers(body.function.body)
    return {name for name in names if f"1<<{name}" in powers and counted.count(name) == used.count(name)}


def _is_shift(node: Node) -> bool:
    return node.type == "binary_expression" and text_of(node.children[1]) in _SHIFTS

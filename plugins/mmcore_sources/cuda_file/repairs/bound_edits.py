"""Changes of the sizes that guards and loops compare with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mmcore_cuda.cuda_source.tree import Node, sides, text_of, walk
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced

_SIZES = ("m", "n", "k")
_COMPARISONS = ("<", "<=", ">", ">=")


def bound_edits(source: bytes, nodes: Sequence[Node], sizes: Mapping[str, str]) -> Iterator[Edit]:
    """Yield sources with the two bounds in a line exchanged, or with another size as a bound.

    The bounds of a structure's members, such as ``B.width``, are exchanged alone.
    """
    names = [name for name, role in sizes.items() if role in _SIZES]
    lines: dict[int, list[Node]] = {}
    for node in (each for each in nodes if each.type == "binary_expression"):
        _, sign, limit = sides(node)
        if text_of(sign) in _COMPARISONS and (bound := _bound(limit, names)) is not None:
            lines.setdefault(bound.start_point.row, []).append(bound)
    for bounds in lines.values():
        words = [*map(text_of, bounds)]
        if len(words) == 2 == len({*words}):
            what = f"{words[1]} and {words[0]} instead of {words[0]} and {words[1]}"
            yield replaced(source, zip(bounds, reversed(words), strict=True), what)
        for bound, word in zip(bounds, words, strict=True):
            others = names if word in names else ()
            yield from (replaced(source, [(bound, other)]) for other in others if other != word)


def part_edits(source: bytes, nodes: Sequence[Node], sizes: Mapping[str, str]) -> Iterator[Edit]:
    """Yield sources that compare with the end of a part of a size, such as ``end = min(begin + part, K)``, not with K.

    A guard that compares with K reads the next part, too.
    """
    for node in (each for each in nodes if each.type == "init_declarator" and each.end_byte > each.start_byte):
        name, value = node.children[0], node.children[-1]
        words = {text_of(each) for each in walk(value)} if text_of(value).startswith("min(") else set()
        for size in (each for each, role in sizes.items() if role in _SIZES and each in words):
            later = (each for each in nodes if each.type == "binary_expression" and each.start_byte > node.end_byte)
            limits = (each.children[2] for each in later if text_of(each.children[1]) in _COMPARISONS)
            if places := [each for each in limits if text_of(each) == size]:
                yield replaced(source, [(each, text_of(name)) for each in places])


def _bound(limit: Node, names: Sequence[str]) -> Node | None:
    """Return the size or the member of a structure in a limit such as ``M`` and ``(M + 15) / 16``; None without one."""
    found = [limit] if limit.type == "field_expression" else [each for each in walk(limit) if text_of(each) in names]
    return found[0] if len(found) == 1 else None

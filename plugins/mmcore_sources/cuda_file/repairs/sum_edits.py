"""Changes of how a kernel begins, adds up and stores its sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmcore_cuda.cuda_source.tree import LOOPS, Node, ancestors, sides, text_of, walk
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced
from mmcore_sources.cuda_file.repairs.index_edits import array_of


def unset_sums(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources in which a sum begins with 0 that was never set, or begins with another number."""
    added = variables_of_sums(nodes)
    arrays = {each.partition("[")[0] for each in added}
    for node in (each for each in nodes if each.type == "declaration"):
        for name in node.children_by_field_name("declarator"):
            if name.type == "identifier" and text_of(name) in added:
                yield replaced(source, [(name, f"{text_of(name)} = 0")])
            elif name.type == "array_declarator" and array_of(name) in arrays and "__shared__" not in text_of(node):
                yield replaced(source, [(name, f"{text_of(name)} = {{}}")])
            elif name.type == "init_declarator" and text_of(name.children[0]) in added:
                value = name.children[-1]
                if value.type == "number_literal" and not _is_zero(text_of(value)):
                    yield replaced(source, [(name, f"{text_of(name.children[0])} = 0")])


def stored_sums(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources that assign a sum to an element, outside of loops, instead of adding it."""
    for node in (each for each in nodes if each.type == "assignment_expression"):
        left, sign, _ = sides(node)
        if text_of(sign) == "+=" and left.type == "subscript_expression" and not _is_in_loop(node):
            yield replaced(source, [(sign, "=")], f"{text_of(left)} = instead of {text_of(left)} +=")


def warp_sums(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources whose sums of a warp's values begin with its upper half."""
    for loop in (each for each in nodes if each.type == "for_statement" and "__shfl" in text_of(each)):
        for number in (each for each in walk(loop.children[2]) if each.type == "number_literal"):
            if text_of(number) in ("4", "8", "32"):
                yield replaced(source, [(number, "16")])


def added_products(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources that add a product to a variable, or to an element in a loop, instead of assigning it."""
    for node in (each for each in nodes if each.type == "assignment_expression"):
        left, sign, right = sides(node)
        is_sum = left.type == "identifier" or _is_in_loop(node)
        if text_of(sign) == "=" and is_sum and "*" in text_of(right) and "[" in text_of(right):
            yield replaced(source, [(sign, "+=")])


def _is_in_loop(node: Node) -> bool:
    return any(each.type in LOOPS for each in ancestors(node))


def variables_of_sums(nodes: Sequence[Node]) -> set[str]:
    """Return the variables to which ``+=`` adds."""
    return {text_of(each.children[0]) for each in nodes
            if each.type == "assignment_expression" and text_of(each.children[1]) == "+="}  # fmt: skip


def _is_zero(number: str) -> bool:
    return not number.strip("0.fFlLuU")

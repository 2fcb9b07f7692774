"""Changes of a value that two assignments in a row store, where the second should store the next one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from mmcore_cuda.cuda_source.tree import Node, initializers, text_of, walk
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced


def copied_values(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources in which one of two equal values is a variable that nothing reads, or has another last number."""
    unread = [*_unread(nodes)]
    for block in (each for each in nodes if each.type == "compound_statement"):
        for one, other in itertools.combinations(_assignments(block), 2):
            left, value = text_of(one.children[0]), one.children[2]
            if text_of(value) != text_of(other.children[2]) or left == text_of(other.children[0]):
                continue
            for right, step in ((other.children[2], 1), (value, -1)):
                if right.type == "identifier":
                    yield from (replaced(source, [(right, name)]) for name in unread)
                numbers = [each for each in walk(right) if each.type == "number_literal"]
                if numbers and (last := text_of(numbers[-1])).isdecimal() and int(last) + step >= 0:
                    yield replaced(source, [(numbers[-1], str(int(last) + step))])


def _assignments(block: Node) -> list[Node]:
    """Return the assignments of a block."""
    statements = (each.named_children[0] for each in block.named_children if each.type == "expression_statement")
    return [each for each in statements if each.type == "assignment_expression" and text_of(each.children[1]) == "="]


def _unread(nodes: Sequence[Node]) -> Iterator[str]:
    """Yield the variables that are set or added to, and never read."""
    read = {text_of(each) for each in nodes if each.type == "identifier" and not _is_set(each)}
    for node in (each for each in nodes if each.type == "declaration"):
        yield from (name for name, _ in initializers(node) if name not in read)


def _is_set(name: Node) -> bool:
    """Return whether an identifier is declared or assigned there, and not read."""
    above = name.parent
    if above is None or above.type not in ("init_declarator", "assignment_expression"):
        return False
    return above.children[0].id == name.id

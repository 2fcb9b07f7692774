"""The expressions that limit a loop: its condition, and the first value of a variable that it counts down."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore_cuda.cuda_source.tree import LOOPS, Node, ancestors, identifiers, initializers, text_of, walk

_STEPS = ("update_expression", "assignment_expression")
_DOWN = ("--", "-=")


def loop_limits(loop: Node) -> Iterator[Node]:
    """Yield the condition of a loop or branch, and the first values of the variables in it that a loop counts down."""
    condition, first = loop.child_by_field_name("condition"), loop.child_by_field_name("initializer")
    if condition is None:
        return
    yield condition
    steps = (node for node in walk(loop) if node.type in _STEPS) if loop.type in LOOPS else ()
    names = {text_of(each) for node in steps if _subtracts(node) for each in node.children} & {*identifiers(condition)}
    if names:
        around = next((each for each in ancestors(loop) if each.type == "function_definition"), loop)
        yield from (first and [*_values(first, names)]) or _values(around, names)


def _values(part: Node, names: set[str]) -> Iterator[Node]:
    """Yield the values that a part of a source gives to variables, as it declares or assigns them."""
    for node in walk(part):
        if node.type == "declaration":
            yield from (value for name, value in initializers(node) if name in names)
        elif node.type == "assignment_expression" and text_of(node.children[1]) == "=":
            yield from node.children[2:] if text_of(node.children[0]) in names else ()


def _subtracts(step: Node) -> bool:
    return any(text_of(each) in _DOWN for each in step.children)

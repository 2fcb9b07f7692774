"""Functions that a kernel applies to its sums before it stores them, such as ReLU: what C holds is no product then."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, walk, without_parentheses
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel

_OF_NAMES = re.compile(r"(?:\w*_)?(?:relu|gelu|silu|swish|sigmoid|tanh|expf?|erf|leaky_?relu)f?", re.IGNORECASE)
_LARGER = re.compile(r"(?:std::)?(?:f?maxf?|__hmax)")
_ZERO = re.compile(r"[-+]?0*\.?0*[fF]?")
_COMPARED = (">", ">=", "<", "<=")


def refuse_activation(kernel: SourceKernel, roles: Roles) -> None:
    """Raise InvalidKernel for a kernel that stores a function of its sums, whatever its flags are."""
    if "args" in kernel.given:
        return
    function = kernel.function
    flags = {each.name for each in (*function.parameters, *function.template)} - roles.sizes.keys()
    for node in _stored(kernel.body, roles.pointers["C"]):
        if (name := _activation(node)) and flags.isdisjoint(_conditions(node)):
            line = node.start_point.row + 1
            applies = f"line {line} applies {name} before {kernel.function.name} stores to C"
            raise InvalidKernel(f"{applies}, so that C is no product of A and B; it can be verified without {name}")


def _stored(body: Body, c: str) -> Iterator[Node]:
    """Yield the nodes of the values that a kernel stores to C, and of its variables in them."""
    for target, _, value in body.assignments:
        if target.type == "identifier" or body.pointer_in(target) != c:
            continue
        yield from walk(value)
        for name in identifiers(value):
            for each in body.variables.values.get(name, ()):
                yield from walk(each)


def _conditions(node: Node) -> Iterator[str]:
    """Yield the names in the conditions of the branches around a node."""
    while (above := node.parent) is not None:
        condition = above.child_by_field_name("condition")
        if condition is not None and condition != node:
            yield from identifiers(condition)
        node = above


def _activation(node: Node) -> str:
    """Return the name of the function that a node applies; "" for another node."""
    if node.type == "call_expression":
        name, arguments = text_of(node.children[0]), node.children[1].named_children
        with_zero = _LARGER.fullmatch(name) and any(_is_zero(each) for each in arguments)
        return name if with_zero or _OF_NAMES.fullmatch(name) else ""
    if node.type != "conditional_expression":
        return ""
    condition, *values = (each for each in node.named_children if each.type != "comment")
    condition = without_parentheses(condition)
    if condition.type != "binary_expression" or text_of(condition.children[1]) not in _COMPARED or len(values) != 2:
        return ""
    left, right = condition.children[0], condition.children[2]
    of_value = _is_zero(right) and text_of(left) in map(text_of, values)
    return "ReLU" if of_value and any(map(_is_zero, values)) else ""


def _is_zero(node: Node) -> bool:
    return any(character.isdigit() for character in text_of(node)) and bool(_ZERO.fullmatch(text_of(node)))

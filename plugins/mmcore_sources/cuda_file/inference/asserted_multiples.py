"""Multiples that a host function asks its sizes to be before a launch, as by ``assert(N % 128 == 0)``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import Node, text_of, walk, within_parentheses
from mmcore_sources.cuda_file.inference.parameters import value_of

_ASSERTS = re.compile(r"(?:\w+_)?(?:assert|ASSERT|CHECK|REQUIRE)(?:_\w+)?")
_LEAVES = re.compile(r"\b(?:return|exit|abort|throw|_exit)\b")


def asserted_multiples(source: Program, launch: HostLaunch, roles: Mapping[str, str]) -> dict[str, int]:
    """Return the multiples that the function of a launch asks for, by size; ``roles`` has the roles of its names.

    A branch that leaves the function if there is a remainder asks for a multiple, too.
    """
    found: dict[str, int] = {}
    for remainder in _remainders(launch.scope):
        size, _, step = remainder.children
        role, number = roles.get(text_of(size).strip("()"), ""), value_of(text_of(step), source, launch)
        if role and number and number > 1:
            found[role] = max(number, found.get(role, 1))
    return found


def _remainders(scope: Node) -> Iterator[Node]:
    """Yield the remainders that have to be 0."""
    for node in walk(scope):
        if node.type == "call_expression" and _ASSERTS.fullmatch(text_of(node.children[0])):
            yield from _of_condition(node.children[1], zero=True)
        elif node.type == "if_statement":
            condition, then = (node.child_by_field_name(name) for name in ("condition", "consequence"))
            if condition is not None and then is not None and _LEAVES.search(text_of(then)):
                yield from _of_condition(condition, zero=False)


def _of_condition(condition: Node, *, zero: bool) -> Iterator[Node]:
    """Yield the remainders that are 0 if a condition holds, or in another case only if it does not hold."""
    unclear = "||" if zero else "&&"
    if any(each.type == "binary_expression" and text_of(each.children[1]) == unclear for each in walk(condition)):
        return
    for node in walk(condition):
        if node.type == "binary_expression" and text_of(node.children[1]) == "%" and _asks_for_zero(node) == zero:
            yield node


def _asks_for_zero(remainder: Node) -> bool | None:
    """Return whether the expression around a remainder holds if it is 0; None if it is compared with another number."""
    outer = within_parentheses(remainder)
    if outer is not None and outer.type == "unary_expression":
        return True
    if outer is None or outer.type != "binary_expression" or text_of(outer.children[1]) in ("&&", "||"):
        return False
    sign, right = map(text_of, outer.children[1:])
    return {"==": True, "!=": False}.get(sign) if right == "0" else None

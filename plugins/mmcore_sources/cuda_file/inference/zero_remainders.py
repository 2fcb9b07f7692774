"""Remainders of sizes that a condition in host code asks to be 0, as ``N % 4 == 0 && (K & 3) == 0``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import Node, text_of, walk, within_parentheses
from mmcore_sources.cuda_file.inference.parameters import value_of


def zero_remainders(condition: Node, *, holds: bool) -> Iterator[Node]:
    """Yield the remainders that are 0 if a condition holds, or in another case only if it does not hold."""
    unclear = "||" if holds else "&&"
    if any(each.type == "binary_expression" and text_of(each.children[1]) == unclear for each in walk(condition)):
        return
    for node in walk(condition):
        if (
            node.type == "binary_expression"
            and text_of(node.children[1]) in ("%", "&")
            and _asks_for_zero(node) == holds
        ):
            yield node


def multiples(
    remainders: Iterable[Node],
    source: Program,
    launch: HostLaunch,
    roles: Mapping[str, str],
    given: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, int]:
    """Return the divisor of each size where remainders are 0; ``roles`` has the roles of the names of sizes.

    ``given`` has the values of macros that the user gave.
    """
    found: dict[str, int] = {}
    for remainder in remainders:
        size, sign, step = remainder.children
        role, number = roles.get(text_of(size).strip("()"), ""), value_of(text_of(step), source, launch, given)
        divisor = (number or 0) + (text_of(sign) == "&")
        if role and divisor > 1:
            found[role] = max(divisor, found.get(role, 1))
    return found


def _asks_for_zero(remainder: Node) -> bool | None:
    """Return whether the expression around a remainder holds if it is 0; None if it is compared with another number."""
    outer = within_parentheses(remainder)
    if outer is not None and outer.type == "unary_expression":
        return True
    if outer is None or outer.type != "binary_expression" or text_of(outer.children[1]) in ("&&", "||"):
        return False
    sign, right = map(text_of, outer.children[1:])
    return {"==": True, "!=": False}.get(sign) if right == "0" else None

"""The limits of a kernel: conditions of its branches and loops, and the names that they depend on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mmcore_cuda.cuda_source.tree import LOOPS, Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.loop_limits import loop_limits

_BRANCHES = ("if_statement", "conditional_expression", "while_statement", "for_statement")
_LEAST = re.compile(r"(?:\w+::)?f?(?:min|max)[fl]?|clamp")


def conditions(node: Node) -> Iterator[Node]:
    """Yield the conditions of branches, the limits of loops, other comparisons, and the calls that limit a number."""
    for each in walk(node):
        limits_of_it = [*loop_limits(each)] if each.type in _BRANCHES else []
        yield from limits_of_it
        compares = each.type == "binary_expression" and text_of(each.children[1]) in ("<", ">", "<=", ">=")
        limits = each.type == "call_expression" and _LEAST.fullmatch(text_of(each.children[0]))
        if not limits_of_it and (compares or limits):
            yield each


def words_of(body: Body, node: Node) -> set[str]:
    """Return the names that an expression depends on, with local variables replaced by their values."""
    return {word.strip("()") for term in body.terms(node) for factor in term for word in factor.split()}


def limiting_names(body: Body) -> set[str]:
    """Return the names that conditions depend on, and those that a kernel passes to functions without a pointer."""
    found = {word for each in conditions(body.function.body) for word in words_of(body, each)}
    for call in walk(body.function.body):
        passed = call.child_by_field_name("arguments") if call.type == "call_expression" else None
        for argument in passed.named_children if passed is not None else ():
            names = {*identifiers(argument)}
            found |= names if names.isdisjoint(body.pointers) else set()
    return found


def names_of_loops(body: Body) -> set[str]:
    """Return the names that the limits of loops depend on."""
    limits = (limit for each in walk(body.function.body) if each.type in LOOPS for limit in loop_limits(each))
    return {word for limit in limits for word in words_of(body, limit)}

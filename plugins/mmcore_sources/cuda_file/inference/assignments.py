"""The values that the variables of a host function have before a line: declarations, assignments, and calls."""

from __future__ import annotations

import functools

from mmcore_cuda.cuda_source.tree import LOOPS, Node, ancestors, initializers, text_of, walk
from mmcore_sources.cuda_file.inference.c_expressions import parse_expression

_CHANGES = ("+=", "-=", "*=", "/=", "%=", "<<=")


def is_set_by_call(scope: Node | None, name: str, line: int) -> bool:
    """Return whether a call gets a variable's address before a line, or a stream sets it; ``line`` 0: anywhere."""
    reads = _reads(scope) if scope is not None else ()
    return any(read == name and (not line or row < line) for row, read in reads)


def last_assignment(scope: Node | None, target: str, line: int) -> Node | None:
    """Return the last assignment to a variable or member before a line, or the last of all; None without one."""
    assignments = reversed(_assignments(scope) if scope is not None else ())
    return next((each for each in assignments if text_of(each.children[0]) == target and _is_before(each, line)), None)


def last_change(scope: Node | None, target: str, line: int, before: int = 0, within: Node | None = None) -> Node | None:
    """Return the last assignment, ``n += 3`` or ``n++`` of a variable before a line; None without one.

    It begins ``before`` a byte, unless that is 0, and is ``within`` a node if one is given.
    """
    for each in reversed(_changes(scope) if scope is not None else ()):
        inside = within is None or within.start_byte <= each.start_byte < within.end_byte
        if (
            changed_name(each) == target
            and inside
            and _is_before(each, line)
            and (not before or each.start_byte < before)
        ):
            return each
    return None


def changed_name(change: Node) -> str:
    """Return the name of the variable that an assignment, or ``n++``, changes."""
    return text_of(change.children[0]).strip("+-") or text_of(change.children[1])


def assigned_value(assignment: Node) -> Node:
    """Return the value that an assignment gives; that of ``n += 3`` is ``(n) + (3)``."""
    if assignment.type == "update_expression":
        sign = "+" if "++" in text_of(assignment) else "-"
        return parse_expression(f"({changed_name(assignment)}) {sign} 1")
    target, assigns, value = assignment.children[:3]
    if text_of(assigns) == "=":
        return value
    return parse_expression(f"({text_of(target)}) {text_of(assigns)[:-1]} ({text_of(value)})")


def ended_branch(node: Node, region: Node | None, line: int, place: int = 0) -> Node | None:
    """Return the outermost ``if`` around a node in a region that ends before a line, and a place; 0 stands for any."""
    found = None
    for each in ancestors(node):
        if region is not None and each.id == region.id:
            break
        ended = (not line or each.end_point.row < line) and (not place or each.end_byte <= place)
        found = each if each.type == "if_statement" and ended else found
    return found


def initial_value(scope: Node | None, name: str, line: int) -> tuple[Node, Node] | None:
    """Return the last declaration that initialises a variable before a line, and the value; None without one."""
    declarations = reversed(_initialised(scope) if scope is not None else ())
    return next(
        ((each, values[name]) for each, values in declarations if name in values and _is_before(each, line)), None
    )


def _is_before(node: Node, line: int) -> bool:
    """Return whether a node is above a line, if that is known."""
    return not line or node.start_point.row < line


@functools.lru_cache(maxsize=32)
def _reads(scope: Node) -> tuple[tuple[int, str], ...]:
    """Return the variables of a function that a call gets the address of, or that a stream sets, with their rows."""
    found = list[tuple[int, str]]()
    for node in walk(scope):
        if node.type == "argument_list":
            found += [(each.start_point.row, text_of(each)[1:]) for each in node.children if text_of(each)[:1] == "&"]
        elif node.type == "binary_expression" and text_of(node.children[1]) == ">>":
            found.append((node.children[2].start_point.row, text_of(node.children[2])))
    return tuple(found)


@functools.lru_cache(maxsize=32)
def _assignments(scope: Node) -> tuple[Node, ...]:
    """Return the assignments of a function in order; ``n += 3`` only where each call runs it once."""
    assignments = (each for each in _changes(scope) if each.type == "assignment_expression")
    return tuple(each for each in assignments if text_of(each.children[1]) == "=" or not _is_in(each, "if_statement"))


@functools.lru_cache(maxsize=32)
def _changes(scope: Node) -> tuple[Node, ...]:
    """Return the assignments and updates of a function in order; ``n += 3`` and ``n++`` only outside of loops."""
    found = list[Node]()
    for each in walk(scope):
        sign = text_of(each.children[1]) if each.type == "assignment_expression" else ""
        changes = sign in _CHANGES or each.type == "update_expression"
        if sign == "=" or (changes and not _is_in(each, *LOOPS, "switch_statement")):
            found.append(each)
    return tuple(found)


def _is_in(node: Node, *types: str) -> bool:
    """Return whether a node is in one of some types."""
    return any(each.type in types for each in ancestors(node))


@functools.lru_cache(maxsize=32)
def _initialised(scope: Node) -> tuple[tuple[Node, dict[str, Node]], ...]:
    """Return the declarations of a function in order, with the initial values of their variables."""
    return tuple((each, dict(initializers(each))) for each in walk(scope) if each.type == "declaration")

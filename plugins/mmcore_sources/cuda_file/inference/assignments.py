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


def assigned_value(assignment: Node) -> Node:
    """Return the value that an assignment gives; that of ``n += 3`` is ``(n) + (3)``."""
    target, sign, value = assignment.children[:3]
    if text_of(sign) == "=":
        return value
    return parse_expression(f"({text_of(target)}) {text_of(sign)[:-1]} ({text_of(value)})")


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
    assignments = (each for each in walk(scope) if each.type == "assignment_expression")
    signs = ((each, text_of(each.children[1])) for each in assignments)
    return tuple(each for each, sign in signs if sign == "=" or (sign in _CHANGES and _runs_once(each)))


def _runs_once(node: Node) -> bool:
    """Return whether a statement is in no loop and no branch."""
    return not any(each.type in (*LOOPS, "if_statement", "switch_statement") for each in ancestors(node))


@functools.lru_cache(maxsize=32)
def _initialised(scope: Node) -> tuple[tuple[Node, dict[str, Node]], ...]:
    """Return the declarations of a function in order, with the initial values of their variables."""
    return tuple((each, dict(initializers(each))) for each in walk(scope) if each.type == "declaration")

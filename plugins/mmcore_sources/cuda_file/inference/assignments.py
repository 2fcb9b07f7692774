"""The values that the variables of a host function have before a line: declarations, assignments, and calls."""

from __future__ import annotations

import functools

from mmcore_cuda.cuda_source.tree import Node, initializers, text_of, walk


def is_set_by_call(scope: Node | None, name: str, line: int) -> bool:
    """Return whether a call gets a variable's address before a line, or a stream sets it; ``line`` 0: anywhere."""
    reads = _reads(scope) if scope is not None else ()
    return any(read == name and (not line or row < line) for row, read in reads)


def last_assignment(scope: Node | None, target: str, line: int) -> Node | None:
    """Return the last assignment to a variable or member before a line, or the last of all; None without one."""
    assignments = reversed(_assignments(scope) if scope is not None else ())
    return next((each for each in assignments if text_of(each.children[0]) == target and _is_before(each, line)), None)


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
    """Return the assignments of a function in order."""
    return tuple(
        each for each in walk(scope) if each.type == "assignment_expression" and text_of(each.children[1]) == "="
    )


@functools.lru_cache(maxsize=32)
def _initialised(scope: Node) -> tuple[tuple[Node, dict[str, Node]], ...]:
    """Return the declarations of a function in order, with the initial values of their variables."""
    return tuple((each, dict(initializers(each))) for each in walk(scope) if each.type == "declaration")

"""Loops of host code that count a variable up or down, as ``while (threads < k) threads *= 2;``."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from mmcore_cuda.cuda_source.tree import LOOPS, Node, ancestors, identifiers, initializers, walk
from mmcore_sources.cuda_file.inference.assignments import assigned_value, changed_name

_CHANGES = ("assignment_expression", "update_expression")
_BRANCHES = ("if_statement", "switch_statement", "conditional_expression")


def counting_loop(scope: Node | None, name: str, line: int, place: int = 0) -> Node | None:
    """Return the last loop that changes a variable by its former value, and ends above a line or before a place.

    None without one; a ``place`` of 0 stands for none.
    """
    loops = reversed(_loops(scope)) if scope is not None else ()
    ended = (each for each in loops if each.end_point.row + 1 < line or each.end_byte <= place)
    ended = (each for each in ended if not _declares(each, name))
    return next((each for each in ended if any(_counts(change) for change in _in_turns(each, name))), None)


def only_change(loop: Node, name: str) -> Node | None:
    """Return the change of a variable that each turn of a loop makes; None if it has several, or one in a branch."""
    changes = [*_in_turns(loop, name)]
    if len(changes) != 1:
        return None
    around = next((each for each in ancestors(changes[0]) if each.type in (*LOOPS, *_BRANCHES)), None)
    return changes[0] if around is not None and around.id == loop.id else None


@functools.lru_cache(maxsize=32)
def _loops(scope: Node) -> tuple[Node, ...]:
    return tuple(each for each in walk(scope) if each.type in LOOPS)


def _declares(loop: Node, name: str) -> bool:
    """Return whether a loop has a variable of its own with a name."""
    declared = (each for each in walk(loop) if each.type == "declaration")
    return any(name in dict(initializers(each)) for each in declared)


def changes_of(node: Node, name: str) -> Iterator[Node]:
    """Yield the changes of a variable in a node."""
    return (each for each in walk(node) if each.type in _CHANGES and changed_name(each) == name)


def _in_turns(loop: Node, name: str) -> Iterator[Node]:
    """Yield the changes of a variable in a loop, but for what its head sets before the first turn."""
    first = loop.child_by_field_name("initializer")
    end = first.end_byte if first is not None else loop.start_byte
    return (each for each in changes_of(loop, name) if each.start_byte >= end)


def _counts(change: Node) -> bool:
    """Return whether a change depends on the former value of its variable."""
    return changed_name(change) in identifiers(assigned_value(change))

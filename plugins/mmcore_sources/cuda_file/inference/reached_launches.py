"""The launches that a program reaches: its constants decide the branches around them, as ``if (block_size == 16)``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import Node, identifiers, initializers, text_of, walk
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.conditions import condition_of, leaves
from mmcore_sources.cuda_file.inference.host_calls import calls_of, parameter_names, passed
from mmcore_sources.cuda_file.inference.host_code import Reader

_DEEPEST = 8
_CHANGES = ("=", "+=", "-=", "*=", "/=", "<<=", ">>=", "%=")


def reached(source: Program, launches: Iterable[HostLaunch]) -> list[HostLaunch]:
    """Return the launches that constants do not exclude, those first whose conditions hold for the initial values.

    The call that reaches a launch becomes that of its function. All launches are returned if none is left.
    """
    every = list(launches)
    likely, others = list[HostLaunch](), list[HostLaunch]()
    for launch in every:
        outcomes = [(each, _outcome(source, launch, each)) for each in _calls(launch)]
        allowed = [(each, outcome) for each, outcome in outcomes if outcome is not False]
        if not allowed:
            continue
        call, outcome = next((each for each in allowed if each[1]), allowed[0])
        changed = launch if call is outcomes[0][0] else replace(launch, call=call)
        (likely if outcome else others).append(changed)
    return [*likely, *others] or every


def by_calls(source: Program, launches: Iterable[HostLaunch]) -> list[HostLaunch]:
    """Return each launch once for each call of its function by which constants do not exclude it."""
    pairs = ((launch, call) for launch in launches for call in _calls(replace(launch, call=None)))
    return [replace(launch, call=call) for launch, call in pairs if _outcome(source, launch, call) is not False]


def _calls(launch: HostLaunch) -> tuple[Node | None, ...]:
    calls = calls_of(launch.scope) if launch.scope.type == "function_definition" else ()
    return (launch.call,) if launch.call is not None else calls or (None,)


def _outcome(source: Program, launch: HostLaunch, call: Node | None) -> bool | None:
    """Return whether a call reaches a launch; None if that is open, and the values that can be read exclude it."""
    outcome: bool | None = True
    for condition, holds in _conditions(next(iter((*launch.geometry, *launch.arguments)), launch.scope)):
        reader = Reader(source, {}, launch.scope, condition[0].start_point.row + 1, call)
        try:
            agrees = any(_holds(reader, condition)) == holds
        except Unreadable:
            continue
        if not agrees and all(_is_settled(launch.scope, each, call) for each in condition):
            return False
        outcome = outcome if agrees else None
    return outcome


def _holds(reader: Reader, condition: tuple[Node, ...]) -> Iterator[bool]:
    """Yield whether a condition holds, or whether the first expression is equal to each of the others."""
    if len(condition) == 1:
        yield reader.holds(condition[0])
        return
    selected, *cases = (reader.whole(each) for each in condition)
    if selected is None or None in cases:
        raise Unreadable(text_of(condition[0]))
    yield from (selected == each for each in cases)


def _conditions(node: Node) -> Iterator[tuple[tuple[Node, ...], bool]]:
    """Yield the conditions around a node, or what a ``switch`` compares, and whether they hold there.

    A branch that leaves the function before the node does not hold.
    """
    while (above := node.parent) is not None and node.type != "function_definition":
        condition = condition_of(above)
        if above.type == "if_statement" and condition is not None and node != above.child_by_field_name("condition"):
            yield (condition,), node == above.child_by_field_name("consequence")
        elif above.type == "case_statement" and above.parent is not None and above.parent.parent is not None:
            value, selected = above.child_by_field_name("value"), condition_of(above.parent.parent)
            if selected is not None and value is not None:
                yield (selected, value), True
            elif selected is not None:
                cases = (each.child_by_field_name("value") for each in above.parent.named_children)
                yield (selected, *(each for each in cases if each is not None)), False
        elif above.type == "compound_statement":
            for before in (each for each in above.named_children if each.end_byte <= node.start_byte):
                then, left = before.child_by_field_name("consequence"), condition_of(before)
                if before.type == "if_statement" and then is not None and left is not None and _always_leaves(then):
                    yield (left,), False
        node = above


def _always_leaves(branch: Node) -> bool:
    """Return whether the last statement of a branch leaves its function."""
    last = branch.named_children[-1] if branch.type == "compound_statement" and branch.named_children else branch
    return last.type in ("return_statement", "throw_statement", "expression_statement") and leaves(last)


def _is_settled(scope: Node | None, node: Node, call: Node | None, depth: int = 0) -> bool:
    """Return whether each name in an expression has only one value in a program, which is no input."""
    if any(each.type in ("call_expression", "field_expression", "subscript_expression") for each in walk(node)):
        return False
    if scope is None:
        return True
    for name in {*identifiers(node)}:
        values = _values(scope, name)
        if name in parameter_names(scope):
            argument = passed(scope, name, call)
            several = call is None and len(calls_of(scope)) != 1
            if values or several or argument is None or depth > _DEEPEST:
                return False
            if not _is_settled(argument.scope, argument.value, None, depth + 1):
                return False
        elif len(values) > 1 or not all(_is_settled(scope, each, call, depth + 1) for each in values):
            return False
    return depth <= _DEEPEST


def _values(scope: Node, name: str) -> list[Node]:
    """Return the values that a function sets a variable to; other changes count as calls."""
    found = list[Node]()
    for node in walk(scope):
        if node.type == "declaration":
            found += [value for declared, value in initializers(node) if declared == name]
        elif node.type == "assignment_expression" and text_of(node.children[1]) in _CHANGES:
            found += [node, node] if text_of(node.children[0]) == name else []
        elif node.type in ("update_expression", "pointer_expression") and name in identifiers(node):
            found += [node, node]
    return found


def variables_of(source: Program, launch: HostLaunch, parameter: str, number: int) -> set[str]:
    """Return the host's variables that have the number of a template's parameter.

    They have its name, or are compared around the launch, as ``if (block_size == 16) f<16><<<…>>>(…)``.
    """
    node = next(iter((*launch.geometry, *launch.arguments)), launch.scope)
    compared = {name for condition, _ in _conditions(node) for each in condition for name in identifiers(each)}
    named = {each for each in identifiers(launch.scope) if _plain(each) == _plain(parameter)}
    reader = Reader.of(source, launch, {})
    fixed = source.macros.keys() | source.constants.keys()
    return {name for name in (compared | named) - fixed if reader.whole(name) == number}


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()

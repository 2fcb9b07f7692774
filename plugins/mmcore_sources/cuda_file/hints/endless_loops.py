"""Loops of a kernel that never end, since their condition does not change, not towards their end, or is always met."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mmcore_cuda.cuda_source.tree import LOOPS, Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.hints.unsigned_conditions import always_met
from mmcore_sources.cuda_file.repairs.edits import device_functions

_LEAVE = ("break_statement", "return_statement", "goto_statement", "gnu_asm_expression")
_UNKNOWN = ("call_expression", "subscript_expression", "pointer_expression", "template_function")
_NUMBER = re.compile(r"\d+\.?\d*[uUlLfF]*")
_STAYS, _GROWS, _SHRINKS, _OTHER = "stays", "grows", "shrinks", "other"
_CONSTANTS = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def endless_loop(text: str, entry: str, lines: Iterable[int]) -> str:
    """Return the innermost loop around any of the lines that never ends, in a clause; "" without one.

    A loop may end if it has a way out, or if its condition reads memory, calls a function, or changes.
    """
    wanted = {*lines}
    found = [
        (loop.end_point.row - loop.start_point.row, clause)
        for function in device_functions(text, entry)
        for loop in walk(function)
        if loop.type in LOOPS and wanted & {*range(loop.start_point.row + 1, loop.end_point.row + 2)}
        if (clause := _endless(loop, function))
    ]
    return min(found, default=(0, ""))[1]


def _endless(loop: Node, function: Node) -> str:
    """Return why a loop never ends, as a clause; "" if it may end."""
    condition = loop.child_by_field_name("condition")
    first = loop.child_by_field_name("initializer")
    inside = [node for each in loop.children if first is None or each.id != first.id for node in walk(each)]
    if any(node.type in _LEAVE for node in inside):
        return ""
    place = f"the loop in line {loop.start_point.row + 1} never ends"
    if condition is None:
        return f"{place}: it has no condition and no break"
    if why := always_met(condition, function):
        return f"{place}, since {why}"
    parts = [*walk(condition)]
    names = [name for name in dict.fromkeys(identifiers(condition)) if name not in _CONSTANTS]
    if any(node.type in _UNKNOWN for node in parts):
        return ""
    if not names:
        return f"{place}: its condition is always {text_of(condition).strip('()')}" if "true" in _types(parts) else ""
    changes = [change for change in _changes(inside, function) if change[0] in names and change[1] != _STAYS]
    own = [name for name in names if _is_local(name, function)]
    if own and not changes:
        return f"{place}, since {own[0]} does not change in it"
    name, until = _until(condition)
    if name in own and changes and all(change == (name, until) for change in changes):
        return f"{place}, since {name} only {until} in it"
    return ""


def _until(condition: Node) -> tuple[str, str]:
    """Return the variable left of a comparison, and the change that keeps it true; empty for another condition."""
    parts = [node for node in condition.named_children if node.type == "binary_expression"]
    comparison = condition if condition.type == "binary_expression" else parts[0] if len(parts) == 1 else None
    if comparison is None or comparison.children[0].type != "identifier":
        return "", ""
    return text_of(comparison.children[0]), {"<": _SHRINKS, ">": _GROWS}.get(text_of(comparison.children[1])[0], "")


def _types(nodes: Iterable[Node]) -> set[str]:
    return {node.type for node in nodes}


def _changes(inside: Iterable[Node], function: Node) -> Iterator[tuple[str, str]]:
    """Yield the variables that may change in a loop, and how.

    They are assigned or passed there, or change through a lambda or an address.
    """
    for node in inside:
        if node.type in ("assignment_expression", "update_expression"):
            changed = node.children[0] if node.type == "assignment_expression" else node
            yield from ((name, _change(node)) for name in identifiers(changed)[:1])
        elif node.type in ("argument_list", "ERROR"):
            yield from ((text_of(each), _OTHER) for each in node.named_children if each.type == "identifier")
    for node in walk(function):
        if node.type in ("lambda_expression", "reference_declarator"):
            whole = node if node.type == "lambda_expression" or node.parent is None else node.parent
            yield from ((name, _OTHER) for name in identifiers(whole))
        elif node.type == "pointer_expression" and text_of(node).startswith("&"):
            yield from ((name, _OTHER) for name in identifiers(node))


def _change(node: Node) -> str:
    """Return how a variable changes by an assignment or an update."""
    if node.type == "update_expression":
        return _GROWS if "++" in text_of(node) else _SHRINKS
    left, sign, right = map(text_of, node.children)
    if not _NUMBER.fullmatch(right):
        return _STAYS if sign == "=" and left == right else _OTHER
    number = float(right.rstrip("uUlLfF"))
    if sign in ("+=", "-="):
        return _STAYS if number == 0 else _GROWS if sign == "+=" else _SHRINKS
    return _STAYS if sign in ("*=", "/=") and number == 1 else _OTHER


def _is_local(name: str, function: Node) -> bool:
    """Return True if a variable belongs to one thread, which alone changes it."""
    declared = [node for node in walk(function) if node.type == "declaration" and name in _declared(node)]
    return bool(declared) and not any(
        re.search(r"\b(__shared__|volatile|extern)\b", text_of(each)) for each in declared
    )


def _declared(declaration: Node) -> Iterator[str]:
    for each in declaration.children_by_field_name("declarator"):
        yield from identifiers(each)[:1]

"""Loops of a kernel that never end, since nothing in their condition changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.repairs.edits import device_functions

_LOOPS = ("for_statement", "while_statement", "do_statement")
_LEAVE = ("break_statement", "return_statement", "goto_statement", "gnu_asm_expression")
_UNKNOWN = ("call_expression", "subscript_expression", "pointer_expression", "template_function")
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
        if loop.type in _LOOPS and wanted & {*range(loop.start_point.row + 1, loop.end_point.row + 2)}
        if (clause := _endless(loop, function))
    ]
    return min(found, default=(0, ""))[1]


def _endless(loop: Node, function: Node) -> str:
    """Return why a loop never ends, as a clause; "" if it may end."""
    condition = loop.child_by_field_name("condition")
    inside = [*walk(loop)]
    if any(node.type in _LEAVE for node in inside):
        return ""
    place = f"the loop in line {loop.start_point.row + 1} never ends"
    if condition is None:
        return f"{place}: it has no condition and no break"
    parts = [*walk(condition)]
    names = [name for name in dict.fromkeys(identifiers(condition)) if name not in _CONSTANTS]
    if any(node.type in _UNKNOWN for node in parts) or {*names} & {*_changed(inside, function)}:
        return ""
    if not names:
        return f"{place}: its condition is always {text_of(condition).strip('()')}" if "true" in _types(parts) else ""
    own = [name for name in names if _is_local(name, function)]
    return f"{place}, since {own[0]} does not change in it" if own else ""


def _types(nodes: Iterable[Node]) -> set[str]:
    return {node.type for node in nodes}


def _changed(inside: Iterable[Node], function: Node) -> Iterator[str]:
    """Yield the variables that may change in a loop: assigned or passed there, or through a lambda or an address."""
    for node in inside:
        if node.type in ("assignment_expression", "update_expression"):
            yield from identifiers(node.children[0] if node.type == "assignment_expression" else node)[:1]
        elif node.type in ("argument_list", "ERROR"):
            yield from (text_of(each) for each in node.named_children if each.type == "identifier")
    for node in walk(function):
        if node.type in ("lambda_expression", "reference_declarator"):
            yield from identifiers(node if node.type == "lambda_expression" or node.parent is None else node.parent)
        elif node.type == "pointer_expression" and text_of(node).startswith("&"):
            yield from identifiers(node)


def _is_local(name: str, function: Node) -> bool:
    """Return True if a variable belongs to one thread, which alone changes it."""
    declared = [node for node in walk(function) if node.type == "declaration" and name in _declared(node)]
    return bool(declared) and not any(
        re.search(r"\b(__shared__|volatile|extern)\b", text_of(each)) for each in declared
    )


def _declared(declaration: Node) -> Iterator[str]:
    for each in declaration.children_by_field_name("declarator"):
        yield from identifiers(each)[:1]

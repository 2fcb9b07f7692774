"""The values of a host's ``dim3`` variables: declared, assigned, or set by a function that is called with them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mmcore_cuda.cuda_source.tree import Node, root_of, text_of, walk
from mmcore_sources.cuda_file.inference.extrema import limit
from mmcore_sources.cuda_file.inference.host_calls import arguments_of, called_function, parameter_names


@dataclass(frozen=True)
class Definition:
    """The last value of a variable before a line: an expression, or a parameter that a called function sets."""

    value: Node | None
    function: Node | None = None
    parameter: str = ""
    call: Node | None = None


def definition(scope: Node, name: str, line: int) -> Definition | None:
    """Return the last definition of a ``dim3`` variable of a host function before a line; 0 stands for the end."""
    found = None
    for node in walk(scope):
        if not line or node.start_point.row < line:
            found = next(_definitions(node, name), found)
    return found


def definition_in_file(scope: Node, name: str) -> Definition | None:
    """Return the definition of a ``dim3`` outside the functions of the file that contains a host function."""
    return next((each for node in root_of(scope).named_children for each in _definitions(node, name)), None)


def component(scope: Node, name: str, axis: str, line: int) -> Node | None:
    """Return the value that a host function assigns to ``name.x`` or ``name->x`` before a line, except as a limit."""
    found = None
    for node in walk(scope):
        if node.type == "assignment_expression" and (not line or node.start_point.row < line):
            target, sign = map(text_of, node.children[:2])
            sets = sign == "=" and target in (f"{name}.{axis}", f"{name}->{axis}") and not limit(node)
            found = node.children[2] if sets else found
    return found


def _definitions(node: Node, name: str) -> Iterator[Definition]:
    of_type = node.child_by_field_name("type") if node.type == "declaration" else None
    if of_type is not None and text_of(of_type) in ("dim3", "auto"):
        for child in node.named_children:
            declared = child.child_by_field_name("declarator")
            if child.type == "identifier" and text_of(child) == name:
                yield Definition(None)
            elif declared is not None and text_of(declared) == name:
                value = child.child_by_field_name("parameters") or child.child_by_field_name("value")
                yield Definition(value)
    elif node.type == "assignment_expression" and text_of(node.children[1]) == "=":
        if text_of(node.children[0]) in (name, f"*{name}", f"(*{name})"):
            yield Definition(node.children[2])
    elif node.type == "call_expression":
        yield from _set_by(node, name, "dim3")


def number_set_by_call(scope: Node, name: str, line: int) -> Definition | None:
    """Return the last call before a line whose function sets a variable, which it gets the address of; None without.

    The variable is no ``dim3``. None if it is assigned after the call.
    """
    found = None
    for row, node in _setting(scope):
        if not line or row < line:
            found = None if node.type == "assignment_expression" and text_of(node.children[0]) == name else found
            found = next(_set_by(node, name, ""), found) if node.type == "call_expression" else found
    return found


@functools.lru_cache(maxsize=32)
def _setting(scope: Node) -> tuple[tuple[int, Node], ...]:
    """Return the calls and assignments of a function, with their rows."""
    kinds = ("call_expression", "assignment_expression")
    return tuple((each.start_point.row, each) for each in walk(scope) if each.type in kinds)


def _set_by(call: Node, name: str, of_type: str) -> Iterator[Definition]:
    """Yield the definition of a variable by a call of a host function that sets the parameter which refers to it."""
    places = [text_of(each) for each in arguments_of(call)]
    place = next((places.index(each) for each in (name, f"&{name}") if each in places), None)
    function = called_function(call) if place is not None else None
    if place is not None and function is not None and _sets(function, place, of_type):
        yield Definition(None, function, parameter_names(function)[place], call)


def _sets(function: Node, place: int, of_type: str) -> bool:
    """Return whether a host function assigns to a parameter that refers to a variable of its caller."""
    declarator = next((each for each in walk(function) if each.type == "function_declarator"), None)
    parameters = None if declarator is None else declarator.child_by_field_name("parameters")
    listed = [] if parameters is None else [text_of(each) for each in parameters.named_children]
    if place >= len(listed) or not listed[place].startswith(of_type) or not re.search("[&*]", listed[place]):
        return False
    name = parameter_names(function)[place]
    assigned = (text_of(each.children[0]) for each in walk(function) if each.type == "assignment_expression")
    return any(re.fullmatch(rf"\(?\*?{re.escape(name)}\)?((?:\.|->)\w+)?", each) for each in assigned)

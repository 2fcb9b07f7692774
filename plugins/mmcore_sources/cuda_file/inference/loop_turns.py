"""The turns of a host function's loop, as over a list of sizes: the values of its variable, and of array elements."""

from __future__ import annotations

import ast
import contextlib
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from mmcore_cuda.cuda_source.tree import Node, children_without_comments, initializers, root_of, text_of, walk
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.host_code import Reader

Names = dict[str, ast.expr]
_MOST, _UNKNOWN = 256, 8  # turns, and those of a loop whose end is unknown
_UPDATES: Mapping[str, Callable[[int, int], int]] = {
    "+=": operator.add,
    "-=": operator.sub,
    "*=": operator.mul,
    "/=": operator.floordiv,
    "<<=": operator.lshift,
    ">>=": operator.rshift,
    "=": lambda _, value: value,
}


def turns(loop: Node, reader: Reader) -> list[Names]:
    """Return the values of names in each turn of a loop; one turn without names if its variable is unknown."""
    found = _of_range(loop, reader) if loop.type == "for_range_loop" else _of_counter(loop, reader)
    return found or [{}]


def _of_range(loop: Node, reader: Reader) -> list[Names]:
    declarator, right = (loop.child_by_field_name(each) for each in ("declarator", "right"))
    if declarator is None or right is None:
        return []
    name = text_of(declarator).lstrip("*& ")
    listed = children_without_comments(right) if right.type == "initializer_list" else []
    members, elements = ([], listed) if listed else _arrays(loop).get(text_of(right), ([], []))
    return [_of_element(name, each, members, reader) for each in elements[:_MOST]]


def _of_counter(loop: Node, reader: Reader) -> list[Names]:
    start, condition, update = (loop.child_by_field_name(each) for each in ("initializer", "condition", "update"))
    if start is None or condition is None or update is None:
        return []
    declared = list(initializers(start)) if start.type == "declaration" else []
    if start.type == "assignment_expression":
        declared = [(text_of(start.children[0]), start.children[2])]
    if len(declared) != 1 or (value := reader.whole(declared[0][1])) is None:
        return []
    name, found = declared[0][0], list[Names]()
    arrays = {array: each for array, each in _arrays(loop).items() if f"{array}[{name}]" in text_of(loop)}
    length = min((len(elements) for _, elements in arrays.values()), default=_UNKNOWN)
    while len(found) < _MOST:
        within = replace(reader, names={**reader.names, name: ast.Constant(value)})
        try:
            if not within.holds(condition):
                break
        except Unreadable:  # such as sizes.size()
            if len(found) >= length:
                break
        found.append({name: ast.Constant(value), **_elements(loop, name, value, arrays, within)})
        following = _updated(update, name, value, within)
        if following is None:  # any number may follow
            found.append({name: ast.Constant(value + 1)})
        if following is None or following == value:
            break
        value = following
    return found


def _updated(update: Node, name: str, value: int, reader: Reader) -> int | None:
    """Return the value of a loop's variable after an update; None if it is unknown."""
    if update.type == "update_expression":
        return value + (1 if "++" in text_of(update) else -1)
    if update.type != "assignment_expression" or text_of(update.children[0]) != name:
        return None
    operate, right = _UPDATES.get(text_of(update.children[1])), reader.whole(update.children[2])
    with contextlib.suppress(ArithmeticError, ValueError):
        return operate(value, right) if operate is not None and right is not None else None
    return None


def _elements(
    loop: Node, index: str, value: int, arrays: Mapping[str, tuple[list[str], list[Node]]], reader: Reader
) -> Names:
    """Return the elements with a loop's index, such as ``sizes[i]``, and the variables that are one of them."""
    found, several = Names(), {name: each for name, each in arrays.items() if 0 <= value < len(each[1])}
    for name, (members, elements) in several.items():
        found |= _of_element(f"{name}[{index}]", elements[value], members, reader)
    for node in walk(loop):
        for variable, initial in initializers(node) if node.type == "declaration" else ():
            if (array := text_of(initial).partition("[")[0]) in several and text_of(initial) == f"{array}[{index}]":
                found |= _of_element(variable, several[array][1][value], several[array][0], reader)
    return found


def _of_element(name: str, element: Node, members: list[str], reader: Reader) -> Names:
    """Return the values of an element of an array by name: its own, or those of its members or elements."""
    parts = {name: element}
    if element.type == "initializer_list":
        listed = children_without_comments(element)
        parts = {f"{name}[{position}]": each for position, each in enumerate(listed)}
        parts |= {f"{name}.{member}": each for member, each in zip(members, listed, strict=False)}
    numbers = ((each, reader.whole(value)) for each, value in parts.items())
    return {each: ast.Constant(number) for each, number in numbers if number is not None}


def _arrays(loop: Node) -> dict[str, tuple[list[str], list[Node]]]:
    """Return the members of the elements and the elements of the arrays with initial values in a file, by name."""
    found = dict[str, tuple[list[str], list[Node]]]()
    structures = {name: fields for node in walk(root_of(loop)) for name, fields in _structure(node)}
    for node in (each for each in walk(root_of(loop)) if each.type == "declaration"):
        type_ = node.child_by_field_name("type")
        members = [] if type_ is None else [field for _, fields in _structure(type_) for field in fields]
        named = "" if type_ is None else text_of(type_).removeprefix("struct ").rstrip("> ").rpartition("<")[2]
        for declared, value in initializers(node):
            if value.type == "initializer_list":
                name = declared.partition("[")[0]
                found[name] = (members or structures.get(named, []), children_without_comments(value))
    return found


def _structure(node: Node) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the members of the structure that a node defines."""
    body = node.child_by_field_name("body") if node.type == "struct_specifier" else None
    if body is not None:
        name = node.child_by_field_name("name")
        fields = [text_of(each) for each in walk(body) if each.type == "field_identifier"]
        yield "" if name is None else text_of(name), fields

"""The members of a host class whose function launches a kernel: their initial values, and those that others assign."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mmcore_cuda.cuda_source.tree import Node, root_of, text_of, walk
from mmcore_sources.cuda_file.inference.host_calls import functions_of

_CLASSES = ("class_specifier", "struct_specifier")


class MemberValue(NamedTuple):
    """The value of a member, the function that sets it, if one does, and the members that its parameters are."""

    value: Node
    function: Node | None
    members: dict[str, str]


def member_value(scope: Node, name: str) -> MemberValue | None:
    """Return the value of a member of the class of a host function; None without one."""
    word = class_of(scope)
    functions = [each for each in functions_of(root_of(scope)) if word and class_of(each) == word]
    for function in sorted(functions, key=lambda each: not _is_constructor(each, word)):
        for member, value in set_members(function):
            if member == name:
                members = {text_of(passed).strip("()"): target for target, passed in set_members(function)}
                return MemberValue(value, function, members)
    for node in walk(root_of(scope)) if word else ():
        if node.type == "field_declaration" and _class_around(node) == word:
            declared = ""
            for position, child in enumerate(node.children):
                field = node.field_name_for_child(position)
                declared = text_of(child) if field == "declarator" else declared
                if field == "default_value" and declared == name:
                    return MemberValue(child, None, {})
    return None


def class_of(function: Node) -> str:
    """Return the name of the class that a function is a member of; empty for another function."""
    word, qualified, _ = _name(function).rpartition("::")
    return word.rpartition("::")[2] if qualified else _class_around(function)


def constructors_of(scope: Node) -> list[Node]:
    """Return the constructors of the class of a host function; none without a class."""
    word = class_of(scope)
    functions = (each for each in functions_of(root_of(scope)) if word and class_of(each) == word)
    return [each for each in functions if _is_constructor(each, word)]


def set_members(function: Node) -> Iterator[tuple[str, Node]]:
    """Yield the names and values that a function's initialisers and assignments set."""
    for node in walk(function):
        if node.type == "field_initializer" and len(node.named_children) == 2:
            yield text_of(node.named_children[0]), node.named_children[1]
        elif node.type == "assignment_expression" and text_of(node.children[1]) == "=":
            yield text_of(node.children[0]).removeprefix("this->"), node.children[2]


def _is_constructor(function: Node, word: str) -> bool:
    return _name(function).rpartition("::")[2] == word


def _name(function: Node) -> str:
    declarator = function.child_by_field_name("declarator")
    return "" if declarator is None else text_of(declarator).partition("(")[0].strip("*& ")


def _class_around(node: Node) -> str:
    above = node.parent
    while above is not None and above.type not in (*_CLASSES, "function_definition"):
        above = above.parent
    name = above.child_by_field_name("name") if above is not None and above.type in _CLASSES else None
    return "" if name is None else text_of(name)

"""The objects that a file's host code constructs: their class, and the arguments of its constructor."""

from __future__ import annotations

import re

from mmcore_cuda.cuda_source.tree import Node, ancestors, text_of

_DECLARATORS = ("init_declarator", "function_declarator")
_LISTS = ("argument_list", "initializer_list")
_POINTER = re.compile(r"(?:std::)?make_(?:unique|shared)<(.*)>", re.DOTALL)


def constructed_class(node: Node) -> str:
    """Return the class that a variable, ``new`` or ``std::make_unique`` constructs; empty for other nodes."""
    if node.type == "call_expression":
        pointer = _POINTER.fullmatch(text_of(node.children[0]))
        return "" if pointer is None else _word(pointer[1])
    of_type = None
    if node.type == "new_expression":
        of_type = node.child_by_field_name("type")
    elif node.type in _DECLARATORS and node.parent is not None and node.parent.type == "declaration":
        declares = arguments_of_construction(node) is not None
        of_type = node.parent.child_by_field_name("type") if declares else None
    return "" if of_type is None else _word(text_of(of_type))


def arguments_of_construction(node: Node) -> Node | None:
    """Return the list of arguments of a construction; None for other nodes.

    A variable whose arguments are names looks like the declaration of a function.
    """
    if node.type == "function_declarator" and any(each.type == "function_definition" for each in ancestors(node)):
        return node.child_by_field_name("parameters")
    listed = node.child_by_field_name("arguments" if node.type == "new_expression" else "value")
    return listed if listed is not None and listed.type in _LISTS else None


def _word(text: str) -> str:
    """Return the name of a class without its namespaces and template's arguments."""
    return text.partition("<")[0].rpartition("::")[2].strip()

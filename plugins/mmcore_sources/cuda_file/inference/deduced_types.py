"""Element types of a template that a launch or a call leaves to the types of its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import Node, identifiers, initializers, text_of, walk
from mmcore_sources.cuda_file.inference.host_calls import arguments_of, calls_of, enclosing_function, parameter_names

_WORD = re.compile(r"\w+")
_DECLARES = ("declaration", "parameter_declaration")
_MOST_CALLS = 8


def deduced_type(name: str, function: Function, launch: HostLaunch, aliases: Mapping[str, str]) -> list[str]:
    """Return the words of the type that a launch's argument shows for ``name``; empty if it is unknown.

    The argument is for a pointer to elements of that type, or for a structure such as ``Matrix<T>``. ``aliases`` are
    the types that the source gives other names.
    """
    for parameter, argument in zip(function.parameters, launch.arguments, strict=False):
        types = arguments_of_type(parameter.type)
        position = types.index(name) if name in types else None
        if position is None and not (parameter.pointer and parameter.type == name):
            continue
        written = [aliases.get(each, each) for each in _types_of(argument, launch.scope, 0)]
        parts = [each if position is None else _part(each, position) for each in written]
        if words := [word for each in parts for word in _WORD.findall(each)]:
            return words
    return []


def arguments_of_type(text: str) -> list[str]:
    """Return the types that an instance of a structure is made of, without const; none of another type."""
    listed = text.partition("<")[2].rpartition(">")[0]
    return [each.strip().removeprefix("const ") for each in listed.split(",")] if listed else []


def _part(text: str, position: int) -> str:
    """Return the type at a position of an instance; empty if it has none there."""
    return next(iter(arguments_of_type(text)[position:]), "")


def _types_of(argument: Node, scope: Node | None, depth: int) -> list[str]:
    """Return the declared type of what an argument names.

    The type of a parameter may be one that the template of the host function leaves open, too; the types of what its
    calls pass follow.
    """
    if scope is None or depth > _MOST_CALLS:
        return []
    types, named = declared_types(argument, scope), {*identifiers(argument)}
    parameters = parameter_names(scope) if types and scope.type == "function_definition" else []
    position = next((place for place, each in enumerate(parameters) if each in named), None)
    if position is None:
        return types
    for call in calls_of(scope):
        given = arguments_of(call)
        if position < len(given) and (of_call := _types_of(given[position], enclosing_function(call), depth + 1)):
            return [*types, *of_call]
    return types


def declared_types(argument: Node, scope: Node) -> list[str]:
    """Return the type with which a function declares what an expression names; of ``auto``, the initial value."""
    named = {*identifiers(argument)}
    for node in walk(scope):
        type_ = node.child_by_field_name("type") if node.type in _DECLARES else None
        declared = {each for part in node.children_by_field_name("declarator") for each in identifiers(part)}
        if type_ is not None and named & declared:
            if "auto" not in text_of(type_).split():
                return [text_of(type_)]
            return [text_of(value) for name, value in initializers(node) if name in named]
    return []

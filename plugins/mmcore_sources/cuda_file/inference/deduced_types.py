"""Element types of a template that a launch or a call leaves to the types of its arguments."""

from __future__ import annotations

import re

from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.inference.host_calls import arguments_of, calls_of, enclosing_function, parameter_names

_WORD = re.compile(r"\w+")
_DECLARES = ("declaration", "parameter_declaration")
_MOST_CALLS = 8


def deduced_type(name: str, function: Function, launch: HostLaunch) -> list[str]:
    """Return the words of the type that a launch's argument for a pointer to ``name`` has; empty if it is unknown."""
    for parameter, argument in zip(function.parameters, launch.arguments, strict=False):
        if parameter.pointer and parameter.type == name and (words := _type_of(argument, launch.scope, 0)):
            return words
    return []


def _type_of(argument: Node, scope: Node | None, depth: int) -> list[str]:
    """Return the words of the declared type of what an argument names."""
    if scope is None or depth > _MOST_CALLS:
        return []
    named = {*identifiers(argument)}
    for node in walk(scope):
        type_ = node.child_by_field_name("type") if node.type in _DECLARES else None
        declared = {each for part in node.children_by_field_name("declarator") for each in identifiers(part)}
        if type_ is None or not named & declared:
            continue
        words = _WORD.findall(text_of(type_))
        parameters = parameter_names(scope) if scope.type == "function_definition" else []
        position = next((place for place, each in enumerate(parameters) if each in named), None)
        if position is None:
            return words
        # The type of a parameter may be one that the template of the host function leaves open, too.
        for call in calls_of(scope):
            given = arguments_of(call)
            if position < len(given) and (of_call := _type_of(given[position], enclosing_function(call), depth + 1)):
                return [*words, *of_call]
        return words
    return []

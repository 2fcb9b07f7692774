"""The launches of a kernel in a file's host code."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.structures import owners
from mmcore_cuda.cuda_source.template_arguments import template_arguments
from mmcore_cuda.cuda_source.tree import Node, initializers, text_of, walk
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.class_types import type_name
from mmcore_sources.cuda_file.inference.host_calls import arguments_of, calls_of, enclosing_function, parameter_names
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.reached_launches import by_calls, reached
from mmcore_sources.cuda_file.inference.structure_values import with_members


def first_launch(source: Program, function: Function) -> HostLaunch | None:
    """Return the first launch of a function that its program reaches and whose block and grid can be read."""
    launches = reached(source, launches_of(source, function))
    return next((each for each in launches if _is_readable(source, each)), launches[0] if launches else None)


def launch_of_instance(
    source: Program, function: Function, instance: Sequence[str], parameters: Mapping[str, Any]
) -> HostLaunch | None:
    """Return the first launch of an instance of a template, by its arguments or by parameters that the user gives.

    None if neither is given, or without such a launch.
    """
    names = [each.name for each in function.template]
    asked = dict(zip(names, (_value(Reader(source), text) for text in instance), strict=False))
    asked |= {name: value for name, value in parameters.items() if name in names}
    every = list(launches_of(source, function)) if asked else []
    for each in [*reached(source, every), *by_calls(source, every), *every]:
        reader = Reader.of(source, each, {})
        values = dict(zip(names, (_value(reader, text) for text in each.template), strict=False))
        if asked.items() <= values.items():
            return each
    return None


def _value(reader: Reader, text: str) -> int | str:
    """Return the number that an argument of a template is; a type by its name in the file, or as it is written."""
    return type_name(reader, text) or text if (number := reader.whole(text)) is None else number


def _is_readable(source: Program, launch: HostLaunch) -> bool:
    """Return whether a launch's block and grid follow from the arguments of the kernel."""
    passed = {text_of(each): ast.Name("n") for each in launch.arguments if each.type == "identifier"}
    reader = Reader.of(source, launch, passed)
    try:
        return all(reader.extents(each) for each in launch.geometry[:2])
    except InvalidKernel:
        return False


def launches_of(source: Program, function: Function) -> Iterator[HostLaunch]:
    """Yield the launches of a kernel, with the members of the structures that they pass."""
    return (with_members(source, each, function) for each in _launches_of(source, function))


def _launches_of(source: Program, function: Function) -> Iterator[HostLaunch]:
    """Yield the launches of a kernel, also by another name: of a variable, or of a host function's parameter."""
    names = (function.name, function.word)
    for launch in source.launches if not function.line else filter(functools.partial(_fits, function), source.launches):
        if launch.name in names:
            yield launch
        elif (value := _variable(source, launch.scope, launch.name, launch.line)) and value.partition("<")[
            0
        ].strip() in names:
            yield _instance(launch, value)
        elif launch.scope.type == "function_definition" and launch.name in parameter_names(launch.scope):
            position = parameter_names(launch.scope).index(launch.name)
            for call in calls_of(launch.scope):
                given = _kernel_passed(source, call, position)
                if given.partition("<")[0].strip() in names:
                    yield replace(_instance(launch, given), call=call)


def _kernel_passed(source: Program, call: Node, position: int) -> str:
    """Return the kernel that a call passes, such as ``kernel<64>``, also by a variable; empty without this argument."""
    given = "".join(text_of(each).lstrip("&") for each in arguments_of(call)[position : position + 1])
    scope = enclosing_function(call)
    return (scope is not None and _variable(source, scope, given, call.start_point.row + 1)) or given


def _fits(function: Function, launch: HostLaunch) -> bool:
    """Return whether a launch may be that of one function of several of one name."""
    explicit = any(each.type not in ("typename", "class") and not each.default for each in function.template)
    templated = bool(function.template) if launch.template else not explicit
    passed = owners(function.parameters)
    required = [each for each in passed if not each[0].default]
    return templated and len(required) <= len(launch.arguments) <= len(passed)


def _variable(source: Program, scope: Node, name: str, line: int) -> str:
    """Return the value that a variable has before a line, such as ``kernel<64>``; empty without one."""
    values, reader = [], Reader(source, {}, scope, line)
    for node in (each for each in walk(scope) if each.start_point.row < line):
        if node.type == "declaration":
            # A pointer to a function is declared as "(*name)(float *, int)".
            pairs = ((declared.partition(")")[0].strip("(*& "), value) for declared, value in initializers(node))
            values += [text_of(_alternative(value, reader)) for declared, value in pairs if declared == name]
        elif node.type == "assignment_expression" and text_of(node.children[0]) == name:
            values.append(text_of(_alternative(node.children[2], reader)))
    return values[-1].lstrip("&") if values else ""


def _alternative(value: Node, reader: Reader) -> Node:
    """Return what constants choose of ``debug ? kernel<true> : kernel<false>``, else the last; others as they are."""
    if value.type != "conditional_expression":
        return value
    try:
        return value.children[2] if reader.holds(value.children[0]) else value.children[-1]
    except Unreadable:
        return value.children[-1]


def _instance(launch: HostLaunch, value: str) -> HostLaunch:
    """Return a launch of an instance of a kernel, such as ``kernel<64>``."""
    name, arguments = template_arguments(value)
    return replace(launch, name=name, template=tuple(arguments))

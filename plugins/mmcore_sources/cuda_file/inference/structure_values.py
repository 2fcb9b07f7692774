"""The values of a structure's members in host code: ``Dims{m, n, k}``, ``{.m = m}`` or ``make_int3(m, n, k)``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import Argument, Scalar, Struct, TensorMap, Workspace
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.parameters import Parameter
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.structures import owners
from mmcore_cuda.cuda_source.tree import Node, children_without_comments, initializers, text_of, walk
from mmcore_sources.cuda_file.inference.c_expressions import parse_expression

_LISTS = ("argument_list", "initializer_list")


def with_members(source: Program, launch: HostLaunch, function: Function) -> HostLaunch:
    """Return a launch that passes the members of structures, as the parameters of a function are."""
    arguments = list[Node]()
    for group, argument in zip(owners(function.parameters), launch.arguments, strict=False):
        names = [each.name.partition(".")[2] for each in group]
        arguments += _passed(source, launch, argument, names) if names[0] else [argument]
    return replace(launch, arguments=tuple(arguments))


def packed(arguments: Sequence[Argument], parameters: Sequence[Parameter]) -> tuple[Argument, ...]:
    """Return the arguments of unpacked parameters, with those of a structure's members in one structure."""
    packed, rest = list[Argument](), iter(arguments)
    for group in owners(parameters):
        passed = [next(rest) for _ in group]
        packed.append(Struct(tuple(map(_member, passed, group))) if "." in group[0].name else passed[0])
    return tuple(packed)


def _member(argument: Argument, parameter: Parameter) -> str | Scalar | Workspace | bytes:
    """Return the argument of a structure's member. Raises InvalidKernel for a tensor map."""
    if isinstance(argument, TensorMap | Struct):
        raise InvalidKernel(f"{parameter.name} is a {parameter.type} in a structure; take it as a parameter instead")
    return argument


def member_values(source: Program, value: Node) -> dict[str, Node]:
    """Return the values of members by name in an initial value of a structure; none of another value."""
    listed: Node | None = value
    if value.type in ("compound_literal_expression", "call_expression"):
        named = value.child_by_field_name("type") or value.child_by_field_name("function")
        listed = value.child_by_field_name("value") or value.child_by_field_name("arguments")
    else:
        declaration = value.parent.parent if value.parent is not None else None
        named = None if declaration is None else declaration.child_by_field_name("type")
    if named is None or listed is None or listed.type not in _LISTS:
        return {}
    members = [each.name for each in source.members(text_of(named).removeprefix("struct ").removeprefix("make_"))]
    return _by_name(listed, members)


def _by_name(listed: Node, members: Sequence[str]) -> dict[str, Node]:
    parts = children_without_comments(listed)
    if any(each.type == "initializer_pair" for each in parts):
        return {text_of(each.children[0]).lstrip("."): each.children[-1] for each in parts}
    return dict(zip(members, parts, strict=False))


def _passed(source: Program, launch: HostLaunch, argument: Node, members: Sequence[str]) -> Iterator[Node]:
    """Yield the expressions that a launch passes as members; those of a variable by the names that it gets."""
    values = _by_name(argument, members) if argument.type in _LISTS else member_values(source, argument)
    known = _known_values(source, launch, text_of(argument))
    for member in members:
        if member in values or (member in known and known[member].type == "identifier"):
            yield values.get(member) or known[member]
        else:
            yield parse_expression(f"{text_of(argument)}.{member}")


def _known_values(source: Program, launch: HostLaunch, name: str) -> dict[str, Node]:
    """Return the values that the members of a variable get before a launch in its function."""
    values = dict[str, Node]()
    for node in (each for each in walk(launch.scope) if each.start_point.row < launch.line):
        for variable, value in initializers(node) if node.type == "declaration" else ():
            values |= member_values(source, value) if variable == name else {}
        if node.type == "assignment_expression" and text_of(node.children[0]).startswith(f"{name}."):
            values[text_of(node.children[0]).partition(".")[2]] = node.children[2]
    return values

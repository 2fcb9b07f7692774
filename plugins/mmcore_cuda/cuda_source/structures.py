"""The members and names of a source's structures."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from mmcore_cuda.cuda_source.parameters import Parameter, is_const, parameter_of
from mmcore_cuda.cuda_source.tree import Node, children_without_comments, text_of, walk

# Members of a class that take no memory.
_NO_DATA = (
    *("comment", "access_specifier", "function_definition", "template_declaration", "alias_declaration"),
    *("friend_declaration", "static_assert_declaration", "using_declaration", "type_definition"),
)

_VECTOR = re.compile(r"(u?(?:char|short|int|longlong)|float|double)([1-4])")
_ELEMENTS = {"uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int",
             "longlong": "long long", "ulonglong": "unsigned long long"}  # fmt: skip
_MATRICES = 3


def members_of(node: Node) -> tuple[Parameter, ...]:
    """Return the numbers and pointers in a structure, which may have functions; none if it has other members."""
    body, members = node.child_by_field_name("body"), list[Parameter]()
    if any(each.type in ("base_class_clause", "virtual") for each in walk(node)):
        return ()
    for field in data_fields(body) if body is not None else ():
        written, declarators = field.child_by_field_name("type"), field.children_by_field_name("declarator")
        known = all(each.type in ("field_identifier", "pointer_declarator") for each in declarators)
        if field.type != "field_declaration" or written is None or not known:
            return ()
        members += [
            Parameter(
                text_of(each).split()[-1].lstrip("*"),
                text_of(written),
                each.type == "pointer_declarator",
                is_const(field),
            )
            for each in declarators
        ]
    return tuple(members)


def data_fields(body: Node) -> Iterator[Node]:
    """Yield the declarations in a structure's body except those that take no memory, such as functions."""
    for field in body.named_children:
        declares = field.child_by_field_name("declarator")
        while declares is not None and declares.type in ("reference_declarator", "pointer_declarator"):
            declares = declares.child_by_field_name("declarator") or next(iter(declares.named_children), None)
        function = declares is not None and declares.type == "function_declarator"
        static = any(text_of(each) == "static" for each in field.children)
        if field.type not in _NO_DATA and not function and not static:
            yield field


def members_of_instance(
    type_: str, structures: Mapping[str, tuple[Parameter, ...]], generic: Mapping[str, tuple[Parameter, ...]]
) -> tuple[Parameter, ...]:
    """Return the members of a structure, an instance of a template, or a vector such as ``int3``; else none.

    ``structures`` are the members of each structure, ``generic`` the parameters of those that are templates.
    """
    name, _, listed = type_.partition("<")
    word = name.rpartition("::")[2].strip()
    types = [each.strip() for each in listed.rpartition(">")[0].split(",")]
    pairs = itertools.zip_longest(generic.get(word, ()), types, fillvalue=None)
    meant = {each.name: text or each.default for each, text in pairs if each is not None and (text or each.default)}
    members = ((each, meant.get(each.type, each.type)) for each in structures.get(word) or _axes(word))
    return tuple(
        replace(each, type=of_type.removeprefix("const "), const=each.const or of_type.startswith("const "))
        for each, of_type in members
    )


def _axes(type_: str) -> list[Parameter]:
    """Return the members of a vector type of CUDA; none of another type."""
    match = _VECTOR.fullmatch("uint3" if type_ == "dim3" else type_)
    element = _ELEMENTS.get(match[1], match[1]) if match else ""
    return [Parameter(axis, element) for axis in "xyzw"[: int(match[2])]] if match else []


def unpacked(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Return parameters with the members of structures in their place; a structure of one of three matrices remains."""
    matrices = sum(each.is_array for each in parameters) >= _MATRICES
    kept = [not each.members or (matrices and each.is_array) for each in parameters]
    parts = (
        [each] if keep else [replace(member, name=f"{each.name}.{member.name}") for member in each.members]
        for each, keep in zip(parameters, kept, strict=True)
    )
    return tuple(part for several in parts for part in several)


def owners(parameters: Iterable[Parameter]) -> list[list[Parameter]]:
    """Return the parameters by the argument of a launch that passes them: the members of a structure are one list."""
    groups = list[list[Parameter]]()
    for each in parameters:
        owner = each.name.partition(".")[0]
        if "." in each.name and groups and groups[-1][0].name.startswith(f"{owner}."):
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def template_parameters(node: Node) -> tuple[Parameter, ...]:
    """Return the parameters of a class template; none of another class."""
    above = node.parent
    listed = above.child_by_field_name("parameters") if above is not None else None
    return tuple(map(parameter_of, children_without_comments(listed))) if listed else ()


def names_of_structure(node: Node) -> list[str]:
    """Return the name of a structure, and the name that a ``typedef`` gives it."""
    above = node.parent
    named = above.child_by_field_name("declarator") if above is not None and above.type == "type_definition" else None
    named = named.named_children[0] if named is not None and named.type == "attributed_declarator" else named
    return [text_of(each) for each in (node.child_by_field_name("name"), named) if each is not None]

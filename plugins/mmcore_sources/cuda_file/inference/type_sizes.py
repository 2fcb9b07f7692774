"""The sizes of types, also of structures such as ``struct Tiles { alignas(128) float a[STAGES][BM * BK]; }``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mmcore.kernel.signature import Parameter
from mmcore_cuda.cuda_source.structures import data_fields, names_of_structure, template_parameters
from mmcore_cuda.cuda_source.tree import Node, ancestors, root_of, text_of, walk
from mmcore_sources.cuda_file.inference.class_types import definition_of
from mmcore_sources.cuda_file.inference.host_calls import passed
from mmcore_sources.cuda_file.inference.whole_sums import aligned, largest, product, total

if TYPE_CHECKING:
    from mmcore_sources.cuda_file.inference.host_code import Reader

_BYTES = {"bool": 1, "__nv_bfloat16": 2, "half2": 4, "__half2": 4, "float2": 8, "barrier": 8,
          **dict.fromkeys(("float4", "int4", "uint4", "double2"), 16)}  # fmt: skip
_DEEPEST = 40
_UNION = "union_specifier"
_STRUCTURES = ("struct_specifier", "class_specifier", _UNION)
_ONE = ast.Constant(1)


class Size(NamedTuple):
    """The bytes of a type and its alignment, which may depend on a template's or the config's parameters."""

    nbytes: ast.expr
    alignment: ast.expr


class _Member(NamedTuple):
    """A member: its type, the extents of its arrays, and the alignments that are asked for."""

    type: Node
    extents: tuple[Node, ...]
    alignments: tuple[Node, ...]


def type_size(reader: Reader, type_: str, depth: int = 0, file: Node | None = None) -> Size | None:
    """Return the size of a type of a file, that of the reader's host function by default; None if it is unknown.

    The other files of the program may define it, such as a header.
    """
    file = root_of(reader.scope) if file is None and reader.scope is not None else file
    if nbytes := _bytes_of(reader.source.types.get(type_, type_)):
        return Size(ast.Constant(nbytes), ast.Constant(nbytes))
    argument = passed(reader.scope, type_, reader.call) if reader.scope is not None and depth <= _DEEPEST else None
    if argument is not None:  # of a template
        return type_size(reader.caller(argument), text_of(argument.value), depth + 1)
    qualified, _, listed = type_.removeprefix("struct ").partition("<")
    name = qualified.rpartition("::")[2].strip()
    files = (file, reader.source.root, *(root for _, root in reader.source.others))
    several = ((each, _structure_named(each, name)) for each in files)
    file, structure = next((each for each in several if each[1] is not None), (file, None))
    if structure is None and name == "barrier" and listed.endswith("thread_scope_block>"):
        return Size(ast.Constant(_BYTES[name]), ast.Constant(_BYTES[name]))
    if depth > _DEEPEST or ">::" in type_:  # a member of an instance
        return None
    if structure is None or template_parameters(structure):
        definition = definition_of(reader, type_)
        if definition is None or definition.is_enumeration:
            return None
        return _structure_size(definition.reader, definition.node, depth + 1, root_of(definition.node))
    if reader.scope is None or reader.scope not in ancestors(structure):
        reader = replace(reader, names=reader.names_of_file, scope=None, line=0, call=None)
    return _structure_size(reader, structure, depth, file)


def _structure_size(inside: Reader, structure: Node, depth: int, file: Node | None) -> Size | None:
    """Return the size of a structure, whose members ``inside`` reads; None if it is unknown."""
    members = _members(structure)
    if members is None:
        return None
    asked = [inside.number(each, depth + 1) for each in _alignments(_around_body(structure))]
    parts = list[Size]()
    for member in members:
        if member.type.child_by_field_name("body") is not None:
            element = _structure_size(inside, member.type, depth + 1, file)
        else:
            element = type_size(inside, text_of(member.type), depth + 1, file)
        if element is None:
            return None
        nbytes = element.nbytes
        for extent in member.extents:
            nbytes = product(nbytes, inside.number(extent, depth + 1))
        alignments = [inside.number(each, depth + 1) for each in member.alignments]
        parts.append(Size(nbytes, largest([element.alignment, *alignments])))
    alignment = largest([_ONE, *asked, *(each.alignment for each in parts)])
    if structure.type == _UNION:
        return Size(aligned(largest([_ONE, *(each.nbytes for each in parts)]), alignment), alignment)
    end: ast.expr = ast.Constant(0)
    for part in parts:
        end = total(aligned(end, part.alignment), part.nbytes)
    return Size(aligned(end if parts else _ONE, alignment), alignment)


def _bytes_of(type_: str) -> int:
    """Return the bytes of a number or vector; 0 for another type."""
    scalar = Parameter("", type_).scalar
    return _BYTES.get(type_, np.dtype(scalar).itemsize if scalar else 0)


def _structure_named(file: Node | None, name: str) -> Node | None:
    """Return the definition of a structure in a file; None without one."""
    structures = (each for each in walk(file) if each.type in _STRUCTURES) if file is not None else ()
    return next(
        (each for each in structures if each.child_by_field_name("body") and name in names_of_structure(each)), None
    )


def _around_body(structure: Node) -> Iterator[Node]:
    """Yield the parts of a structure's declaration that may align it: ``alignas`` before its name or after its body."""
    yield from (each for each in structure.children if each.type != "field_declaration_list")
    above = structure.parent
    if above is not None and above.type in ("declaration", "type_definition"):
        yield from (each for each in above.children if each.type == "type_qualifier")


def _alignments(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Return the bytes in each ``alignas(16)`` and ``[[aligned(16)]]`` of some nodes."""
    below = [each for node in nodes for each in walk(node)]
    standard = [each.named_children[0] for each in below if each.type == "alignas_qualifier"]
    attributes = [each.named_children[1] for each in below if each.type == "attribute" and len(each.named_children) > 1]
    return (*standard, *(each.named_children[0] for each in attributes))


def _members(structure: Node) -> tuple[_Member, ...] | None:
    """Return the members of a structure; None if it inherits, or has others than numbers, arrays and structures."""
    if any(each.type == "base_class_clause" for each in structure.children):
        return None
    body, members = structure.child_by_field_name("body"), list[_Member]()
    for field in data_fields(body) if body is not None else ():
        written = field.child_by_field_name("type")
        if field.type != "field_declaration" or written is None:
            return None
        qualifiers = [each for each in field.children if each.type == "type_qualifier"]
        declarators = field.children_by_field_name("declarator")
        if not declarators and written.type in _STRUCTURES and written.child_by_field_name("name") is None:
            members.append(_Member(written, (), _alignments(qualifiers)))
        for declarator in declarators:
            attributed = declarator.type == "attributed_declarator"
            extents = list[Node]()
            inner: Node | None = declarator.named_children[0] if attributed else declarator
            while inner is not None and inner.type == "array_declarator":
                size = inner.child_by_field_name("size")
                if size is None:
                    return None
                extents.append(size)
                inner = inner.child_by_field_name("declarator")
            if inner is None or inner.type != "field_identifier":
                return None
            alignments = _alignments([*qualifiers, *([declarator] if attributed else [])])
            members.append(_Member(written, tuple(extents), alignments))
    return tuple(members)

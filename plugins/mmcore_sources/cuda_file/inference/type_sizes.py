"""The sizes of types, also of structures such as ``struct Tiles { alignas(128) float a[STAGES][BM * BK]; }``."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mmcore.kernel.signature import Parameter
from mmcore_cuda.cuda_source.tree import Node, root_of, text_of, walk
from mmcore_sources.cuda_file.inference.c_expressions import parse_expression
from mmcore_sources.cuda_file.inference.host_calls import passed, template_names
from mmcore_sources.cuda_file.inference.quotients import aligned, constant

if TYPE_CHECKING:
    from mmcore_sources.cuda_file.inference.host_code import Reader

_BYTES = {"bool": 1, "__nv_bfloat16": 2, "half2": 4, "__half2": 4, "float2": 8, "barrier": 8,
          **dict.fromkeys(("float4", "int4", "uint4", "double2"), 16)}  # fmt: skip
_DEEPEST = 40
_STRUCTURES = ("struct_specifier", "class_specifier")


class Size(NamedTuple):
    """The bytes of a type, which may depend on a template's parameters, and its alignment."""

    nbytes: ast.expr
    alignment: int


@dataclass(frozen=True)
class _Member:
    """A member: its type, the extents of its arrays, and what ``alignas`` asks for, if anything."""

    type: str
    extents: tuple[Node, ...]
    alignment: tuple[Node, ...]


@dataclass(frozen=True)
class _Structure:
    """A structure; ``template`` contains its template's arguments as C, by parameter."""

    members: tuple[_Member, ...]
    template: dict[str, str]


def type_size(reader: Reader, type_: str, depth: int = 0, file: Node | None = None) -> Size | None:
    """Return the size of a type of a file, that of the reader's host function by default; None if it is unknown."""
    file = root_of(reader.scope) if file is None and reader.scope is not None else file
    if nbytes := _bytes_of(reader.source.types.get(type_, type_)):
        return Size(ast.Constant(nbytes), nbytes)
    argument = passed(reader.scope, type_, reader.call) if reader.scope is not None and depth <= _DEEPEST else None
    if argument is not None:  # of a template
        return type_size(reader.caller(argument), text_of(argument.value), depth + 1)
    structure = _structure_named(file, type_)
    if structure is None or depth > _DEEPEST:
        return None
    meant = {name: reader.number(parse_expression(text), depth + 1) for name, text in structure.template.items()}
    inside, largest = replace(reader, names=meant, scope=None, line=0, call=None), 1
    total: ast.expr | None = None
    for member in structure.members:
        element = type_size(inside, member.type, depth + 1, file)
        asked = [constant(inside.number(each, depth + 1)) for each in member.alignment]
        if element is None or None in asked:
            return None
        bytes_, alignment = element.nbytes, max(element.alignment, *(each or 1 for each in asked), 1)
        for extent in member.extents:
            bytes_ = ast.BinOp(bytes_, ast.Mult(), inside.number(extent, depth + 1))
        total = ast.BinOp(aligned(total, alignment), ast.Add(), bytes_) if total else bytes_
        largest = max(largest, alignment)
    return Size(aligned(total or ast.Constant(1), largest), largest)


def _bytes_of(type_: str) -> int:
    """Return the bytes of a number or vector; 0 for another type."""
    scalar = Parameter("", type_).scalar
    return _BYTES.get(type_, np.dtype(scalar).itemsize if scalar else 0)


def _structure_named(file: Node | None, type_: str) -> _Structure | None:
    """Return the structure that a type of a file is; None for one that contains other members."""
    qualified, _, listed = type_.removeprefix("struct ").partition("<")
    word = qualified.rpartition("::")[2].strip()
    for node in walk(file) if file is not None else ():
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if node.type in _STRUCTURES and named is not None and body is not None and text_of(named) == word:
            members = _members(body)
            given = [each.strip() for each in listed.rpartition(">")[0].split(",") if each.strip()]
            return (
                None if members is None else _Structure(members, dict(zip(template_names(node), given, strict=False)))
            )
    return None


def _members(body: Node) -> tuple[_Member, ...] | None:
    members = []
    for field in body.named_children:
        if field.type in ("comment", "access_specifier", "function_definition"):
            continue
        written = field.child_by_field_name("type")
        if field.type != "field_declaration" or written is None:
            return None
        qualifiers = (
            each for child in field.children if child.type == "type_qualifier" for each in child.named_children
        )
        aligned = tuple(each.named_children[0] for each in qualifiers if each.type == "alignas_qualifier")
        for declarator in field.children_by_field_name("declarator"):
            extents = list[Node]()
            inner: Node | None = declarator
            while inner is not None and inner.type == "array_declarator":
                size = inner.child_by_field_name("size")
                if size is None:
                    return None
                extents.append(size)
                inner = inner.child_by_field_name("declarator")
            if inner is None or inner.type != "field_identifier":
                return None
            members.append(_Member(text_of(written), tuple(extents), aligned))
    return tuple(members)

"""The members of a structure in a file, for its size: ``struct Tiles { alignas(128) float a[STAGES][BM * BK]; }``."""

from __future__ import annotations

from dataclasses import dataclass

from mmcore_cuda.cuda_source.tree import Node, text_of, walk

_STRUCTURES = ("struct_specifier", "class_specifier")


@dataclass(frozen=True)
class Member:
    """A member: its type, the extents of its arrays, and what ``alignas`` asks for, if anything."""

    type: str
    extents: tuple[Node, ...]
    alignment: tuple[Node, ...]


@dataclass(frozen=True)
class Structure:
    """A structure; ``template`` contains its template's arguments as C, by parameter."""

    members: tuple[Member, ...]
    template: dict[str, str]


def structure_named(scope: Node | None, type_: str) -> Structure | None:
    """Return the structure that a type of a host function's file is; None for one that contains other members."""
    name, _, listed = type_.removeprefix("struct ").partition("<")
    root = scope
    while root is not None and root.parent is not None:
        root = root.parent
    for node in walk(root) if root is not None else ():
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if node.type in _STRUCTURES and named is not None and body is not None and text_of(named) == name.strip():
            members = _members(body)
            given = [each.strip() for each in listed.rpartition(">")[0].split(",") if each.strip()]
            return None if members is None else Structure(members, dict(zip(_template(node), given, strict=False)))
    return None


def _members(body: Node) -> tuple[Member, ...] | None:
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
            members.append(Member(text_of(written), tuple(extents), aligned))
    return tuple(members)


def _template(node: Node) -> list[str]:
    above = node.parent
    listed = above.child_by_field_name("parameters") if above is not None else None
    names = [] if listed is None or above is None or above.type != "template_declaration" else listed.named_children
    return [text_of(each).rpartition("=")[0].strip().split()[-1] if "=" in text_of(each) else text_of(each).split()[-1]
            for each in names if each.type != "comment"]  # fmt: skip

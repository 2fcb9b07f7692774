"""The members and names of a source's structures."""

from __future__ import annotations

from mmcore_cuda.cuda_source.parameters import Parameter, is_const, parameter_of
from mmcore_cuda.cuda_source.tree import Node, children_without_comments, text_of, walk

# Members of a class that take no memory.
_NO_DATA = (
    *("comment", "access_specifier", "function_definition", "template_declaration", "alias_declaration"),
    *("friend_declaration", "static_assert_declaration", "using_declaration", "type_definition"),
)


def members_of(node: Node) -> tuple[Parameter, ...]:
    """Return the numbers and pointers in a structure, which may have functions; none if it has other members."""
    body, members = node.child_by_field_name("body"), list[Parameter]()
    if any(each.type in ("base_class_clause", "virtual") for each in walk(node)):
        return ()
    for field in body.named_children if body is not None else ():
        declares = field.child_by_field_name("declarator")
        while declares is not None and declares.type in ("reference_declarator", "pointer_declarator"):
            declares = declares.child_by_field_name("declarator") or next(iter(declares.named_children), None)
        function = declares is not None and declares.type == "function_declarator"
        if field.type in _NO_DATA or function or any(text_of(each) == "static" for each in field.children):
            continue
        written, declarators = field.child_by_field_name("type"), field.children_by_field_name("declarator")
        known = all(each.type in ("field_identifier", "pointer_declarator") for each in declarators)
        if field.type != "field_declaration" or written is None or not known:
            return ()
        members += [
            Parameter(text_of(each).lstrip("* "), text_of(written), each.type == "pointer_declarator", is_const(field))
            for each in declarators
        ]
    return tuple(members)


def type_parameters(node: Node) -> tuple[str, ...]:
    """Return the names of a class template's parameters; none of another class."""
    above = node.parent
    listed = above.child_by_field_name("parameters") if above is not None else None
    return (
        tuple(parameter_of(each).name or parameter_of(each).type for each in children_without_comments(listed))
        if listed
        else ()
    )


def names_of_structure(node: Node) -> list[str]:
    """Return the name of a structure, and the name that a ``typedef`` gives it."""
    above = node.parent
    named = above.child_by_field_name("declarator") if above is not None and above.type == "type_definition" else None
    return [text_of(each) for each in (node.child_by_field_name("name"), named) if each is not None]

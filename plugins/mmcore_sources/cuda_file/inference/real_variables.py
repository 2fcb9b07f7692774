"""Variables of host code that are floating-point numbers, whose quotients C does not round down."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from mmcore_cuda.cuda_source.tree import Node, outside_functions, root_of, text_of, walk

FLOATS = ("float", "double")
_DECLARATIONS = ("declaration", "parameter_declaration", "field_declaration")
_DECLARATORS = ("identifier", "field_identifier", "init_declarator")


def is_real(scope: Node, name: str) -> bool:
    """Return whether a host function or its file declares a variable as a floating-point number.

    A member ``M.cols`` is one if all structures of the file declare it so.
    """
    if "." in name:
        return _types(root_of(scope)).get(name.rpartition(".")[2], frozenset()) == {True}
    types = _types(scope).get(name) or _types(root_of(scope)).get(name, frozenset())
    return types == {True}


@functools.lru_cache(maxsize=32)
def _types(scope: Node) -> dict[str, frozenset[bool]]:
    """Return the variables that a function declares, each with True if it is a floating-point number.

    For a file, return those outside its functions.
    """
    found: dict[str, set[bool]] = {}
    for node in outside_functions(scope) if scope.parent is None else walk(scope):
        written = node.child_by_field_name("type") if node.type in _DECLARATIONS else None
        for name in _names(node) if written is not None else ():
            found.setdefault(name, set()).add(written is not None and text_of(written) in FLOATS)
    return {name: frozenset(several) for name, several in found.items()}


def _names(declaration: Node) -> Iterator[str]:
    """Yield the names of the plain variables that a declaration declares, without pointers and arrays."""
    for declarator in declaration.children_by_field_name("declarator"):
        inner = declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else declarator
        if inner is not None and declarator.type in _DECLARATORS:
            yield text_of(inner)

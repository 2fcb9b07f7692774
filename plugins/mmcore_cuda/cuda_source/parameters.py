"""The parameters of functions and templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mmcore_cuda.cuda_source.tree import Node, text_of

_POINTERS = ("pointer_declarator", "array_declarator", "reference_declarator")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function or template."""

    name: str  # empty if it has none; "d.rows" for a member of a structure d
    type: str  # without qualifiers and the last star; "typename" for a type
    pointer: bool = False  # True if it is a pointer, an array or a reference
    const: bool = False  # True if its type is const
    default: str = ""
    row: str = ""  # the length of the rows of an array of arrays, N in ``float a[N][N]``
    members: tuple[Parameter, ...] = ()  # those of a structure of one matrix that is passed by value

    @property
    def is_array(self) -> bool:
        """True for a pointer, a tensor map, or a structure that contains a pointer."""
        return self.pointer or self.is_tensor_map or any(each.pointer for each in self.members)

    @property
    def is_tensor_map(self) -> bool:
        """True for a tensor map, or a pointer to one."""
        return "CUtensorMap" in self.type

    def with_types(self, types: Mapping[str, str]) -> Parameter:
        """Return the parameter, with its members, of an instance whose type parameters stand for ``types``."""
        members = tuple(each.with_types(types) for each in self.members)
        return replace(self, type=types.get(self.type, self.type), members=members)

    def __str__(self) -> str:
        return f"{'const ' * self.const}{self.type}{'*' * self.pointer} {self.name}".strip()


def parameter_of(node: Node) -> Parameter:
    """Return the parameter that a node of a list of parameters declares."""
    if node.type.endswith("type_parameter_declaration"):
        word, _, usual = text_of(node).partition("=")
        return Parameter(word.split()[-1], "typename", default=usual.strip())
    declarators = [each for each in _declarators(node) if each.type in _POINTERS]
    written, default = node.child_by_field_name("type"), node.child_by_field_name("default_value")
    names = [text_of(each) for each in _declarators(node) if each.type == "identifier"]
    array = next((each for each in declarators if each.type == "array_declarator"), None)
    row = ""
    if array is not None and array.children[0].type in ("array_declarator", "parenthesized_declarator"):
        size = array.child_by_field_name("size")
        row = "" if size is None else text_of(size)
    stars = sum(each.type == "pointer_declarator" for each in declarators)
    stars += stars > 0 and array is not None and not row  # ``float *rows[]`` is ``float **rows``
    return Parameter(
        names[0] if names else "",
        "" if written is None else text_of(written).removeprefix("struct ") + "*" * (stars - 1),
        bool(declarators),
        is_const(node),
        "" if default is None else text_of(default),
        row,
    )


def _declarators(node: Node) -> list[Node]:
    """Return the declarators of a parameter from the outermost to its name."""
    declarators: list[Node] = []
    kinds = (*_POINTERS, "parenthesized_declarator", "identifier")
    inner = node.child_by_field_name("declarator")
    while inner is not None:
        declarators.append(inner)
        inner = inner.child_by_field_name("declarator") or next(
            (child for child in inner.named_children if child.type in kinds), None
        )
    return declarators


def is_const(node: Node) -> bool:
    """Return whether a declaration says ``const`` or ``constexpr``."""
    return any(child.type == "type_qualifier" and text_of(child) in ("const", "constexpr") for child in node.children)

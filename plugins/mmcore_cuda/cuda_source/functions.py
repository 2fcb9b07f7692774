"""The ``__global__`` functions of a source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from mmcore_cuda.cuda_source.parameters import Parameter, parameter_of
from mmcore_cuda.cuda_source.tree import Node, children_without_comments, text_of
from mmcore_cuda.cuda_source.wrapped_bodies import wrapped_body


@dataclass(frozen=True)
class Function:
    """A ``__global__`` function with a body; ``name`` includes namespaces, ``bounds`` is the threads of its block."""

    name: str
    template: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    body: Node
    bounds: str = ""
    line: int = 0  # the line of its name; 0 unless the file has several functions of one name

    @property
    def word(self) -> str:
        return self.name.rpartition("::")[2]

    @property
    def label(self) -> str:
        """The name that chooses it: that of one function of several contains its line, as ``product:12``."""
        return f"{self.name}:{self.line}" if self.line else self.name

    def is_named(self, name: str) -> bool:
        """Return whether a name is that of the function, with or without its namespaces."""
        return name in (self.name, self.word, self.label)

    def with_types(self, types: Mapping[str, str]) -> Function:
        """Return the instance of a template whose type parameters stand for ``types``."""
        return replace(self, parameters=tuple(each.with_types(types) for each in self.parameters))


def function_of(node: Node) -> Function | None:
    """Return the function that a definition defines; None if the grammar sees none there."""
    declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
    if declarator is None or body is None or declarator.type != "function_declarator":
        return None
    named, parameters = declarator.child_by_field_name("declarator"), declarator.child_by_field_name("parameters")
    if named is None or parameters is None:
        return None
    names, above, template = [text_of(named)], node.parent, None
    while above is not None:
        if above.type == "template_declaration" and template is None:
            template = above.child_by_field_name("parameters")
        namespace = above.child_by_field_name("name") if above.type == "namespace_definition" else None
        names += [] if namespace is None else [text_of(namespace)]
        above = above.parent
    bounds = next((child.named_children for child in node.children if child.type == "launch_bounds"), [])
    return Function(
        "::".join(reversed(names)),
        tuple(map(parameter_of, children_without_comments(template))) if template is not None else (),
        tuple(parameter_of(each) for each in parameters.named_children if each.type.endswith("parameter_declaration")),
        wrapped_body(body),
        text_of(bounds[0]) if bounds else "",
        named.start_point.row + 1,
    )


def without_duplicates(functions: Iterable[Function]) -> tuple[Function, ...]:
    """Return functions with the lines of those that share a name; of several with the same parameters, the first."""
    first: dict[tuple[str, ...], Function] = {}
    for each in functions:
        signature = (each.name, *(" ".join(one.type for one in some) for some in (each.template, each.parameters)))
        first.setdefault(signature, each)
    counts = Counter(each.name for each in first.values())
    return tuple(each if counts[each.name] > 1 else replace(each, line=0) for each in first.values())

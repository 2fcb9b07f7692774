"""The local variables of a kernel: the values that are assigned to them, and those that change."""

from __future__ import annotations

import functools
from collections.abc import Container, Sequence
from dataclasses import dataclass

from mmcore_cuda.cuda_source.tree import Node, ancestors, identifiers, initializers, sides, text_of

_SCOPES = ("compound_statement", "for_statement", "if_statement", "while_statement", "lambda_expression")


@dataclass(frozen=True)
class Variables:
    """The variables of a body, from its nodes in order."""

    nodes: Sequence[Node]

    @functools.cached_property
    def values(self) -> dict[str, list[Node]]:
        """The values assigned or added to each local variable, in order."""
        assigned: dict[str, list[Node]] = {}
        for node in self.nodes:
            if node.type == "declaration":
                for name, value in initializers(node):
                    assigned.setdefault(name, []).append(value)
            elif node.type == "assignment_expression" and text_of(node.children[1]) in ("=", "+="):
                assigned.setdefault(text_of(node.children[0]), []).append(node.children[2])
        return assigned

    @functools.cached_property
    def _scopes(self) -> dict[str, dict[int, list[Node]]]:
        """The values of each local variable that several scopes declare, by the scope's node."""
        declared: dict[str, dict[int, list[Node]]] = {}
        for node in (each for each in self.nodes if each.type == "declaration"):
            scope = next((each.id for each in ancestors(node) if each.type in _SCOPES), 0)
            given = dict(initializers(node))
            for name in {*given, *map(_declared_name, node.children_by_field_name("declarator"))}:
                declared.setdefault(name, {})[scope] = [given[name]] if name in given else []
        several = {name: scopes for name, scopes in declared.items() if len(scopes) > 1}
        for node in (each for each in self.nodes if each.type == "assignment_expression"):
            target, sign, value = sides(node)
            if text_of(sign) in ("=", "+=") and (name := text_of(target)) in several:
                several[name].get(self._scope_of(target, several[name]), []).append(value)
        return several

    @staticmethod
    def _scope_of(node: Node, scopes: Container[int]) -> int:
        """Return the innermost of some scopes around a node; 0 for none."""
        return next((each.id for each in ancestors(node) if each.id in scopes), 0)

    def values_at(self, node: Node) -> list[Node]:
        """Return the values that are assigned or added to the variable which a name means at its place."""
        name = text_of(node)
        scopes = self._scopes.get(name, {})
        return scopes.get(self._scope_of(node, scopes), self.values[name])

    @functools.cached_property
    def changing(self) -> set[str]:
        """The variables that take several values, including those of loops."""
        names = set()
        for node in self.nodes:
            target = node.children[0] if node.type == "assignment_expression" else None
            if node.type == "update_expression":
                target = node.child_by_field_name("argument")
            if target is not None and target.type == "identifier":
                names.add(text_of(target))
        return names


def _declared_name(declarator: Node) -> str:
    """Return the name of a declared variable, without the length of an array and its initial value."""
    return next(iter(identifiers(declarator)), "")

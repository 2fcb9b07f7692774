"""The extents of ``dim3`` values in a file's host code."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Self

from mmcore_cuda.cuda_source.tree import Node, text_of
from mmcore_sources.cuda_file.inference.assignments import last_assignment, last_change
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable, parse_expression
from mmcore_sources.cuda_file.inference.counting_loops import counting_loop
from mmcore_sources.cuda_file.inference.dimensions import component, definition, definition_in_file
from mmcore_sources.cuda_file.inference.extrema import limit, limited_later
from mmcore_sources.cuda_file.inference.host_scopes import DEEPEST, LISTS, ONE, HostScope
from mmcore_sources.cuda_file.inference.increments import multiplied_later, rounded_up_later


class HostDimensions(HostScope):
    """The translation of ``dim3`` values into expressions."""

    def extents(self, node: Node, depth: int = 0) -> list[ast.expr]:
        """Return one to three extents of a ``dim3``, or of a number that becomes one."""
        return [reader.number(part, depth + 1) for reader, part in self.parts(node, depth)]

    def parts(self, node: Node, depth: int = 0) -> list[tuple[Self, Node]]:
        """Return the expressions of a ``dim3``'s extents, each with its reader."""
        if depth > DEEPEST:
            raise Unreadable(text_of(node))
        name = text_of(node).removeprefix("this->")
        if node.type in ("identifier", "field_expression"):
            if (parts := self._variable(name, depth + 1)) is not None:
                return parts
            if (argument := self._passed(name)) is not None:
                return self.caller(argument).parts(argument.value, depth + 1)
            if (macro := self.source.macros.get(name)) is not None and macro.text.lstrip("( ").startswith("dim3"):
                return self.parts(parse_expression(macro.text), depth + 1)
        called = node.child_by_field_name("function") if node.type == "call_expression" else None
        if called is not None and text_of(called) != "dim3" and self.scope is not None:
            value = self._returned(node)
            return [(self, node)] if value is None else value[0]._of_value(value[1], depth + 1)
        listed = node.child_by_field_name("arguments") if called is not None else None
        if node.type == "compound_literal_expression":
            listed = node.child_by_field_name("value")
        if node.type == "initializer_list":
            listed = node
        return [(self, node)] if listed is None else self._listed(listed)

    def _listed(self, node: Node) -> list[tuple[Self, Node]]:
        # A dim3 of names looks like the declaration of a function, whose parameters have types and no names.
        parts = [parse_expression(text_of(each)) for each in node.named_children if each.type != "comment"]
        return [(self, each) for each in parts or [ONE]]

    def _variable(self, name: str, depth: int) -> list[tuple[Self, Node]] | None:
        """Return the extents of a variable of type dim3, of which some may be assigned separately: ``grid.x = …``."""
        if self.scope is None or depth > DEEPEST:
            return None
        last = last_assignment(self.scope, name, self.line)
        if last is not None and limit(last):
            return [(self, last.children[0])]
        change, loop = last_change(self.scope, name, self.line), counting_loop(self.scope, name, self.line)
        if loop is not None or (change is not None and "=" not in map(text_of, change.children)):
            return None  # a number, as threads *= 2
        found = definition(self.scope, name, self.line) or definition_in_file(self.scope, name)
        assigned = {axis: component(self.scope, name, axis, self.line) for axis in "xyz"}
        if found is None and not any(assigned.values()):
            return None if (member := self._member(name)) is None else member[0]._of_value(member[1], depth + 1)
        parts = list[tuple[Self, Node]]()
        if found is not None and found.function is not None:
            set_by = self._inside(found.function, found.call)
            parts = set_by._variable(found.parameter, depth + 1) or parts
        elif found is not None and found.value is not None:
            parts = replace(self, line=found.value.start_point.row + 1)._of_value(found.value, depth + 1)
        for position, value in enumerate(assigned.values()):
            if value is not None:
                parts = [*parts, *[(self, ONE)] * (position + 1 - len(parts))]
                parts[position] = (self, value)
        return [
            (reader, self._changed_later(f"{name}.{axis}", part))
            for (reader, part), axis in zip(parts or [(self, ONE)], "xyz", strict=False)
        ]

    def _changed_later(self, target: str, value: Node) -> Node:
        """Return the value of ``grid.x`` after statements that multiply it, round it up or limit it."""
        value = multiplied_later(self.scope, target, value, self.line)
        rounded = rounded_up_later(self.scope, target, value, self.line)
        return limited_later(self.scope, target, rounded, self.line)

    def _dimensions(self, name: str, depth: int) -> list[tuple[Self, Node]] | None:
        """Return the extents of a variable or parameter of type dim3."""
        if (found := self._variable(name, depth)) is not None or (argument := self._passed(name)) is None:
            return found
        return self.caller(argument)._dimensions(text_of(argument.value), depth + 1) if depth < DEEPEST else None

    def _of_value(self, value: Node, depth: int) -> list[tuple[Self, Node]]:
        """Return the extents in an initial value, which may be a list."""
        return self._listed(value) if value.type in LISTS else self.parts(value, depth)

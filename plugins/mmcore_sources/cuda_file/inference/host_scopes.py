"""The functions of a file's host code: their names, the arguments of their calls, and what they return."""

from __future__ import annotations

import abc
import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import Node, text_of, without_parentheses
from mmcore_sources.cuda_file.inference.assignments import initial_value
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable, parse_expression
from mmcore_sources.cuda_file.inference.conditions import conditions_around
from mmcore_sources.cuda_file.inference.constructions import constructed_class
from mmcore_sources.cuda_file.inference.host_calls import (
    Passed,
    calls_of,
    captured,
    enclosing_function,
    parameter_names,
    passed,
    returned,
    template_names,
)
from mmcore_sources.cuda_file.inference.members import class_of, member_value
from mmcore_sources.cuda_file.inference.quotients import constant
from mmcore_sources.cuda_file.inference.real_variables import is_real

DEEPEST = 40
"""Readings of expressions within each other, after which one counts as unreadable."""
ONE = parse_expression("1")
LISTS = ("parameter_list", "argument_list", "initializer_list")


@dataclass(frozen=True)
class HostScope(abc.ABC):
    """A place in a host function, at which names have meanings."""

    source: Program  # the program, for its macros, constants and types
    names: Mapping[str, ast.expr] = field(default_factory=dict)  # meanings that override the source's
    scope: Node | None = None  # the host function that contains the expressions, if any
    line: int = 0  # the line of the expressions; later assignments do not count
    call: Node | None = None  # the call of the host function that counts; the first one if None
    callers: tuple[Node, ...] = ()  # the calls of the functions around it, innermost first
    around: Self | None = None  # the reader of the function that makes this call, if it is known
    inputs: Mapping[str, int] = field(default_factory=dict)  # assumed numbers of the user by their expressions

    @abc.abstractmethod
    def _typed(self, node: Node, depth: int) -> tuple[ast.expr, bool]:
        """Return the arithmetic of an expression, and whether C computes it in floating point."""

    @classmethod
    def of(cls, source: Program, launch: HostLaunch | None, names: Mapping[str, ast.expr]) -> Self:
        """Return the reader of the expressions in a launch, or in no function."""
        if launch is None:
            return cls(source, names)
        return cls(source, {**conditions_around(launch), **names}, launch.scope, launch.line, launch.call)

    def _inside(self, function: Node, call: Node | None, line: int = 0) -> Self:
        """Return the reader of a function that this one calls, in which only names that both know keep their meaning.

        These are the file's constants, the members of one class, and what a lambda captures.
        """
        shares_names = captured(function, "") or self._is_of_class(function)
        known = self.names if shares_names else self.names_of_file
        reader = type(self)(self.source, {}, function, line, call, around=self, inputs=self.inputs)
        known = {name: meaning for name, meaning in known.items() if not reader._is_local(name.partition(".")[0])}
        return replace(reader, names=known)

    @property
    def names_of_file(self) -> dict[str, ast.expr]:
        """The meanings of the file's constants and macros, and of macros that only the user defines."""
        constants = self.source.constants.keys() | self.source.macros.keys()
        outside = (name for name in self.names if name in constants or name not in self.source.declared)
        return {name: self.names[name] for name in outside if name.isidentifier() and not self._is_local(name)}

    def _is_local(self, name: str) -> bool:
        """Return whether a name is a parameter or a variable of the scope."""
        if self.scope is None:
            return False
        own = (*parameter_names(self.scope), *template_names(self.scope))
        return name in own or initial_value(self.scope, name, 0) is not None

    def _is_of_class(self, other: Node | None) -> bool:
        """Return whether another function is a member of the class of the scope."""
        return other is not None and self.scope is not None and class_of(other) == class_of(self.scope) != ""

    def _passed(self, name: str) -> Passed | None:
        if self.scope is None:
            return None
        if captured(self.scope, name):
            return Passed(parse_expression(name), enclosing_function(self.scope), self.scope.start_point.row + 1)
        if self.call is None and len({text_of(each) for each in calls_of(self.scope) if constructed_class(each)}) > 1:
            return None  # which of the objects is not known
        return passed(self.scope, name, self.call)

    def caller(self, argument: Passed) -> Self:
        """Return the reader of an argument in the function that passes it, where names have other meanings."""
        if self.around is not None and argument.scope != self.scope:
            return self.around
        around = self.call is not None and enclosing_function(self.call) == argument.scope
        calls = self.callers if around else ()
        call = next(iter(calls), None)
        return type(self)(self.source, {}, argument.scope, argument.line, call, calls[1:], inputs=self.inputs)

    def _returned(self, call: Node) -> tuple[Self, Node] | None:
        """Return the value of a call of a host function, with its reader; None if functions of its name differ."""
        found = [*returned(call, self.scope or self.source.root)]
        found = [each for each in found if self._is_of_class(each.scope)] or found
        if len({text_of(each.value) for each in found}) != 1 or found[0].scope is None:
            return None
        return self._inside(found[0].scope, call, found[0].line), found[0].value

    def _member(self, name: str) -> tuple[Self, Node] | None:
        """Return the value of a member of the scope's class, with the reader of the function that sets it."""
        found = member_value(self.scope, name) if self.scope is not None else None
        if found is None:
            return None
        passed_on = {name: self.names[member] for name, member in found.members.items() if member in self.names}
        names = {**self.names, **passed_on}
        return type(self)(self.source, names, found.function or self.scope, inputs=self.inputs), found.value

    def _is_real(self, name: str) -> bool:
        return self.scope is not None and is_real(self.scope, name)

    def number(self, node: Node, depth: int = 0) -> ast.expr:
        """Return the arithmetic of an expression; raise :class:`Unreadable` if there is none."""
        return self._typed(node, depth)[0]

    def whole(self, expression: Node | str) -> int | None:
        """Return the whole number that an expression is; None for one that is unknown, or depends on names."""
        try:
            return constant(self.number(parse_expression(expression) if isinstance(expression, str) else expression))
        except Unreadable:
            return None

    def holds(self, node: Node, depth: int = 0) -> bool:
        """Return whether a condition on constants holds; raise :class:`Unreadable` for another condition."""
        node = without_parentheses(node)
        sign = text_of(node.children[1]) if node.type == "binary_expression" else ""
        if node.type == "unary_expression" and text_of(node.children[0]) == "!":
            return not self.holds(node.children[1], depth + 1)
        if sign in ("&&", "||"):
            sides = (self.holds(node.children[position], depth + 1) for position in (0, 2))
            return all(sides) if sign == "&&" else any(sides)
        if (value := constant(self.number(node, depth + 1))) is None:
            raise Unreadable(text_of(node))
        return bool(value)

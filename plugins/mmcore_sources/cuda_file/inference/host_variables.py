"""The values of variables in a file's host code: set in a line, in a branch, by a call, or by a structure."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from mmcore_cuda.cuda_source.tree import Node, identifiers, root_of, text_of
from mmcore_sources.cuda_file.inference.assignments import (
    assigned_value,
    ended_branch,
    initial_value,
    is_set_by_call,
    last_assignment,
    last_change,
)
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable, parse_expression
from mmcore_sources.cuda_file.inference.choices import extreme, typed_choice
from mmcore_sources.cuda_file.inference.conditions import condition_of, leaves
from mmcore_sources.cuda_file.inference.counting_loops import changes_of, counting_loop, only_change
from mmcore_sources.cuda_file.inference.dimensions import number_set_by_call
from mmcore_sources.cuda_file.inference.extrema import MULTIPROCESSORS, is_multiprocessors, limit
from mmcore_sources.cuda_file.inference.global_variables import global_variables
from mmcore_sources.cuda_file.inference.host_scopes import DEEPEST, LISTS, HostScope
from mmcore_sources.cuda_file.inference.quotients import constant
from mmcore_sources.cuda_file.inference.structure_values import member_values

_MOST_TURNS = 4096
_NO_LINE = -1  # before the first


class HostVariables(HostScope):
    """The translation of variables into arithmetic."""

    def _named(self, name: str, depth: int) -> tuple[ast.expr, bool]:
        number, real = self._value(name, depth)
        return number, real or self._is_real(name)

    def _value(self, name: str, depth: int) -> tuple[ast.expr, bool]:
        """Return the value of a name, and whether its text is computed in floating point."""
        if name in self.names:
            return self.names[name], False
        if name in self.inputs:
            return ast.Constant(self.inputs[name]), False
        if is_multiprocessors(self.scope, name):
            return ast.Constant(MULTIPROCESSORS), False
        if self.scope is not None and (by := number_set_by_call(self.scope, name, self.line)) and by.function:
            return self._inside(by.function, by.call)._set_to(
                (by.parameter, f"*{by.parameter}", f"(*{by.parameter})"), depth
            )
        if is_set_by_call(self.scope, name, self.line):
            raise Unreadable(name)
        change, loop = last_change(self.scope, name, self.line), counting_loop(self.scope, name, self.line)
        if loop is not None and (change is None or change.start_byte < loop.end_byte):
            return self._counted(name, loop, depth), False
        if change is not None:
            if not (function := limit(change)):
                return self._as_set(name, change, assigned_value(change), depth)
            last = self._in_line(name, change, assigned_value(change), depth)
            return extreme(function, self._before(name, change, depth + 1), last)
        macro = self.source.macros.get(name)
        if macro is not None and macro.parameters is None and macro.text:
            return self._typed(parse_expression(macro.text), depth + 1)
        if (initial := initial_value(self.scope, name, self.line)) is not None:
            return self._as_set(name, *initial, depth)
        if (argument := self._passed(name)) is not None:
            return self.caller(argument)._typed(parse_expression(text_of(argument.value)), depth + 1)
        if name in self.source.constants:
            return self._typed(self.source.constants[name], depth + 1)
        if (set_by := self._global(name)) is not None:
            reader, value = set_by
            return reader._value(name, depth + 1) if value is None else reader._typed(value, depth + 1)
        if (member := self._member(name)) is not None:
            reader, value = member
            one = value.type in LISTS and len(value.named_children) == 1
            return reader._typed(value.named_children[0] if one else value, depth + 1)
        raise Unreadable(name)

    def _global(self, name: str) -> tuple[Self, Node | None] | None:
        """Return the reader of a global variable, and its initial value; None if it is the function that sets it."""
        root = self.source.root if self.scope is None else root_of(self.scope)
        variable = global_variables(root).get(name)
        if variable is None or (variable.value is None and variable.function in (None, self.scope)):
            return None
        scope = variable.function if variable.function != self.scope else None
        reader = type(self)(self.source, self.names if scope is None else {}, scope, inputs=self.inputs)
        return reader, variable.value if scope is None else None

    def _set_to(self, targets: Sequence[str], depth: int) -> tuple[ast.expr, bool]:
        """Return the value that the function sets a variable of its caller to, by the names that it may have."""
        for target in targets:
            if (last := last_assignment(self.scope, target, self.line)) is not None:
                return self._as_set(target, last, assigned_value(last), depth)
        raise Unreadable(targets[0])

    def _member_of(self, owner: str, member: str, depth: int) -> tuple[ast.expr, bool]:
        """Return the value of a structure's member, which this function assigns, or one that calls it."""
        name = f"{owner}.{member}"
        if member == "multiProcessorCount":
            return ast.Constant(MULTIPROCESSORS), False
        if self.scope is not None and (by := number_set_by_call(self.scope, owner, self.line)) and by.function:
            reader = self._inside(by.function, by.call)
            return reader._set_to((f"{by.parameter}.{member}", f"{by.parameter}->{member}"), depth)
        if is_set_by_call(self.scope, owner, self.line):
            raise Unreadable(name)
        initial = initial_value(self.scope, owner, self.line)
        assignment, copy = (last_assignment(self.scope, each, self.line) for each in (name, owner))
        copied = copy.children[2] if copy is not None else initial[1] if initial is not None else None
        if assignment is not None and (copied is None or copied.start_byte < assignment.start_byte):
            return self._as_set(name, assignment, assigned_value(assignment), depth)
        if copied is not None and copied.type == "identifier":
            of_copied = parse_expression(f"{text_of(copied)}.{member}")
            return replace(self, line=copied.start_point.row + 1)._typed(of_copied, depth + 1)
        if copied is not None and copied.type == "call_expression" and (made := self._returned(copied)) is not None:
            return made[0]._typed(parse_expression(f"{text_of(made[1])}.{member}"), depth + 1)
        structure = self.source.constants.get(owner) if initial is None else initial[1]
        if structure is not None and (value := member_values(self.source, structure).get(member)) is not None:
            return replace(self, line=structure.start_point.row + 1)._typed(value, depth + 1)
        if (argument := self._passed(owner)) is None:
            raise Unreadable(name)
        return self.caller(argument)._typed(parse_expression(f"{text_of(argument.value)}.{member}"), depth + 1)

    def _as_set(
        self, name: str, node: Node, value: Node, depth: int, within: Node | None = None, place: int = 0
    ) -> tuple[ast.expr, bool]:
        """Return the value of a variable after a node has set it, and after the branches around the node have ended.

        These are the branches that end before the reader's line, or before a place, ``within`` a node if one is given.
        """
        region, line = within or self.scope, 0 if within or place else self.line
        if (branch := ended_branch(node, region, line, place)) is not None:
            with contextlib.suppress(Unreadable):
                return self._chosen(name, branch, depth + 1)
        return self._in_line(name, node, value, depth)

    def _in_line(self, name: str, node: Node, value: Node, depth: int) -> tuple[ast.expr, bool]:
        """Return a value that a node sets a name to; the name in it has its former value, as in ``n = n ? n : 1``."""
        line = node.start_point.row + 1
        if name not in identifiers(value):
            return replace(self, line=line)._typed(value, depth + 1)
        names = {**self.names, name: self._before(name, node, depth + 1)[0]}
        return replace(self, names=names, line=line)._typed(value, depth + 1)

    def _counted(self, name: str, loop: Node, depth: int) -> ast.expr:
        """Return the value of a variable that a loop counts, after its last turn; raise Unreadable if it is unknown."""
        change, condition, first = only_change(loop, name), condition_of(loop), loop.child_by_field_name("initializer")
        if change is None or condition is None or depth > DEEPEST:
            raise Unreadable(name)
        begin = next(changes_of(first, name), None) if first is not None else None
        number = self._before(name, loop, depth + 1)[0] if begin is None else self.number(assigned_value(begin), depth)
        reader = replace(self, line=loop.start_point.row + 1)
        for turn in range(_MOST_TURNS):
            if (known := constant(number)) is None:
                break
            reader = replace(reader, names={**self.names, name: ast.Constant(known)})
            if (turn or loop.type != "do_statement") and not reader.holds(condition, depth + 1):
                return ast.Constant(known)
            number = reader.number(assigned_value(change), depth + 1)
        raise Unreadable(name)

    def _before(self, name: str, node: Node, depth: int) -> tuple[ast.expr, bool]:
        """Return the value of a variable before a node."""
        if depth > DEEPEST:
            raise Unreadable(name)
        place = node.start_byte
        last, loop = last_change(self.scope, name, 0, place), counting_loop(self.scope, name, 0, place)
        if loop is not None and (last is None or last.start_byte < loop.end_byte):
            return self._counted(name, loop, depth + 1), False
        if last is not None:
            return self._as_set(name, last, assigned_value(last), depth + 1, place=place)
        line = node.start_point.row
        if (initial := initial_value(self.scope, name, line + 1)) is not None and initial[0].start_byte < place:
            return self._in_line(name, *initial, depth + 1)
        return replace(self, line=line or _NO_LINE)._named(name, depth + 1)

    def _chosen(self, name: str, statement: Node, depth: int) -> tuple[ast.expr, bool]:
        """Return the value of a variable after an ``if``, in a branch of which it is set.

        Raises Unreadable if the condition is unknown, or if both values are constants.
        """
        branches = [statement.child_by_field_name(each) for each in ("consequence", "alternative")]

        def value(branch: Node | None) -> tuple[ast.expr, bool]:
            last = last_change(self.scope, name, 0, within=branch) if branch is not None else None
            if branch is None or last is None:
                return self._before(name, statement, depth + 1)
            return self._as_set(name, last, assigned_value(last), depth + 1, within=branch)

        condition = condition_of(statement)
        staying = [each for each in branches if each is None or not leaves(each)]
        if condition is None or not staying:
            raise Unreadable(name)
        if len(staying) == 1:
            return value(staying[0])
        names = {**self.names}
        if name in identifiers(condition):
            names[name] = self._before(name, statement, depth + 1)[0]
        reader = replace(self, names=names, line=statement.start_point.row + 1)
        with contextlib.suppress(Unreadable):
            return value(branches[not reader.holds(condition, depth + 1)])
        return typed_choice(reader.number(condition, depth + 1), *map(value, branches))

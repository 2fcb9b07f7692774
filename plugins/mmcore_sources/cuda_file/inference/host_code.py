"""The launch in a file's host code, as expressions of sizes, block and config."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, without_parentheses
from mmcore_sources.cuda_file.inference.assignments import (
    assigned_value,
    ended_branch,
    initial_value,
    is_set_by_call,
    last_assignment,
    last_change,
)
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable, literal, parse_expression
from mmcore_sources.cuda_file.inference.choices import added, choice, negated
from mmcore_sources.cuda_file.inference.class_types import member_constant
from mmcore_sources.cuda_file.inference.conditions import condition_of, conditions_around, leaves
from mmcore_sources.cuda_file.inference.dimensions import component, definition, definition_in_file, number_set_by_call
from mmcore_sources.cuda_file.inference.extrema import (
    MULTIPROCESSORS,
    extremum,
    is_multiprocessors,
    limit,
    limited_later,
)
from mmcore_sources.cuda_file.inference.host_calls import (
    Passed,
    captured,
    enclosing_function,
    parameter_names,
    passed,
    returned,
    template_names,
)
from mmcore_sources.cuda_file.inference.increments import rounded_up_later
from mmcore_sources.cuda_file.inference.members import class_of, member_value
from mmcore_sources.cuda_file.inference.quotients import ceiling, constant, rounded_up, truncated
from mmcore_sources.cuda_file.inference.real_variables import FLOATS, is_real
from mmcore_sources.cuda_file.inference.structure_values import member_values
from mmcore_sources.cuda_file.inference.type_sizes import type_size

_INTEGER = re.compile(r"unsigned|int|long|size_t|(?:cu)?u?int(?:32|64)_t")
_FUNCTIONS = {"ceil": "ceil", "ceilf": "ceil", "floor": "floor", "floorf": "floor", "max": "max", "min": "min"}
_OPERATORS: Mapping[str, type[ast.operator]] = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult, "%": ast.Mod}
_COMPARISONS: Mapping[str, type[ast.cmpop]] = {
    "==": ast.Eq,
    "!=": ast.NotEq,
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
}
_DEEPEST = 40
_NO_LINE = -1  # before the first


@dataclass(frozen=True)
class Reader:
    """The translation of C expressions into arithmetic."""

    source: Program  # the program, for its macros, constants and types
    names: Mapping[str, ast.expr] = field(default_factory=dict)  # meanings that override the source's
    scope: Node | None = None  # the host function that contains the expressions, if any
    line: int = 0  # the line of the expressions; later assignments do not count
    call: Node | None = None  # the call of the host function that counts; the first one if None
    callers: tuple[Node, ...] = ()  # the calls of the functions around it, innermost first
    around: Reader | None = None  # the reader of the function that makes this call, if it is known

    @classmethod
    def of(cls, source: Program, launch: HostLaunch | None, names: Mapping[str, ast.expr]) -> Reader:
        """Return the reader of the expressions in a launch, or in no function."""
        if launch is None:
            return cls(source, names)
        return cls(source, {**conditions_around(launch), **names}, launch.scope, launch.line, launch.call)

    def number(self, node: Node, depth: int = 0) -> ast.expr:
        """Return the arithmetic of an expression; raise :class:`Unreadable` if there is none."""
        return self._typed(node, depth)[0]

    def whole(self, expression: Node | str) -> int | None:
        """Return the whole number that an expression is; None for one that is unknown, or depends on names."""
        try:
            return constant(self.number(parse_expression(expression) if isinstance(expression, str) else expression))
        except Unreadable:
            return None

    def extents(self, node: Node, depth: int = 0) -> list[ast.expr]:
        """Return one to three extents of a ``dim3``, or of a number that becomes one."""
        return [reader.number(part, depth + 1) for reader, part in self.parts(node, depth)]

    def parts(self, node: Node, depth: int = 0) -> list[tuple[Reader, Node]]:
        """Return the expressions of a ``dim3``'s extents, each with its reader."""
        if depth > _DEEPEST:
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

    def _listed(self, node: Node) -> list[tuple[Reader, Node]]:
        # A dim3 of names looks like the declaration of a function, whose parameters have types and no names.
        parts = [parse_expression(text_of(each)) for each in node.named_children if each.type != "comment"]
        return [(self, each) for each in parts or [_ONE]]

    def _variable(self, name: str, depth: int) -> list[tuple[Reader, Node]] | None:
        """Return the extents of a variable of type dim3, of which some may be assigned separately: ``grid.x = …``."""
        if self.scope is None or depth > _DEEPEST:
            return None
        last = last_assignment(self.scope, name, self.line)
        if last is not None and limit(last):
            return [(self, last.children[0])]
        found = definition(self.scope, name, self.line) or definition_in_file(self.scope, name)
        assigned = {axis: component(self.scope, name, axis, self.line) for axis in "xyz"}
        if found is None and not any(assigned.values()):
            return None if (member := self._member(name)) is None else member[0]._of_value(member[1], depth + 1)
        parts = list[tuple[Reader, Node]]()
        if found is not None and found.function is not None:
            set_by = self._inside(found.function, found.call)
            parts = set_by._variable(found.parameter, depth + 1) or parts
        elif found is not None and found.value is not None:
            parts = replace(self, line=found.value.start_point.row + 1)._of_value(found.value, depth + 1)
        for position, value in enumerate(assigned.values()):
            if value is not None:
                parts = [*parts, *[(self, _ONE)] * (position + 1 - len(parts))]
                parts[position] = (self, value)
        return [
            (reader, self._changed_later(f"{name}.{axis}", part))
            for (reader, part), axis in zip(parts or [(self, _ONE)], "xyz", strict=False)
        ]

    def _changed_later(self, target: str, value: Node) -> Node:
        """Return the value of ``grid.x`` after statements that round it up or limit it."""
        rounded = rounded_up_later(self.scope, target, value, self.line)
        return limited_later(self.scope, target, rounded, self.line)

    def _dimensions(self, name: str, depth: int) -> list[tuple[Reader, Node]] | None:
        """Return the extents of a variable or parameter of type dim3."""
        if (found := self._variable(name, depth)) is not None or (argument := self._passed(name)) is None:
            return found
        return self.caller(argument)._dimensions(text_of(argument.value), depth + 1) if depth < _DEEPEST else None

    def _of_value(self, value: Node, depth: int) -> list[tuple[Reader, Node]]:
        """Return the extents in an initial value, which may be a list."""
        return self._listed(value) if value.type in _LISTS else self.parts(value, depth)

    def _member(self, name: str) -> tuple[Reader, Node] | None:
        """Return the value of a member of the scope's class, with the reader of the function that sets it."""
        found = member_value(self.scope, name) if self.scope is not None else None
        if found is None:
            return None
        passed_on = {name: self.names[member] for name, member in found.members.items() if member in self.names}
        return Reader(self.source, {**self.names, **passed_on}, found.function or self.scope), found.value

    def _is_of_class(self, other: Node | None) -> bool:
        """Return whether another function is a member of the class of the scope."""
        return other is not None and self.scope is not None and class_of(other) == class_of(self.scope) != ""

    def _typed(self, node: Node, depth: int) -> tuple[ast.expr, bool]:
        """Return the arithmetic, and whether C computes it in floating point."""
        if depth > _DEEPEST:
            raise Unreadable(text_of(node))
        parts = [each for each in node.named_children if each.type != "comment"]
        match node.type:
            case "number_literal":
                return literal(text_of(node))
            case "identifier" | "type_identifier":
                return self._named(text_of(node), depth)
            case "qualified_identifier":
                of_class = member_constant(self, text_of(node), depth)
                return self._named(text_of(node).rpartition("::")[2], depth) if of_class is None else (of_class, False)
            case "true" | "false":
                return ast.Constant(int(node.type == "true")), False
            case "parenthesized_expression" | "initializer_list" if len(parts) == 1:
                return self._typed(parts[0], depth + 1)
            case "unary_expression" if text_of(node.children[0]) == "-":
                number, real = self._typed(parts[0], depth + 1)
                return ast.UnaryOp(ast.USub(), number), real
            case "unary_expression" if text_of(node.children[0]) == "!":
                return negated(self._typed(parts[0], depth + 1)[0]), False
            case "assignment_expression" if text_of(node.children[1]) == "=":  # of block.x = block.y = 32
                return self._typed(node.children[2], depth + 1)
            case "comma_expression":
                return self._typed(parts[-1], depth + 1)
            case "cast_expression":
                number, real = self._typed(parts[1], depth + 1)
                return (number, True) if text_of(parts[0]) in FLOATS else truncated(number, real)
            case "sizeof_expression":
                if (size := type_size(self, text_of(parts[0]).strip("() "), depth)) is not None:
                    return size.nbytes, False
            case "field_expression" | "subscript_expression" if text_of(node) in self.names:
                return self.names[text_of(node)], self._is_real(text_of(node))
            case "field_expression" if text_of(node).startswith("this->"):
                return self._named(text_of(node).removeprefix("this->"), depth)
            case "field_expression":
                owner, _, axis = text_of(node).partition(".")
                if axis in ("x", "y", "z") and (dimensions := self._dimensions(owner, depth + 1)) is not None:
                    reader, part = [*dimensions, *[(self, _ONE)] * 2]["xyz".index(axis)]
                    return reader.number(part, depth + 1), False
                return self._member_of(owner, axis, depth)
            case "binary_expression" if (name := compound_name(text_of(node))) in self.names:
                return self.names[name], False
            case "binary_expression":
                return self._binary(node, depth)
            case "conditional_expression" if len(parts) == 3:
                return self._alternative(parts, depth)
            case "call_expression":
                return self._call(node, depth)
        raise Unreadable(text_of(node))

    def _alternative(self, parts: list[Node], depth: int) -> tuple[ast.expr, bool]:
        """Return the value of ``a ? b : c``; if the condition is no constant, a choice, or the only readable value."""
        try:
            return self._typed(parts[1 if self.holds(parts[0], depth) else 2], depth + 1)
        except Unreadable:
            values = list[tuple[ast.expr, bool]]()
            for part in parts[1:]:
                with contextlib.suppress(Unreadable):
                    values.append(self._typed(part, depth + 1))
            if len(values) == 2 and (function := extremum(parts[0], parts[1], parts[2])):
                return _extreme(function, *values)
            if len(values) == 2:
                return _choice(self._typed(parts[0], depth + 1)[0], *values)
            if len(values) != 1:
                raise
            return values[0]

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

    def _binary(self, node: Node, depth: int) -> tuple[ast.expr, bool]:
        (left, real), (right, also) = (self._typed(node.children[i], depth + 1) for i in (0, 2))
        sign, real = text_of(node.children[1]), real or also
        if sign == "/":
            return (ast.BinOp(left, ast.Div(), right), True) if real else (rounded_up(left, right), False)
        if sign == "+":
            return added(left, right), real
        if sign in _COMPARISONS:
            return ast.Compare(left, [_COMPARISONS[sign]()], [right]), False
        if sign in ("&&", "||"):
            return ast.BoolOp(ast.And() if sign == "&&" else ast.Or(), [left, right]), False
        bits = constant(right)
        if sign == ">>" and bits is not None and 0 <= bits < 32:
            return rounded_up(left, ast.Constant(1 << bits)), False
        if sign == "&" and bits is not None and bits & (bits + 1) == 0:
            return ast.BinOp(left, ast.Mod(), ast.Constant(bits + 1)), False
        if sign == "<<" and isinstance(right, ast.Constant) and isinstance(right.value, int) and right.value < 32:
            return ast.BinOp(left, ast.Mult(), ast.Constant(1 << right.value)), False
        if sign in _OPERATORS:
            return ast.BinOp(left, _OPERATORS[sign](), right), real
        raise Unreadable(text_of(node))

    def _call(self, node: Node, depth: int) -> tuple[ast.expr, bool]:
        name, _, template = text_of(node.children[0]).removeprefix("std::").partition("<")
        arguments = [each for each in node.children[1].named_children if each.type != "comment"]
        typed = [self._typed(each, depth + 1) for each in arguments]
        if (name in ("static_cast", *FLOATS) or _INTEGER.fullmatch(name)) and len(typed) == 1:
            cast = template.rstrip("> ") or name
            return (typed[0][0], True) if cast in FLOATS else truncated(*typed[0])
        if name in _FUNCTIONS:
            # C rounds a quotient of whole numbers down before it calls ceil.
            return ast.Call(ast.Name(_FUNCTIONS[name]), [number for number, _ in typed], []), any(r for _, r in typed)
        if (value := self._returned(node)) is not None:
            with contextlib.suppress(Unreadable):
                return value[0]._typed(value[1], depth + 1)
        if _CEILING.search(name) and len(typed) == 2:
            return ceiling(typed[0][0], typed[1][0]), False
        raise Unreadable(text_of(node))

    def _returned(self, call: Node) -> tuple[Reader, Node] | None:
        """Return the value of a call of a host function, with its reader; None if functions of its name differ."""
        found = [*returned(call, self.scope)] if self.scope is not None else []
        found = [each for each in found if self._is_of_class(each.scope)] or found
        if len({text_of(each.value) for each in found}) != 1 or found[0].scope is None:
            return None
        return self._inside(found[0].scope, call, found[0].line), found[0].value

    def _inside(self, function: Node, call: Node | None, line: int = 0) -> Reader:
        """Return the reader of a function that this one calls, in which only names that both know keep their meaning.

        These are the file's constants, the members of one class, and what a lambda captures.
        """
        known = self.names
        if not captured(function, "") and not self._is_of_class(function):
            of_file = {*self.source.constants, *self.source.macros}
            of_file -= {each for each in of_file & self.names.keys() if self._is_local(each)}
            known = {name: meaning for name, meaning in self.names.items() if name in of_file}
        reader = Reader(self.source, {}, function, line, call, around=self)
        known = {name: meaning for name, meaning in known.items() if not reader._is_local(name.partition(".")[0])}
        return replace(reader, names=known)

    def _is_local(self, name: str) -> bool:
        """Return whether a name is a parameter or a variable of the scope."""
        if self.scope is None:
            return False
        own = (*parameter_names(self.scope), *template_names(self.scope))
        return name in own or initial_value(self.scope, name, 0) is not None

    def _passed(self, name: str) -> Passed | None:
        if self.scope is not None and captured(self.scope, name):
            return Passed(parse_expression(name), enclosing_function(self.scope), self.scope.start_point.row + 1)
        return passed(self.scope, name, self.call) if self.scope is not None else None

    def caller(self, argument: Passed) -> Reader:
        """Return the reader of an argument in the function that passes it, where names have other meanings."""
        if self.around is not None and argument.scope != self.scope:
            return self.around
        around = self.call is not None and enclosing_function(self.call) == argument.scope
        calls = self.callers if around else ()
        return Reader(self.source, {}, argument.scope, argument.line, next(iter(calls), None), calls[1:])

    def _named(self, name: str, depth: int) -> tuple[ast.expr, bool]:
        number, real = self._value(name, depth)
        return number, real or self._is_real(name)

    def _value(self, name: str, depth: int) -> tuple[ast.expr, bool]:
        """Return the value of a name, and whether its text is computed in floating point."""
        if name in self.names:
            return self.names[name], False
        if is_multiprocessors(self.scope, name):
            return ast.Constant(MULTIPROCESSORS), False
        if self.scope is not None and (by := number_set_by_call(self.scope, name, self.line)) and by.function:
            return self._inside(by.function, by.call)._set_to(
                (by.parameter, f"*{by.parameter}", f"(*{by.parameter})"), depth
            )
        if is_set_by_call(self.scope, name, self.line):
            raise Unreadable(name)
        if (change := last_change(self.scope, name, self.line)) is not None:
            if not (function := limit(change)):
                return self._as_set(name, change, assigned_value(change), depth)
            last = self._in_line(name, change, assigned_value(change), depth)
            return _extreme(function, self._before(name, change, depth + 1), last)
        macro = self.source.macros.get(name)
        if macro is not None and macro.parameters is None and macro.text:
            return self._typed(parse_expression(macro.text), depth + 1)
        if (initial := initial_value(self.scope, name, self.line)) is not None:
            return self._as_set(name, *initial, depth)
        if (argument := self._passed(name)) is not None:
            return self.caller(argument)._typed(parse_expression(text_of(argument.value)), depth + 1)
        if name in self.source.constants:
            return self._typed(self.source.constants[name], depth + 1)
        if (member := self._member(name)) is not None:
            reader, value = member
            one = value.type in _LISTS and len(value.named_children) == 1
            return reader._typed(value.named_children[0] if one else value, depth + 1)
        raise Unreadable(name)

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

    def _before(self, name: str, node: Node, depth: int) -> tuple[ast.expr, bool]:
        """Return the value of a variable before a node."""
        if depth > _DEEPEST:
            raise Unreadable(name)
        place = node.start_byte
        if (last := last_change(self.scope, name, 0, place)) is not None:
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
        return _choice(reader.number(condition, depth + 1), *map(value, branches))

    def _is_real(self, name: str) -> bool:
        return self.scope is not None and is_real(self.scope, name)


def _extreme(function: str, *values: tuple[ast.expr, bool]) -> tuple[ast.expr, bool]:
    """Return the minimum or maximum of values, as ``_typed`` returns them."""
    return ast.Call(ast.Name(function), [number for number, _ in values], []), any(real for _, real in values)


def _choice(condition: ast.expr, chosen: tuple[ast.expr, bool], other: tuple[ast.expr, bool]) -> tuple[ast.expr, bool]:
    """Return a choice of two values, as ``_typed`` returns them; raise Unreadable for constants other than 0 and 1."""
    constants = constant(chosen[0]), constant(other[0])
    if None not in constants and {*constants} != {0, 1}:
        raise Unreadable(ast.unparse(condition))  # a launch is read for one of them
    return choice(condition, chosen[0], other[0]), chosen[1] or other[1]


_LISTS = ("parameter_list", "argument_list", "initializer_list")
_QUOTIENT = re.compile(r"([A-Za-z_]\w*) */ *(\w+)")
_CEILING = re.compile(r"ceil|div.?up|round.?up|i?cdiv|idiv", re.IGNORECASE)


def compound_name(text: str) -> str:
    """Return the name of a product of variables, or of one divided by another one, ``n/PARTS``; empty for others."""
    quotient = _QUOTIENT.fullmatch(text)
    return f"{quotient[1]}/{quotient[2]}" if quotient is not None else product_name(text)


def product_name(text: str) -> str:
    """Return the name of a product of variables, ``B*T`` for ``T * B``; empty for another expression."""
    factors = [each.strip() for each in text.split("*")]
    return "*".join(sorted(factors)) if len(factors) > 1 and all(map(str.isidentifier, factors)) else ""


_ONE = parse_expression("1")

"""The expressions in a file's host code, as arithmetic of sizes, block and config."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Mapping

from mmcore_cuda.cuda_source.tree import Node, text_of
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable, literal, parse_expression
from mmcore_sources.cuda_file.inference.choices import added, extreme, negated, typed_choice
from mmcore_sources.cuda_file.inference.class_types import member_constant
from mmcore_sources.cuda_file.inference.extrema import extremum
from mmcore_sources.cuda_file.inference.host_dimensions import HostDimensions
from mmcore_sources.cuda_file.inference.host_scopes import DEEPEST, ONE
from mmcore_sources.cuda_file.inference.host_variables import HostVariables
from mmcore_sources.cuda_file.inference.quotients import ceiling, constant, rounded_up, truncated
from mmcore_sources.cuda_file.inference.real_variables import FLOATS
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


class Reader(HostVariables, HostDimensions):
    """The translation of C expressions into arithmetic."""

    def _typed(self, node: Node, depth: int) -> tuple[ast.expr, bool]:
        """Return the arithmetic, and whether C computes it in floating point."""
        if depth > DEEPEST:
            raise Unreadable(text_of(node))
        parts = [each for each in node.named_children if each.type != "comment"]
        match node.type:
            case "number_literal":
                return literal(text_of(node))
            case "char_literal" if len(text_of(node)) == len("'N'"):
                return ast.Constant(ord(text_of(node)[1])), False
            case "identifier" | "type_identifier":
                return self._named(text_of(node), depth)
            case "qualified_identifier":
                of_class = member_constant(self, text_of(node), depth)
                return self._named(text_of(node).rpartition("::")[2], depth) if of_class is None else (of_class, False)
            case "parameter_declaration":  # an argument of what looks like the declaration of a function
                return self._typed(parse_expression(text_of(node)), depth + 1)
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
            case "sizeof_expression" if (size := "".join(text_of(node).split())) in self.names:
                return self.names[size], False
            case "sizeof_expression":
                if (known := type_size(self, text_of(parts[0]).strip("() "), depth)) is not None:
                    return known.nbytes, False
            case "field_expression" | "subscript_expression" if text_of(node) in self.names:
                return self.names[text_of(node)], self._is_real(text_of(node))
            case "field_expression" if text_of(node).startswith("this->"):
                return self._named(text_of(node).removeprefix("this->"), depth)
            case "field_expression":
                owner, _, axis = text_of(node).partition(".")
                if axis in ("x", "y", "z") and (dimensions := self._dimensions(owner, depth + 1)) is not None:
                    reader, part = [*dimensions, *[(self, ONE)] * 2]["xyz".index(axis)]
                    return reader.number(part, depth + 1), False
                return self._member_of(owner, axis, depth)
            case "binary_expression" if (name := compound_name(text_of(node))) in self.names:
                return self.names[name], False
            case "binary_expression":
                return self._binary(node, depth)
            case "conditional_expression" if len(parts) == 3:
                return self._alternative(parts, depth)
            case "call_expression" if text_of(node) in self.inputs:
                return ast.Constant(self.inputs[text_of(node)]), False
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
                return extreme(function, *values)
            if len(values) == 2:
                return typed_choice(self._typed(parts[0], depth + 1)[0], *values)
            if len(values) != 1:
                raise
            return values[0]

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
        if name in ("pow", "powf") and len(typed) == 2 and (power := _power(typed[0][0], typed[1][0])) is not None:
            return power, True
        if (value := self._returned(node)) is not None:
            with contextlib.suppress(Unreadable):
                return value[0]._typed(value[1], depth + 1)
        if _CEILING.search(name) and len(typed) == 2:
            return ceiling(typed[0][0], typed[1][0]), False
        raise Unreadable(text_of(node))


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


def _power(base: ast.expr, exponent: ast.expr) -> ast.expr | None:
    """Return a power of whole numbers that fits a size; None for others."""
    number, times = constant(base), constant(exponent)
    return ast.Constant(number**times) if number is not None and times is not None and 0 <= times < 32 else None

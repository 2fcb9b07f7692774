"""Conditions that every value of an unsigned variable meets, such as ``p >= 0``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mmcore_cuda.cuda_source.parameters import parameter_of
from mmcore_cuda.cuda_source.tree import Node, identifiers, initializers, root_of, text_of, walk, without_parentheses

_UNSIGNED = re.compile(
    r"(?:(?:long|int|short|char) )*unsigned(?: (?:long|int|short|char))*|(?:std::)?(?:size_t|uintptr_t|"
    r"uint(?:_fast|_least)?(?:8|16|32|64)_t)|uint|ulong|ulonglong|ushort|uchar"
)
_NARROW = re.compile(r"(?:.* )?(?:char|short)(?: .*)?|(?:std::)?uint(?:_least)?(?:8|16)_t|ushort|uchar")
_INT = ("int", "signed", "signed int", "int32_t")
_ZERO, _MINUS_ONE = re.compile(r"0[uUlLzZ]*"), re.compile(r"- ?1")
_MIRRORED = {"<=": ">=", "<": ">"}
_ALIAS = r"\busing\s+{0}\s*=\s*([\w: ]+);|\btypedef\s+([\w: ]+?)\s+{0}\s*;"
_CAST = re.compile(r"static_cast<\s*([\w: ]+?)\s*>")
_OF_THREADS = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def always_met(condition: Node, function: Node) -> str:
    """Return why a condition in a function is met by every value of an unsigned variable, as a clause; "" if not.

    A number of 8 or 16 bits is compared as an int, so that it is also always greater than -1.
    """
    comparison = without_parentheses(condition)
    while comparison.type == "condition_clause" and len(comparison.named_children) == 1:
        comparison = without_parentheses(comparison.named_children[0])
    if comparison.type != "binary_expression":
        return ""
    left, sign, right = comparison.children
    operator = text_of(sign)
    if operator in _MIRRORED:
        left, operator, right = right, _MIRRORED[operator], left
    types = {*_types(text_of(left), function)} if left.type == "identifier" else set()
    if not types or not all(map(_UNSIGNED.fullmatch, types)):
        return ""
    is_narrow, number = all(map(_NARROW.fullmatch, types)), text_of(right)
    if (operator == ">=" and _ZERO.fullmatch(number)) or (
        operator == ">" and is_narrow and _MINUS_ONE.fullmatch(number)
    ):
        return f"{text_of(left)} is unsigned, so that {text_of(comparison)} is always true"
    return ""


def _types(name: str, function: Node) -> Iterator[str]:
    """Yield the type of each variable or parameter of a name in a function; "" for an unknown type."""
    for type_, value in _declared(name, function):
        yield _deduced(value, function) if type_ == "auto" and value is not None else type_


def _declared(name: str, function: Node) -> Iterator[tuple[str, Node | None]]:
    """Yield the type as declared, and the first value, of each variable or parameter; a pointer's type is ""."""
    for node in walk(function):
        if node.type == "parameter_declaration" and (parameter := parameter_of(node)).name == name:
            yield "" if parameter.pointer else _written(parameter.type, node), None
        elif node.type == "declaration" and (written := node.child_by_field_name("type")) is not None:
            values = dict(initializers(node))
            for each in node.children_by_field_name("declarator"):
                if identifiers(each)[:1] == [name]:
                    is_plain = each.type == "identifier" or each.children[0].type == "identifier"
                    yield _written(text_of(written), node) if is_plain else "", values.get(name)


def _written(type_: str, node: Node) -> str:
    """Return a type as written, or the type that the source defines its name as."""
    type_ = " ".join(type_.split())
    if _UNSIGNED.fullmatch(type_) or not type_.isidentifier():
        return type_
    alias = re.search(_ALIAS.format(re.escape(type_)), text_of(root_of(node)))
    return " ".join((alias[1] or alias[2]).split()) if alias else type_


def _deduced(value: Node, function: Node) -> str:
    """Return the type of a cast, or "unsigned" for a sum or product of unsigned numbers and int; "" for others."""
    value = without_parentheses(value)
    if value.type == "cast_expression" and (cast := value.child_by_field_name("type")) is not None:
        return _written(text_of(cast), function)
    if value.type == "call_expression" and (named := _CAST.fullmatch(text_of(value.children[0]))):
        return _written(named[1], function)
    if value.type == "field_expression" and text_of(value.children[0]) in _OF_THREADS:
        return "unsigned"
    if value.type == "number_literal":
        return "unsigned" if "u" in text_of(value).lower() else "int" if text_of(value).isdecimal() else ""
    if value.type == "identifier":
        types = {type_ for type_, _ in _declared(text_of(value), function)}
        return types.pop() if len(types) == 1 else ""
    if value.type != "binary_expression" or text_of(value.children[1]) not in ("+", "-", "*", "/", "%"):
        return ""
    parts = [_deduced(each, function) for each in (value.children[0], value.children[2])]
    narrow = [bool(_NARROW.fullmatch(each)) or each in _INT for each in parts]
    wide = [bool(_UNSIGNED.fullmatch(each)) and not is_small for each, is_small in zip(parts, narrow, strict=True)]
    known = all(one or other for one, other in zip(narrow, wide, strict=True))
    return "unsigned" if known and any(wide) else "int" if known else ""

"""The classes and enumerations that a source names, also by aliases and templates: their constants and types."""

from __future__ import annotations

import ast
import contextlib
import functools
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.parameters import Parameter, is_const
from mmcore_cuda.cuda_source.structures import template_parameters
from mmcore_cuda.cuda_source.template_arguments import template_arguments
from mmcore_cuda.cuda_source.tree import Node, ancestors, text_of, walk
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable, parse_expression
from mmcore_sources.cuda_file.inference.expressions import evaluate
from mmcore_sources.cuda_file.inference.host_calls import passed
from mmcore_sources.cuda_file.inference.quotients import constant
from mmcore_sources.cuda_file.inference.roles import scalar_type

if TYPE_CHECKING:
    from mmcore_sources.cuda_file.inference.host_code import Reader

TYPES = ("typename", "class")
"""The types of a template's parameters that are types."""

_CLASSES = ("struct_specifier", "class_specifier")
_ALIASES = ("alias_declaration", "type_definition")
_DEFINITIONS = (*_CLASSES, *_ALIASES, "enum_specifier")
_LOCAL = ("function_definition", "field_declaration_list")  # what is in these has no name in the file
_WORDS = ("typename ", "struct ", "class ", "enum ", "const ")
_DEEPEST = 12


class Definition(NamedTuple):
    """The definition of a class or enumeration, and the reader of the expressions in it."""

    node: Node
    reader: Reader

    @property
    def is_enumeration(self) -> bool:
        return self.node.type == "enum_specifier"


def definition_of(reader: Reader, type_: str, depth: int = 0) -> Definition | None:
    """Return the definition that a type's name means where a reader reads; None for another type."""
    reader, type_ = _settled(reader, type_, depth)
    node, arguments = _defined(reader, type_), template_arguments(type_)[1]
    if node is None or depth > _DEEPEST:
        return None
    inside = _inside(reader, node, arguments, depth)
    if node.type in _ALIASES:
        return definition_of(inside, _aliased(node), depth + 1)
    return Definition(node, inside)


def type_name(reader: Reader, type_: str, depth: int = 0) -> str:
    """Return the name that a type has outside of all namespaces and functions; empty if that is unknown.

    The arguments of its template are numbers and such names.
    """
    reader, type_ = _settled(reader, type_, depth)
    node, (name, arguments) = _defined(reader, type_), template_arguments(type_)
    if node is None or depth > _DEEPEST:
        return type_ if scalar_type(type_) else ""
    parameters = template_parameters(node)
    written = [template_argument(reader, *each, depth + 1) for each in zip(parameters, arguments, strict=False)]
    if "" in written or (parameters and not arguments and not parameters[0].default):
        return ""
    word = name.rpartition("::")[2] if parameters else _name(node)  # the name of a specialisation has its arguments
    return _qualified(node, word) + (f"<{', '.join(written)}>" if parameters else "")


def template_argument(reader: Reader, parameter: Parameter, text: str, depth: int = 0) -> str:
    """Return an argument of a template as it is written outside of all namespaces and functions; empty if unknown."""
    if parameter.type in TYPES:
        return type_name(reader, text, depth)
    number = reader.whole(text)
    return "" if number is None else f"{enumeration_cast(reader, parameter.type)}{number}"


def enumeration_cast(reader: Reader, type_: str) -> str:
    """Return the cast of a number to an enumeration, such as "(lib::Op)"; empty for another type."""
    definition = definition_of(reader, type_)
    return f"({type_name(reader, type_)})" if definition is not None and definition.is_enumeration else ""


def enumerators(reader: Reader, type_: str) -> dict[str, int]:
    """Return the numbers of an enumeration's constants by name; none of another type."""
    definition = definition_of(reader, type_)
    numbers = constants_of(definition) if definition is not None and definition.is_enumeration else {}
    return {name: number for name, each in numbers.items() if (number := constant(each)) is not None}


def member_constant(reader: Reader, name: str, depth: int = 0) -> ast.expr | None:
    """Return the constant of a class or enumeration that a name such as "Config::BM" means; None for another name."""
    owner, _, word = name.rpartition("::")
    definition = definition_of(reader, owner, depth)
    return None if definition is None else constants_of(definition, depth).get(word)


def constants_of(definition: Definition, depth: int = 0) -> dict[str, ast.expr]:
    """Return the constants of a class, with those of its bases, or of an enumeration, by name."""
    found = dict[str, ast.expr]()
    reader = definition.reader
    for base in _bases(definition.node) if depth < _DEEPEST else ():
        inherited = definition_of(reader, base, depth + 1)
        found |= constants_of(inherited, depth + 1) if inherited is not None else {}
    for name, value in _values(definition.node):
        inside = replace(reader, names={**reader.names, **found})
        with contextlib.suppress(Unreadable):
            found[name] = _simplified(value if isinstance(value, ast.expr) else inside.number(value, depth + 1))
    return found


def _values(node: Node) -> Iterator[tuple[str, Node | ast.expr]]:
    """Yield the names and values of the constants in a class or enumeration; a value may use names before it."""
    body, before = node.child_by_field_name("body"), ""
    for each in body.named_children if body is not None else ():
        written = each.child_by_field_name("type")
        if each.type == "enumerator":
            value, name = each.child_by_field_name("value"), text_of(each.named_children[0])
            yield name, value or (parse_expression(f"{before} + 1") if before else ast.Constant(0))
            before = name
        elif each.type == "field_declaration" and written is not None and written.type == "enum_specifier":
            yield from _values(written)
        elif each.type == "field_declaration" and is_const(each):
            names = map(text_of, each.children_by_field_name("declarator"))
            yield from zip(names, each.children_by_field_name("default_value"), strict=False)


def _simplified(number: ast.expr) -> ast.expr:
    """Return a whole number that names no parameter as a constant, and other numbers as they are."""
    with contextlib.suppress(InvalidKernel):
        value = evaluate(number, {})
        return ast.Constant(value) if isinstance(value, int) else number
    return number


def _bases(node: Node) -> list[str]:
    clauses = (each for each in node.children if each.type == "base_class_clause")
    return [text_of(each) for clause in clauses for each in clause.named_children if each.type != "access_specifier"]


def _settled(reader: Reader, type_: str, depth: int) -> tuple[Reader, str]:
    """Return what a type's name means that a host function, a template or a class gives, and the reader of that."""
    for _ in range(_DEEPEST):
        for word in _WORDS:
            type_ = type_.strip().removeprefix(word)
        owner, _, word = type_.rpartition("::") if not type_.endswith(">") else ("", "", type_)
        given = _member_type(reader, owner, word, depth + 1) if owner else _given(reader, type_)
        if given is None:
            break
        reader, type_ = given
    return reader, type_


def _given(reader: Reader, name: str) -> tuple[Reader, str] | None:
    """Return the type that a host function's template or alias, or the template of a class, gives a name."""
    scope = reader.scope if reader.scope is not None and reader.scope.type == "function_definition" else None
    if scope is not None and (argument := passed(scope, name, reader.call)) is not None:
        return reader.caller(argument), text_of(argument.value)
    aliases = (each for each in walk(scope) if each.type in _ALIASES) if scope is not None else ()
    if (alias := next((each for each in aliases if _name(each) == name), None)) is not None:
        return reader, _aliased(alias)
    meant = reader.source.types.get(name, name)
    return (reader, meant) if meant != name and _defined(reader, name) is None else None


def _member_type(reader: Reader, owner: str, name: str, depth: int) -> tuple[Reader, str] | None:
    """Return the type that an alias in a class, or in one of its bases, names."""
    definition = definition_of(reader, owner, depth) if depth <= _DEEPEST else None
    body = definition.node.child_by_field_name("body") if definition is not None else None
    for each in body.named_children if body is not None else ():
        if definition is not None and each.type in _ALIASES and _name(each) == name:
            return definition.reader, _aliased(each)
    for base in _bases(definition.node) if definition is not None else ():
        if definition is not None and (found := _member_type(definition.reader, base, name, depth + 1)) is not None:
            return found
    return None


def _inside(reader: Reader, node: Node, arguments: list[str], depth: int) -> Reader:
    """Return the reader of the expressions in a class or alias, whose template has these arguments."""
    inside = replace(reader, scope=None, line=0, call=None, callers=())
    for position, each in enumerate(template_parameters(node)):
        around, text = (reader, arguments[position]) if position < len(arguments) else (inside, each.default)
        if each.type in TYPES:
            source = inside.source
            meant = type_name(around, text, depth + 1) if text else ""
            inside = replace(inside, source=replace(source, types={**source.types, each.name: meant or text}))
        elif text:
            with contextlib.suppress(Unreadable):
                number = _simplified(around.number(parse_expression(text), depth + 1))
                inside = replace(inside, names={**inside.names, each.name: number})
    return inside


def _defined(reader: Reader, type_: str) -> Node | None:
    """Return the definition of a name in the program's files; that of a specialisation before its template's."""
    word = template_arguments(type_)[0].rpartition("::")[2]
    for root in (reader.source.root, *(each for _, each in reader.source.others)):
        definitions = _definitions(root)
        if (node := definitions.get(_without_spaces(type_)) or definitions.get(word)) is not None:
            return node
    return None


@functools.lru_cache(maxsize=16)
def _definitions(root: Node) -> dict[str, Node]:
    """Return the first definition of each class, enumeration and alias of a file by name."""
    found = dict[str, Node]()
    for node in (each for each in walk(root) if each.type in _DEFINITIONS):
        meant = node.child_by_field_name("type") if node.type in _ALIASES else None
        has_body = (meant or node).child_by_field_name("body") is not None
        if (
            has_body == (meant is None)
            and (name := _name(node))
            and not any(each.type in _LOCAL for each in ancestors(node))
        ):
            found.setdefault(_without_spaces(name), node)
    return found


def file_types(root: Node) -> list[str]:
    """Return the names of the classes, enumerations and aliases that a file defines outside of functions."""
    return list(_definitions(root))


def _name(node: Node) -> str:
    """Return the name of a class, an enumeration or an alias; empty without one."""
    above = node.parent
    typedef = above if above is not None and above.type == "type_definition" else node
    named = node.child_by_field_name("name") or typedef.child_by_field_name("declarator")
    return "" if named is None else text_of(named)


def _aliased(alias: Node) -> str:
    """Return the type that an alias names."""
    written = alias.child_by_field_name("type")
    return "" if written is None else text_of(written)


def _without_spaces(text: str) -> str:
    return text.replace(" ", "")


def _qualified(node: Node, word: str) -> str:
    """Return a name with the namespaces around its definition."""
    around = [each.child_by_field_name("name") for each in ancestors(node) if each.type == "namespace_definition"]
    return "::".join([*(text_of(each) for each in reversed(around) if each is not None), word])

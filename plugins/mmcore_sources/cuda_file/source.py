"""A CUDA source as its text has it: kernels, launches, macros and constants, found in its syntax tree."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from mmcore_cuda.nvrtc.directives import readable

_QUALIFIER = re.compile(r"\b(?:const|volatile|struct|register|__restrict__|__restrict|__grid_constant__)\b")
_POINTERS = ("pointer_declarator", "array_declarator", "reference_declarator")
# Attributes that the grammar does not know, with what stands in their parentheses, three deep.
_ATTRIBUTE = re.compile(r"\b__(?:cluster_dims|block_size|maxnreg)__\s*\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\)")
# What all names in are declared, though the grammar has no field for them.
_OF_NAMES = (
    *("reference_declarator", "structured_binding_declarator", "variadic_declarator", "preproc_params"),
    *("type_parameter_declaration", "variadic_type_parameter_declaration"),
)


@dataclass(frozen=True)
class Macro:
    """A macro: its parameters (None for one that is no function), its text, and whether a user can define it first;
    ``place`` is its line, and its file where that is a header.
    """

    name: str
    parameters: tuple[str, ...] | None
    text: str
    place: str
    guarded: bool


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function or template: its type without qualifiers or stars, and a template's default.

    ``row`` is how long the rows of an array of arrays are, as in ``float a[N][N]``.
    """

    name: str
    type: str
    pointer: bool = False
    const: bool = False
    default: str = ""
    row: str = ""

    def __str__(self) -> str:
        return f"{'const ' * self.const}{self.type}{'*' * self.pointer} {self.name}".strip()


@dataclass(frozen=True)
class Function:
    """A ``__global__`` function that has a body; ``name`` has its namespaces, ``bounds`` the threads of its block."""

    name: str
    template: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    body: Node
    bounds: str = ""

    @property
    def word(self) -> str:
        return self.name.rpartition("::")[2]


@dataclass(frozen=True)
class HostLaunch:
    """A launch in the host's half: ``name<template><<<grid, block, shared>>>(arguments)``, and where it stands."""

    name: str
    template: tuple[str, ...]
    geometry: tuple[Node, ...]
    arguments: tuple[Node, ...]
    line: int
    scope: Node


@dataclass(frozen=True)
class Source:
    """What a file has, the line where it ceases to be C++ (0 where that is nowhere), whether it asks for all blocks of
    the grid, and the names that anything in it declares.
    """

    functions: tuple[Function, ...]
    launches: tuple[HostLaunch, ...]
    macros: dict[str, Macro]
    constants: dict[str, Node]
    types: dict[str, str]
    error_line: int
    whole_grid: bool
    declared: frozenset[str]

    def with_header(self, name: str, text: str) -> Source:
        """The same with what a header gives names to; what it has by a name that the file has too does not count."""
        header = read_source(text)
        placed = {each.name: replace(each, place=f"{each.place} of {name}") for each in header.macros.values()}
        return replace(
            self,
            macros=placed | self.macros,
            constants=header.constants | self.constants,
            types=header.types | self.types,
            declared=header.declared | self.declared,
        )


def text_of(node: Node) -> str:
    """The text of a node, on one line."""
    return " ".join((node.text or b"").decode(errors="replace").split())


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it in their order, without what stands behind ``#if 0``."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        condition = each.child_by_field_name("condition") if each.type == "preproc_if" else None
        if condition is not None and text_of(condition) in ("0", "false"):
            alternative = each.child_by_field_name("alternative")
            waiting += [] if alternative is None else [alternative]
            continue
        yield each
        waiting += reversed(each.children)


def parse(text: str) -> Node:
    """Return the syntax tree of some source; what is no C++ has nodes of type ERROR in it."""
    known = _ATTRIBUTE.sub(lambda found: re.sub(r"[^\r\n]", " ", found[0]), text).encode()
    parser = Parser(Language(tree_sitter_cuda.language()))
    tree = parser.parse(known)
    return (parser.parse(readable(known)) if tree.root_node.has_error else tree).root_node


@functools.lru_cache(maxsize=32)
def read_source(text: str) -> Source:
    """What a source has, by its text."""
    functions: dict[str, Function] = {}
    launches: list[HostLaunch] = []
    macros: dict[str, Macro] = {}
    constants: dict[str, Node] = {}
    types: dict[str, str] = {}
    error_line, whole_grid = 0, False
    declared = set[str]()
    for node in walk(parse(text)):
        declared |= set(map(text_of, _declared(node)))
        if not error_line and (node.is_missing or node.type == "ERROR"):
            error_line = node.start_point.row + 1
        if node.type == "function_definition" and any(child.type == "__global__" for child in node.children):
            function = _function(node)
            if function is not None:
                functions.setdefault(function.name, function)
        elif node.type == "call_expression" and any(child.type == "kernel_call_syntax" for child in node.children):
            launches.append(_launch(node))
        elif node.type == "call_expression" and text_of(node.children[0]).rpartition("::")[2] == "this_grid":
            whole_grid = True
        elif node.type in ("preproc_def", "preproc_function_def"):
            macro = _macro(node)
            macros.setdefault(macro.name, macro)
        elif node.type == "declaration" and re.match(r"(?:static |inline )*(?:const|constexpr)\b", text_of(node)):
            if _scope(node).type == "translation_unit":
                constants |= dict(initialised(node))
        elif node.type == "enumerator" and (value := node.child_by_field_name("value")) is not None:
            constants.setdefault(text_of(node.children[0]), value)
        elif node.type == "type_definition" and len(words := text_of(node).rstrip(";").split()) == 3:
            types[words[2]] = words[1]
        elif node.type == "alias_declaration" and len(words := text_of(node).rstrip(";").split()) == 4:
            types[words[1]] = words[3]
    found = tuple(functions.values()), tuple(launches), macros, constants, types
    return Source(*found, error_line, whole_grid, frozenset(declared))


def _declared(node: Node) -> list[Node]:
    """The names that a node gives something; those in ``#ifdef`` are asked for only."""
    named = [*node.children_by_field_name("name"), *node.children_by_field_name("declarator")]
    named = node.named_children if node.type in _OF_NAMES else named if node.type != "preproc_ifdef" else []
    return [each for each in named if each.type.endswith("identifier")]


def initialised(declaration: Node) -> Iterator[tuple[str, Node]]:
    """The names that a declaration gives a value, with that."""
    for child in declaration.named_children:
        if child.type == "init_declarator":
            name, value = child.child_by_field_name("declarator"), child.child_by_field_name("value")
            if name is not None and value is not None:
                yield text_of(name).lstrip("*& "), value


def _scope(node: Node) -> Node:
    """The function or file that a node stands in."""
    while node.parent is not None and node.type != "function_definition":
        node = node.parent
    return node


def _function(node: Node) -> Function | None:
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
        inner = above.child_by_field_name("name") if above.type == "namespace_definition" else None
        names += [] if inner is None else [text_of(inner)]
        above = above.parent
    bounds = next((child.named_children for child in node.children if child.type == "launch_bounds"), [])
    return Function(
        "::".join(reversed(names)),
        tuple(map(_parameter, template.named_children)) if template is not None else (),
        tuple(_parameter(each) for each in parameters.named_children if each.type.endswith("parameter_declaration")),
        body,
        text_of(bounds[0]) if bounds else "",
    )


def _parameter(node: Node) -> Parameter:
    """A parameter of a function, or of a template, whose types are "typename"."""
    if node.type.endswith("type_parameter_declaration"):
        name, _, default = text_of(node).partition("=")
        return Parameter(name.split()[-1], "typename", default=default.strip())
    before, _, default = text_of(node).partition("=")
    declarator = node.child_by_field_name("declarator")
    pointer, name = False, ""
    while declarator is not None:
        pointer |= declarator.type in _POINTERS
        name = text_of(declarator)
        declarator = declarator.child_by_field_name("declarator") or next(
            (child for child in declarator.named_children if child.type in (*_POINTERS, "identifier")), None
        )
    name = name.strip("*& ").split()[-1] if name.strip("*& ") else ""
    written = before.partition("*")[0].partition("[")[0]
    if not pointer or "*" not in before:
        written = re.sub(rf"\b{re.escape(name)}\b\s*$", "", written) if name else written
    words = " ".join(_QUALIFIER.sub(" ", written).replace("&", " ").split())
    brackets = re.findall(r"\[([^\]]*)\]", before)
    row = brackets[-1].strip() if len(brackets) > 1 or (brackets and "(*" in before) else ""
    const = before.lstrip().startswith("const") or " const " in written
    return Parameter(name, words, pointer, const, default.strip(), row)


def _launch(node: Node) -> HostLaunch:
    called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    template: tuple[str, ...] = ()
    name = "" if called is None else text_of(called)
    if called is not None and (listed := called.child_by_field_name("arguments")) is not None:
        template = tuple(map(text_of, listed.named_children))
        name = name.partition("<")[0]
    geometry = next(child for child in node.children if child.type == "kernel_call_syntax")
    given = () if arguments is None else tuple(each for each in arguments.named_children if each.type != "comment")
    line = node.start_point.row + 1
    return HostLaunch(name, template, tuple(geometry.named_children), given, line, _scope(node))


def _macro(node: Node) -> Macro:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    listed = node.child_by_field_name("parameters")
    word = "" if name is None else text_of(name)
    text = re.sub(r"//.*|/\*.*?\*/", "", "" if value is None else text_of(value).replace("\\ ", " ")).strip()
    above = node.parent
    condition = text_of(above).splitlines()[0] if above is not None and above.type == "preproc_ifdef" else ""
    parameters = None if listed is None else tuple(map(text_of, listed.named_children))
    return Macro(word, parameters, text, f"line {node.start_point.row + 1}", condition.startswith(f"#ifndef {word} "))

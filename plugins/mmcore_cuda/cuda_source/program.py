"""The program in a CUDA source: its kernels, launches, macros, constants and types."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from mmcore_cuda.cuda_source.api_launches import api_launch
from mmcore_cuda.cuda_source.default_macros import default_group
from mmcore_cuda.cuda_source.expanded_macros import Definition, Macros
from mmcore_cuda.cuda_source.functions import Function, function_of, without_duplicates
from mmcore_cuda.cuda_source.parameters import Parameter, is_const
from mmcore_cuda.cuda_source.structures import (
    members_of,
    members_of_instance,
    names_of_structure,
    template_parameters,
    unpacked,
)
from mmcore_cuda.cuda_source.tokens import without_comments
from mmcore_cuda.cuda_source.tree import (
    Node,
    children_without_comments,
    initializers,
    instance_of,
    parse,
    text_of,
    walk,
)

_TYPE = r"((?:const )?(?:(?:(?:un)?signed|long) )*\w+(?:<[\w:, ]*>)?(?: const)?(?: ?\* ?(?:const|__restrict__)?)?)"
_LENGTHS = r"((?: ?\[[^\[\]]+\]){0,2})"  # of an array, or of an array of arrays
_TYPEDEF = re.compile(rf"typedef {_TYPE} ?\b(\w+){_LENGTHS};")
_ALIAS = re.compile(rf"using (\w+) ?= ?{_TYPE}{_LENGTHS};")
_OF_ROWS = re.compile(r"(.+)\(\*\)\[(.+)\]")
_MOST_ALIASES = 4
# Nodes all of whose children are names, although the grammar has no field for them.
_NAMES_ONLY = (
    *("reference_declarator", "structured_binding_declarator", "variadic_declarator", "preproc_params"),
    *("type_parameter_declaration", "variadic_type_parameter_declaration"),
)


@dataclass(frozen=True)
class Macro:
    """A macro."""

    name: str
    parameters: tuple[str, ...] | None  # None unless it is a macro with parameters
    text: str  # its replacement, without comments
    place: str  # its line, and its file if that is a header
    group: tuple[str, ...]  # itself and the other defaults under its ``#ifndef``; none unless the user may define it

    @property
    def signature(self) -> str:
        """The macro as ``#define`` names it: with its parameters."""
        return self.name if self.parameters is None else f"{self.name}({', '.join(self.parameters)})"


@dataclass(frozen=True)
class HostLaunch:
    """A launch in the host code: ``name<template><<<grid, block, shared>>>(arguments)``, its line and its function.

    ``call`` is the call of that function which passes the kernel to it, if one does. ``file`` is the name of another
    file that contains the launch.
    """

    name: str
    template: tuple[str, ...]
    geometry: tuple[Node, ...]
    arguments: tuple[Node, ...]
    line: int
    scope: Node
    call: Node | None = None
    file: str = ""

    @property
    def place(self) -> str:
        return f"line {self.line} of {self.file}" if self.file else f"line {self.line}"


@dataclass(frozen=True)
class Program:
    """The content of a source."""

    functions: tuple[Function, ...]  # this and the next seven: what it defines, by name
    launches: tuple[HostLaunch, ...]
    macros: dict[str, Macro]
    constants: dict[str, Node]
    types: dict[str, str]
    structures: dict[str, tuple[Parameter, ...]]
    generic: dict[str, tuple[Parameter, ...]]  # the parameters of each structure that is a template
    instances: dict[str, HostLaunch]  # the explicit instantiations of ``__global__`` templates, without launch
    error_line: int  # the first line that is not C++; 0 if there is none
    cooperative: bool  # True if it synchronises the whole grid
    declared: frozenset[str]  # all names that it declares
    text: str  # the source without comments
    root: Node  # its tree, in which macros are expanded
    of_headers: tuple[Definition, ...]  # the macros of the headers that were known
    included: tuple[Function, ...] = ()  # the functions that its headers define
    others: tuple[tuple[str, Node], ...] = ()  # the trees of its headers and of other files, by name

    def function(self, name: str) -> Function | None:
        """Return the first function of a name, with or without its namespaces; None without one."""
        return next((each for each in self.functions if each.is_named(name)), None)

    def with_header(self, name: str, text: str) -> Program:
        """Return the program with a header's macros, constants and types; its own definitions win."""
        header = read_program(text, self.of_headers)
        placed = {each.name: replace(each, place=f"{each.place} of {name}") for each in header.macros.values()}
        return replace(
            self,
            macros=placed | self.macros,
            constants=header.constants | self.constants,
            types=header.types | self.types,
            structures=header.structures | self.structures,
            generic=header.generic | self.generic,
            included=(*self.included, *header.functions),
            others=(*self.others, (name, header.root)),
            launches=(*self.launches, *(replace(each, file=name) for each in header.launches)),
            declared=header.declared | self.declared,
        )

    def with_products_of_headers(self, is_product: Callable[[Function, Program], bool], entry: str) -> Program:
        """Return the program with the matrix products of its headers if it has none itself, or not the entry's.

        A program that only launches kernels of other files keeps its own functions.
        """
        own = map(self._with_members, self.functions)
        if any(each.is_named(entry) or (not entry and is_product(each, self)) for each in own):
            return self
        launched = {each.name.rpartition("::")[2] for each in self.launches if not each.file}
        launched -= {each.word for each in self.functions}
        if not entry and launched and launched.isdisjoint(each.word for each in self.included):
            return self
        products = tuple(each for each in self.included if is_product(self._with_members(each), self))
        return replace(self, functions=products) if products else self

    def with_launches(self, name: str, text: str) -> Program:
        """Return the program with the launches in another file, and the names of that file where its own lack them."""
        other = self.with_header(name, text)
        launches = (replace(each, file=name) for each in read_program(text, self.of_headers).launches)
        return replace(other, launches=(*self.launches, *launches), declared=self.declared)

    def with_members(self) -> Program:
        """Return the program with its types' names replaced, and structures passed by value unpacked."""
        return replace(self, functions=tuple(map(self._with_members, self.functions)))

    def _with_members(self, function: Function) -> Function:
        parameters = map(self._resolved, function.parameters)
        members = ((each, () if each.pointer else self.members(each.type)) for each in parameters)
        return replace(function, parameters=unpacked([replace(each, members=found) for each, found in members]))

    def members(self, type_: str) -> tuple[Parameter, ...]:
        """Return the members of a structure, which may be an instance of a template; none of another type."""
        return tuple(map(self._resolved, members_of_instance(type_, self.structures, self.generic)))

    def _resolved(self, parameter: Parameter) -> Parameter:
        """Return a parameter with the type or pointer that its alias names."""
        for _ in range(_MOST_ALIASES):
            meant, row = self.types.get(parameter.type, ""), parameter.row
            if rows := _OF_ROWS.fullmatch(meant):
                meant, row = f"{rows[1]}*", rows[2]
            pointer = meant.endswith("*")
            if not meant or (pointer and parameter.pointer):
                break
            const = parameter.const or (pointer and meant.startswith("const "))
            word = meant.removeprefix("const ").rstrip("* ") if pointer else meant
            parameter = replace(parameter, type=word, pointer=pointer or parameter.pointer, const=const, row=row)
        return parameter


@functools.lru_cache(maxsize=32)
def read_program(text: str, of_headers: tuple[Definition, ...] = ()) -> Program:
    """Return the program in a source, whose headers define the macros ``of_headers``."""
    functions: list[Function] = []
    branches: dict[str, list[int]] = {}  # of the first function of a name
    launches: list[HostLaunch] = []
    macros: dict[str, Macro] = {}
    constants: dict[str, Node] = {}
    types: dict[str, str] = {}
    structures: dict[str, tuple[Parameter, ...]] = {}
    generic: dict[str, tuple[Parameter, ...]] = {}
    instances: dict[str, HostLaunch] = {}
    error_line, cooperative = 0, False
    declared = set[str]()
    defined = Macros(of_headers)
    root = parse(defined.expanded(text.encode()))
    for node in walk(root):
        declared |= set(map(text_of, _declared(node)))
        if not error_line and (node.is_missing or node.type == "ERROR"):
            error_line = node.start_point.row + 1
        match node.type:
            case "function_definition" if any(child.type == "__global__" for child in node.children):
                # Functions in other branches of the preprocessor are alternatives.
                function, around = function_of(node), _branches(node)
                if function is not None and branches.setdefault(function.name, around) == around:
                    functions.append(function)
            case "template_instantiation" if any(child.type == "__global__" for child in node.children):
                instances |= {each.name: each for each in [_launch(node)] if each.name not in instances}
            case "call_expression" if any(child.type == "kernel_call_syntax" for child in node.children):
                launches.append(_launch(node))
            case "call_expression" if (called := api_launch(node, _scope(node))) is not None:
                launches.append(HostLaunch(*called, node.start_point.row + 1, _scope(node)))
            case "call_expression":
                cooperative |= text_of(node.children[0]).rpartition("::")[2] == "this_grid"
            case "preproc_def" | "preproc_function_def":
                macro = _macro(node, defined)
                macros.setdefault(macro.name, macro)
            case "declaration" if is_const(node) and _scope(node).type == "translation_unit":
                constants |= dict(initializers(node))
            case "field_declaration" if is_const(node):
                values = node.children_by_field_name("default_value")
                for name, known in zip(node.children_by_field_name("declarator"), values, strict=False):
                    constants.setdefault(text_of(name), known)
            case "enumerator_list":
                for word, value in _enumerators(node):
                    constants.setdefault(word, value)
            case "struct_specifier" | "class_specifier" if members := members_of(node):
                structures |= dict.fromkeys(names_of_structure(node), members)
                generic |= dict.fromkeys(names_of_structure(node), template_parameters(node))
            case "type_definition" if match := _TYPEDEF.fullmatch(text_of(node)):
                types |= _alias(match[2], match[1], match[3])
            case "alias_declaration" if match := _ALIAS.fullmatch(text_of(node)):
                types |= _alias(match[1], match[2], match[3])
    content = (without_duplicates(functions), tuple(launches), macros, constants, types, structures, generic, instances)
    read = without_comments(text.encode()).decode()
    return Program(*content, error_line, cooperative, frozenset(declared), read, root, of_headers)


def _alias(name: str, text: str, lengths: str) -> dict[str, str]:
    """Return the type of an alias by its name, such as "int" or "const float *"; the type of a value is not const.

    An array with these lengths is a pointer to its elements, an array of arrays one to rows: "float (*)[N]". An array
    of pointers has no entry.
    """
    base, star, _ = text.partition("*")
    words = [word for word in base.split() if word != "const"]
    if not star and not lengths:
        return {name: " ".join(words)}
    row = lengths.partition("]")[2].strip("[] ")
    const = "const " * ("const" in base.split())
    pointer = f"{const}{' '.join(words)} {f'(*)[{row}]' if row else '*'}"
    return {} if star and lengths else {name: pointer}


def _declared(node: Node) -> list[Node]:
    """Return the names that a node declares; ``#ifdef`` only tests a name."""
    if node.type == "preproc_ifdef":
        return []
    fields = [*node.children_by_field_name("name"), *node.children_by_field_name("declarator")]
    return [each for each in (node.named_children if node.type in _NAMES_ONLY else fields)
            if each.type.endswith("identifier")]  # fmt: skip


def _scope(node: Node) -> Node:
    """Return the function or file that contains a node."""
    while node.parent is not None and node.type != "function_definition":
        node = node.parent
    return node


def _branches(node: Node) -> list[int]:
    """Return the conditionals of the preprocessor around a node."""
    found, above = list[int](), node.parent
    while above is not None:
        found += [above.id] if above.type.startswith("preproc") else []
        above = above.parent
    return found


def _launch(node: Node) -> HostLaunch:
    """Return a launch, or the name and the template's arguments of an explicit instantiation."""
    called, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if called is None and (declarator := node.child_by_field_name("declarator")) is not None:
        called = declarator.child_by_field_name("declarator")
    name, template = ("", ()) if called is None else instance_of(called)
    geometry = [child for child in node.children if child.type == "kernel_call_syntax"]
    passed = () if arguments is None else tuple(children_without_comments(arguments))
    extents = tuple(lone_configuration(geometry[0]) or children_without_comments(geometry[0])) if geometry else ()
    return HostLaunch(name, template, extents, passed, node.start_point.row + 1, _scope(node))


def _enumerators(listed: Node) -> Iterator[tuple[str, Node]]:
    """Yield the names and values of an enumeration's constants, each of which is one more than the one before."""
    last, more = "0", 0
    for node in (each for each in listed.named_children if each.type == "enumerator"):
        given = node.child_by_field_name("value")
        last, more = (last, more) if given is None else (text_of(given), 0)
        expressions = walk(parse(f"int _ = ({last} + {more});".encode()))
        yield text_of(node.children[0]), given or next(each for each in expressions if each.type == "binary_expression")
        more += 1


def lone_configuration(configuration: Node) -> list[Node]:
    """Return the grid and the block of ``<<<(grid, block)>>>``, which nvcc refuses; none of other configurations."""
    inner = children_without_comments(configuration)
    for kind in ("parenthesized_expression", "comma_expression"):
        inner = children_without_comments(inner[0]) if len(inner) == 1 and inner[0].type == kind else []
    return inner


def _macro(node: Node, defined: Macros) -> Macro:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    listed, above = node.child_by_field_name("parameters"), node.parent
    word = "" if name is None else text_of(name)
    text = b"" if value is None or value.text is None else without_comments(value.text)
    text = defined.expanded_text(text) if listed is None else text
    parameters = None if listed is None else tuple(map(text_of, listed.named_children))
    return Macro(
        word,
        parameters,
        " ".join(text.decode(errors="replace").split()).replace("\\ ", " "),
        f"line {node.start_point.row + 1}",
        () if above is None else default_group(above),
    )

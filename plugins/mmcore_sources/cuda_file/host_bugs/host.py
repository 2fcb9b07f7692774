"""The host code of a source: its calls in order, its variables, and the values of its expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import HostLaunch, read_program
from mmcore_cuda.cuda_source.tree import (
    Node,
    identifiers,
    initializers,
    outside_functions,
    parse,
    root_of,
    text_of,
    walk,
)
from mmcore_sources.cuda_file.inference.host_calls import calls_of, function_name, passed
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.quotients import constant

_CASTS = ("reinterpret_cast", "static_cast", "const_cast")
_READS = re.compile(r"\b(?:cin|scanf|stoi|atoi)\b")
_VECTOR = re.compile(r"(?:std::)?vector<\s*(\w+)\s*>")
_DEEPEST = 8


class Call(NamedTuple):
    """A call of a function in host code, or a launch."""

    name: str  # without namespaces and template arguments
    arguments: tuple[Node, ...]
    node: Node
    scope: Node  # the function that contains it

    @property
    def line(self) -> int:
        return self.node.start_point.row + 1

    @property
    def is_launch(self) -> bool:
        return any(child.type == "kernel_call_syntax" for child in self.node.children)


class Variable(NamedTuple):
    """A variable of host code; ``array`` says that it is an array with a size, or a vector, and no pointer."""

    type: str  # without qualifiers and stars, with type aliases and macros replaced
    stars: int
    array: bool = False


class HostCode:
    """The functions of a source that run on the host; values that were looked up are remembered."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._values_by_scope: dict[int, list[tuple[str, Node]]] = {}
        self._changed_by_scope: dict[int, set[str]] = {}
        self._declared_by_scope: dict[int, dict[str, list[Variable]]] = {}

    @cached_property
    def root(self) -> Node:
        return read_program(self.text).root

    def contains(self, node: Node) -> bool:
        """Return whether a node is a part of the source, and not of a macro's text, which is parsed by itself."""
        return root_of(node) == self.root

    @cached_property
    def launches(self) -> tuple[HostLaunch, ...]:
        return read_program(self.text).launches

    @cached_property
    def functions(self) -> tuple[Node, ...]:
        """The definitions of functions that run on the host."""
        several = (each for each in walk(self.root) if each.type == "function_definition")
        return tuple(each for each in several if not _of_device(each))

    @property
    def has_main(self) -> bool:
        """True if the source is a whole program."""
        return any(function_name(each) == "main" for each in self.functions)

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The calls in host functions, in their order in the source."""
        return tuple(
            Call(_called(node), _arguments(node), node, function)
            for function in self.functions
            for node in walk(function)
            if node.type == "call_expression"
        )

    def kernel(self, launch: HostLaunch) -> Function | None:
        """Return the kernel that a launch names, if the source defines it."""
        return read_program(self.text).function(launch.name)

    def variable(self, name: str, scope: Node) -> Variable | None:
        """Return a variable of a function or of the file; None if its declaration is absent, or not the only one."""
        declared = self._declared(scope, name) or self._declared(self.root, name)
        return declared[0] if len(set(declared)) == 1 else None

    def declares(self, name: str, scope: Node) -> bool:
        """Return whether a function declares a name."""
        return bool(self._declared(scope, name))

    def is_pointer(self, node: Node, scope: Node) -> bool:
        """Return whether an expression is a pointer or an array by its variable's type, and no element of it."""
        while node.type in ("cast_expression", "parenthesized_expression") and node.named_children:
            node = node.named_children[-1]
        variable = self.variable(text_of(node), scope) if node.type == "identifier" else None
        return variable is not None and variable.stars > 0

    def value(self, node: Node, scope: Node) -> int | None:
        """Return the value of an expression that is the same whenever it is computed; None for others."""
        if self._varies(node, scope, _DEEPEST):
            return None
        try:
            return constant(self.reader(node, scope).number(node))
        except InvalidKernel:
            return None

    def is_read(self, node: Node, scope: Node) -> bool:
        """Return whether an expression depends on a value that the program reads from its user."""
        return any(_READS.search(text_of(each)) for each in self.resolved(node, scope))

    def extents(self, node: Node, scope: Node) -> list[int] | None:
        """Return the constant extents of a block or grid; None if one of them is not constant."""
        if self._varies(node, scope, _DEEPEST):
            return None
        try:
            extents = [constant(each) for each in self.reader(node, scope).extents(node)]
        except InvalidKernel:
            return None
        known = [each for each in extents if each is not None]
        return known if len(known) == len(extents) else None

    def reader(self, node: Node, scope: Node) -> Reader:
        """Return the reader of an expression in a function."""
        return Reader(read_program(self.text), {}, scope, node.start_point.row + 1)

    def resolved(self, node: Node, scope: Node, names: re.Pattern[str] | None = None) -> Iterator[Node]:
        """Yield an expression, and the values of the variables and macros in it whose name matches ``names``."""
        waiting, known = [node], set[str]()
        while waiting:
            expression = waiting.pop()
            yield expression
            for each in walk(expression):
                name = text_of(each) if each.type in ("identifier", "type_identifier") else ""
                if name and name not in known and (names is None or names.search(name)):
                    known.add(name)
                    waiting += self.definitions(name, scope)

    def definitions(self, name: str, scope: Node) -> list[Node]:
        """Return the values that a function gives to a variable, or that the file gives to a constant or macro."""
        program = read_program(self.text)
        found = [value for key, value in self.values(scope) if key.partition(".")[0] == name]
        if not found and name in program.constants:
            found = [program.constants[name]]
        if not found and name in program.macros:
            found = list(parse(f"int _ = ({program.macros[name].text});".encode()).named_children)
        return found

    def values(self, scope: Node) -> list[tuple[str, Node]]:
        """Return the names and values of all initialisations and assignments in a function."""
        if scope.start_byte not in self._values_by_scope:
            self._values_by_scope[scope.start_byte] = [pair for node in walk(scope) for pair in _set_by(node)]
        return self._values_by_scope[scope.start_byte]

    def changed(self, scope: Node) -> set[str]:
        """Return the names that a function or a loop changes by ``++`` or ``+=``, or reads from the user."""
        if scope.start_byte not in self._changed_by_scope:
            self._changed_by_scope[scope.start_byte] = {name for node in walk(scope) for name in _changed(node)}
        return self._changed_by_scope[scope.start_byte]

    def _varies(self, node: Node, scope: Node, depth: int) -> bool:
        """Return whether an expression depends on a variable that is set more than once, or read from the user."""
        names = {text_of(each) for each in walk(node) if each.type in ("identifier", "type_identifier")}
        for name in names:
            values = self.definitions(name, scope)
            if depth == 0 or name in self.changed(scope) or self._settings(name, scope) > 1:
                return True
            if any(self._varies(each, scope, depth - 1) for each in values if name not in text_of(each)):
                return True
            argument = None if values else passed(scope, name)
            if argument is not None:
                above = argument.scope
                if len(calls_of(scope)) > 1 or above is None or self._varies(argument.value, above, depth - 1):
                    return True
        return False

    def _settings(self, name: str, scope: Node) -> int:
        several = [key for key, _ in self.values(scope) if key.partition(".")[0] == name]
        return max((several.count(key) for key in several), default=0)

    def _declared(self, scope: Node, name: str) -> list[Variable]:
        """Return the declarations of a name in a function, or of the file outside its functions."""
        key = -1 if scope.type == "translation_unit" else scope.start_byte
        if key not in self._declared_by_scope:
            found: dict[str, list[Variable]] = {}
            for node in outside_functions(scope) if key < 0 else walk(scope):
                for each, variable in _variables(node):
                    found.setdefault(each, []).append(variable._replace(type=self._plain(variable.type)))
            self._declared_by_scope[key] = found
        return self._declared_by_scope[key].get(name, [])

    def _plain(self, word: str) -> str:
        program = read_program(self.text)
        for _ in range(3):
            word = program.types.get(word) or (program.macros[word].text if word in program.macros else word)
        return word


def name_of(node: Node) -> str:
    """Return the variable that a pointer expression is about, as in ``(void **)&a`` or ``a + 4``; empty for others."""
    parts = [each for each in node.named_children if each.type != "comment"]
    match node.type:
        case "identifier" | "field_expression":
            return text_of(node)
        case "parenthesized_expression" | "pointer_expression" | "subscript_expression" | "binary_expression" if parts:
            return name_of(parts[0])
        case "cast_expression" if parts:
            return name_of(parts[-1])
        case "call_expression":
            function, arguments = node.child_by_field_name("function"), _arguments(node)
            if function is not None and text_of(function).startswith(_CASTS) and arguments:
                return name_of(arguments[0])
            if function is not None and text_of(function).endswith(".data"):
                return text_of(function).removesuffix(".data")
    return ""


def _set_by(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the names and values that a declaration or an assignment sets."""
    if node.type == "declaration":
        yield from initializers(node)
        for each in node.named_children:  # ``dim3 block(x, y)`` looks like the declaration of a function
            parameters = each.child_by_field_name("parameters") if each.type == "function_declarator" else None
            if parameters is not None:
                yield text_of(each.children[0]), parameters
    elif node.type == "assignment_expression" and text_of(node.children[1]) == "=":
        yield text_of(node.children[0]), node.children[2]


def _changed(node: Node) -> Iterable[str]:
    """Return the variables that a node changes by ``++`` or ``+=``, or reads from the user."""
    if node.type == "update_expression":
        return identifiers(node)[:1]
    if node.type == "assignment_expression":
        return () if text_of(node.children[1]) == "=" else identifiers(node.children[0])[:1]
    return identifiers(node) if node.type.endswith("expression") and _READS.match(text_of(node)) else ()


def _variables(node: Node) -> Iterator[tuple[str, Variable]]:
    """Yield the names and types of the variables or the parameter that a node declares."""
    if node.type == "declaration" or (node.type == "parameter_declaration" and not _is_value(node)):
        written = node.child_by_field_name("type")
        for declarator in node.children_by_field_name("declarator"):
            found = _variable(declarator, "" if written is None else text_of(written).removeprefix("struct "))
            if found is not None:
                vector = _VECTOR.fullmatch(found[1].type)
                yield (found[0], Variable(vector[1], 1, array=True)) if vector else found


def _is_value(parameter: Node) -> bool:
    """Return whether a parameter is none, but a value of a variable: ``v(n * n)`` looks like a function."""
    function = parameter.parent.parent if parameter.parent is not None else None
    above = function.parent if function is not None else None
    return above is not None and above.type == "declaration"


def _variable(declarator: Node, word: str) -> tuple[str, Variable] | None:
    """Return the name and type of the variable that a declarator declares.

    ``std::vector<float> v(n * n)`` looks like the declaration of a function.
    """
    stars, array, node = 0, False, declarator
    while node.type != "identifier":
        if node.type in ("pointer_declarator", "array_declarator"):
            stars += 1
            array = array or node.child_by_field_name("size") is not None
        elif node.type not in ("init_declarator", "reference_declarator", "function_declarator"):
            return None
        inner = node.child_by_field_name("declarator") or (node.named_children[-1] if node.named_children else None)
        if inner is None:
            return None
        node = inner
    return text_of(node), Variable(word, stars, array)


def _of_device(function: Node) -> bool:
    marks = {child.type for child in function.children}
    return "__host__" not in marks and bool(marks & {"__global__", "__device__"})


def _called(node: Node) -> str:
    function = node.child_by_field_name("function")
    word = "" if function is None else text_of(function).partition("<")[0]
    return re.split(r"::|\.|->", word)[-1].strip()


def _arguments(node: Node) -> tuple[Node, ...]:
    listed = node.child_by_field_name("arguments")
    return () if listed is None else tuple(each for each in listed.named_children if each.type != "comment")

"""The entities of a CUDA source (functions, classes, members, variables), and edits that remove them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from mmcore_cuda.cuda_source.conditionals import closes, in_body, opens, readable
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.tokens import blank, code, directives, is_renumbered, words
from mmcore_cuda.cuda_source.tree import Node, parse

# Nodes that contain entities.
_SCOPES = (
    *("translation_unit", "declaration_list", "field_declaration_list"),
    *("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef"),
)
_BODIES = ("compound_statement", "initializer_list")
_NO_ENTITIES = ("comment", "access_specifier", "preproc_def", "preproc_function_def", "static_assert_declaration")
_NAMES = (
    *("identifier", "field_identifier", "type_identifier", "namespace_identifier"),
    *("destructor_name", "operator_name", "operator_cast"),
)
_DEVICE = {"__global__", "__device__", "__constant__", "__shared__", "__managed__"}
_NO_RESULT = re.compile(rb"\bvoid\s+\w+\s*\(")
_SPACES = b"__host__ __device__ "
_KEPT_DIRECTIVES = ("if", "el", "endif", "define", "undef")


@dataclass(frozen=True)
class Entity:
    """A part of a source that can be removed without breaking the others."""

    name: str  # the name that it declares; its first words if it declares none
    begin: int
    end: int  # the byte after its last
    text: bytes  # the code from the one to the other
    function: int  # the byte at which a function's specifiers begin; -1 unless it is a function
    specialised: bool  # True if it specialises a template, so that another entity would replace it
    head: bool  # True if the position that it was found at is outside its body
    parsed: bool  # True if the grammar knows it

    @property
    def of_device(self) -> bool:
        """True if something in it is annotated for the device."""
        return of_device(self.text)

    @property
    def of_kernel(self) -> bool:
        return "__global__" in words(self.text)

    @property
    def declared_for_device(self) -> bool:
        """True if it is a function that is annotated for the device."""
        return self.function >= 0 and of_device(self._head)

    @property
    def of_both(self) -> bool:
        """True if it is a ``constexpr`` function, which device and host can call."""
        head = self._head.lower()  # a macro may contain the word: CUTLASS_CONSTEXPR_IF_CXX17
        return self.function >= 0 and (b"constexpr" in head or b"consteval" in head)

    @property
    def for_its_type(self) -> bool:
        """True if it is a function without a body that may only exist for the type of its result."""
        generic = self.text.partition(b"<")[0].strip() == b"template" or b"->" in self._head
        return self.function >= 0 and generic and b"{" not in self.text and _NO_RESULT.search(self._head) is None

    @property
    def _head(self) -> bytes:
        return self.text[max(0, self.function - self.begin) :].partition(b"{")[0]


class EditableSource:
    """A source from which entities are removed step by step; lines keep their numbers."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    @cached_property
    def _root(self) -> Node:
        return parse(self.content)

    @cached_property
    def code(self) -> bytes:
        """The content without comments, strings and directives."""
        return code(self.content)

    @cached_property
    def opens(self) -> bool:
        """True if a bracket other than a namespace's is open at the end."""
        return opens(self._readable_code)

    @cached_property
    def closes(self) -> bool:
        """True if a bracket is closed that was not opened."""
        return closes(self._readable_code)

    @cached_property
    def _readable_code(self) -> bytes:
        return code(readable(self.content))

    def at_file_scope(self, place: int) -> bool:
        """Return whether only namespaces surround a position."""
        node = self._root.named_descendant_for_byte_range(place, place)
        while node is not None and (_is_scope(node) or node.type.startswith("preproc")):
            node = node.parent
        return node is None

    def in_body(self, place: int) -> bool:
        """Return whether a position is in a function's body."""
        return in_body(self._readable_code, place)

    def entity(self, line: int, column: int) -> Entity | None:
        """Return the innermost entity at a position; lines count from 1, and column -1 is the line's first word."""
        lines = self.content.split(b"\n")
        if not 0 < line <= len(lines) or is_renumbered(self.content):
            return None
        text = lines[line - 1]
        column = min(column if column >= 0 else len(text) - len(text.lstrip()), max(0, len(text) - 1))
        node = self._root.descendant_for_point_range((line - 1, column), (line - 1, column))
        candidate, head = None, True
        while node is not None and node.parent is not None:
            if node.type in _BODIES:
                candidate, head = None, False  # code in a body is a statement
            elif candidate is None and node.parent.type in _SCOPES and _may_go(node):
                candidate = node
            node = node.parent
        # After code that it does not know, the grammar may mistake statements for declarations.
        outside = candidate is not None and not in_body(self._readable_code, candidate.start_byte)
        return self._made(candidate, head) if candidate is not None and outside else None

    def entity_from_line(self, line: int, column: int) -> Entity | None:
        """Return the innermost entity at a position, read as if the source began with its line.

        Before it, macros in place of parameters or a body may make the grammar read two entities as one.
        """
        before = sum(len(text) + 1 for text in self.content.split(b"\n")[: line - 1])
        return EditableSource(blank(self.content[:before]) + self.content[before:]).entity(line, column)

    @cached_property
    def entities(self) -> list[Entity]:
        """The entities that are in no other."""
        return list(self._entities())

    def _entities(self) -> Iterator[Entity]:
        pending = [self._root]
        while pending:
            parent = pending.pop()  # looking up a node's parent is slow
            for node in parent.named_children:
                if _is_scope(node):
                    pending.append(node)
                elif parent.type in _SCOPES and _may_go(node):
                    yield self._made(node)

    def remove(self, entity: Entity) -> tuple[int, int]:
        """Replace an entity by blanks, keeping its lines; return the numbers of its first and last line."""
        text = self.content[entity.begin : entity.end]
        remaining = bytearray(blank(text))
        for directive in directives(text):
            if directive.word.startswith(_KEPT_DIRECTIVES):  # the other half of a conditional may be outside
                remaining[directive.begin : directive.end] = text[directive.begin : directive.end]
        first = self.content.count(b"\n", 0, entity.begin) + 1
        self._edit(entity.begin, entity.end, bytes(remaining))
        return first, first + text.count(b"\n")

    def annotate(self, entity: Entity) -> None:
        self._edit(entity.function, entity.function, _SPACES)

    def _edit(self, begin: int, end: int, text: bytes) -> None:
        self.content = self.content[:begin] + text + self.content[end:]
        for known in ("_root", "_readable_code", "code", "opens", "closes", "entities"):
            self.__dict__.pop(known, None)

    def _made(self, node: Node, head: bool = True) -> Entity:
        inner = node
        while inner.type in ("template_declaration", "linkage_specification") and inner.named_children:
            inner = inner.named_children[-1]
        heads = [child for child in inner.named_children if child.type not in ("compound_statement", *_SCOPES)]
        function = inner.type == "function_definition" or any(map(_declares_function, heads))
        text = self._readable_code[node.start_byte : node.end_byte]
        return Entity(
            name=_name(inner) or " ".join(text.decode(errors="replace").split())[:40],
            begin=node.start_byte,
            end=node.end_byte,
            text=text,
            function=inner.start_byte if function else -1,
            specialised=any(child.type == "template_type" for child in inner.children),
            head=head,
            parsed=node.type != "ERROR",
        )


def without_overloads(text: str, function: Function, functions: Iterable[Function]) -> str:
    """Return a source without the functions that share the name of one, which it could not be named apart from."""
    source = EditableSource(text.encode())
    for each in functions:
        same = each.line and each.name == function.name and each.line != function.line
        if same and (entity := source.entity(each.line, -1)) is not None and entity.of_kernel:
            source.remove(entity)
    return source.content.decode(errors="replace")


def of_device(text: bytes) -> bool:
    """Return whether something in a text is annotated for the device."""
    return not _DEVICE.isdisjoint(words(text))


def _may_go(node: Node) -> bool:
    """Return whether a node can be removed alone; a data member cannot, because it affects the layout of its class."""
    if _is_scope(node) or not node.is_named or node.type in _NO_ENTITIES:
        return False
    apart = any(map(_declares_function, node.named_children)) or (node.text or b"").startswith(b"static")
    return node.type != "field_declaration" or apart


def _is_scope(node: Node) -> bool:
    """Return whether a node only contains entities: a namespace, ``extern "C" {``, a branch of ``#if``."""
    body = node.child_by_field_name("body")
    holds = node.type in ("namespace_definition", "linkage_specification")
    return node.type in _SCOPES or (holds and body is not None and body.type == "declaration_list")


def _declares_function(node: Node) -> bool:
    while node.type in ("pointer_declarator", "reference_declarator") and node.named_children:
        node = node.named_children[-1]
    return node.type == "function_declarator"


def _name(node: Node) -> str:
    """Return the name that a declaration declares."""
    named: Node | None = node
    while named is not None and named.type not in _NAMES:
        inner = named.child_by_field_name("declarator") or named.child_by_field_name("name")
        kinds = (*_NAMES, "qualified_identifier")
        others = [child for child in named.named_children if child.type in kinds or "declarator" in child.type]
        named = inner or (others[-1] if others else None)
    return "" if named is None or named.text is None else named.text.decode(errors="replace")

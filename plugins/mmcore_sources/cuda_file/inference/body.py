"""The body of a kernel: its variables, its stores, and the terms of its indexes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.parameters import Parameter
from mmcore_cuda.cuda_source.tree import LOOPS, Node, identifiers, initializers, text_of, walk
from mmcore_sources.cuda_file.inference.loop_limits import loop_limits
from mmcore_sources.cuda_file.inference.variables import Variables

Term: TypeAlias = tuple[str, ...]
"""A product of names, numbers and texts; an index is a sum of such terms."""

BUILT_IN = re.compile(r"\b(blockIdx|threadIdx|blockDim|gridDim)\s*\.\s*([xyz])\b")
_OF_GRID = re.compile(r"\b(blockIdx|gridDim)\s*\.\s*([xyz])\b")
_READ = re.compile(r"\*[^[]*")  # through a pointer without an index
_READS = re.compile(r"(?<!&)\b\w+\[|^\*|\(\*")  # a value instead of an address
_MOST_TERMS = _MOST_FACTORS = 64
_MOST_EXPRESSIONS = 200_000
_ZERO = re.compile(r"0*(?:0\.?|\.0)0*[fF]?")
_COMBINES = re.compile(r"atomic(?:Add|Sub|CAS)|\w+\.fetch_(?:add|sub)|asm.*\b(?:red|atom)\.", re.DOTALL)
_WMMA = re.compile(r"(?:\w+::)*(?:load|store)_matrix_sync")
_CASTS = ("static_cast", "reinterpret_cast", "const_cast", "int", "unsigned", "size_t", "long")


@dataclass(frozen=True)
class Body:
    """The variables and accesses of one kernel.

    Attributes:
        function: the kernel.
        skipped: the first byte and the end of each branch that is never taken.
        constants: the names of the program's constants.
        batch_axis: the axis of the grid that counts the products of a batch, if there is one. Terms call it z, and the
            grid's z by its name.
    """

    function: Function
    skipped: tuple[tuple[int, int], ...] = ()
    constants: frozenset[str] = frozenset()
    batch_axis: str = "z"

    @functools.cached_property
    def _nodes(self) -> list[Node]:
        nodes = list(walk(self.function.body))
        return [each for each in nodes if not any(start <= each.start_byte < end for start, end in self.skipped)]

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """All names in the body."""
        return frozenset(self._words(self.function.body))

    @functools.cached_property
    def variables(self) -> Variables:
        """Its local variables."""
        return Variables(self._nodes)

    @functools.cached_property
    def pointers(self) -> dict[str, str]:
        """The pointer parameter behind each name: its own, and those of local pointers derived from it."""
        parameters = {each.name: each.name for each in self.function.parameters if each.pointer or each.members}
        of_members = self._members(lambda member: member.pointer)
        parameters |= {name: name.partition(".")[0] for name in of_members}
        locals_ = set[str]()
        for node in self._nodes:
            pairs = list[tuple[str, Node]]()
            declared = text_of(node).partition("=")[0] if node.type == "declaration" else ""
            if "*" in declared:
                pairs += initializers(node)
                locals_ |= {*identifiers(node)}
            elif declared.removeprefix("const ").startswith("auto"):
                pairs += [each for each in initializers(node) if not _READS.search(text_of(each[1]))]
            elif node.type == "assignment_expression" and text_of(node.children[0]) in locals_:
                pairs += [(text_of(node.children[0]), node.children[2])]
            for name, value in pairs:
                made_of = {parameters[word] for word in self._words(value) if word in parameters}
                if len(made_of) == 1:
                    parameters.setdefault(name, made_of.pop())
        return parameters

    @functools.cached_property
    def thread_axes(self) -> set[str]:
        """The axes of the thread index that it uses."""
        return {axis for kind, axis in BUILT_IN.findall(text_of(self.function.body)) if kind == "threadIdx"}

    def axis_of(self, axis: str) -> str:
        """Return the name that terms have for an axis of the grid, and the other way round."""
        return {self.batch_axis: "z", "z": self.batch_axis}.get(axis, axis)

    def _text(self, node: Node) -> str:
        """Return the text of a node, with the names of the grid's axes that terms have."""
        if self.batch_axis == "z":
            return text_of(node)
        return _OF_GRID.sub(lambda found: f"{found[1]}.{self.axis_of(found[2])}", text_of(node))

    def loop_bounds(self, sizes: set[str]) -> set[str]:
        """Return the sizes that limit loops, also by local variables, members such as "A.width" among them."""
        limits = [limit for each in self._nodes if each.type in LOOPS for limit in loop_limits(each)]
        factors = (factor for limit in limits for term in self.terms(limit) for factor in term)
        words = {word for factor in factors for word in factor.split()}
        return sizes & (words | {text_of(each) for limit in limits for each in walk(limit)})

    def _words(self, node: Node) -> list[str]:
        """Return the identifiers below a node, and the members of structures passed by value, such as "d.rows"."""
        fields = (each for each in walk(node) if each.type == "field_expression") if self._unpacked else ()
        return [*identifiers(node), *(name for name in map(text_of, fields) if name in self._unpacked)]

    @functools.cached_property
    def _unpacked(self) -> set[str]:
        return {each.name for each in self.function.parameters if "." in each.name}

    def _members(self, which: Callable[[Parameter], bool]) -> set[str]:
        """Return the members of structures passed by value that ``which`` selects, such as "A.width"."""
        parameters = self.function.parameters
        return {f"{each.name}.{member.name}" for each in parameters for member in each.members if which(member)}

    @functools.cached_property
    def _fields(self) -> set[str]:
        return self._unpacked | self._members(lambda member: not member.pointer)

    def pointer_in(self, node: Node) -> str | None:
        """Return the pointer parameter that an expression accesses."""
        return next((self.pointers[word] for word in self._words(node) if word in self.pointers), None)

    @functools.cached_property
    def assignments(self) -> list[tuple[Node, str, Node]]:
        """The target, the operator such as "+=", and the value of each assignment."""
        nodes = [each for each in self._nodes if each.type == "assignment_expression"]
        return [(each.children[0], text_of(each.children[1]), each.children[2]) for each in nodes]

    @functools.cached_property
    def guards(self) -> list[tuple[Node, Node]]:
        """Both sides of each comparison with an upper limit, as in ``row < M`` and ``row >= M``."""
        nodes = [each for each in self._nodes if each.type == "binary_expression"]
        return [(each.children[0], each.children[2]) for each in nodes if text_of(each.children[1]) in ("<", ">=")]

    @functools.cached_property
    def stores(self) -> list[tuple[str, bool]]:
        """The pointer parameter of each store, and whether the old value is added."""
        stored = []
        for node in self._nodes:
            if node.type == "assignment_expression" and node.children[0].type != "identifier":
                pointer = self.pointer_in(node.children[0])
                if pointer is not None:
                    read = self._reads(node.children[2], pointer)
                    stored.append((pointer, read or text_of(node.children[1]) in ("+=", "*=")))
            elif self._combines(node) and (pointer := self.pointer_in(node)) is not None:
                stored.append((pointer, True))
        return stored

    @staticmethod
    def _combines(node: Node) -> bool:
        """Return whether a call or an asm statement combines what memory holds with a value, atomically."""
        is_call = node.type in ("call_expression", "gnu_asm_expression")
        return is_call and _COMBINES.match(text_of(node)) is not None

    @property
    def adds_atomically(self) -> bool:
        """True if the kernel has atomic additions, or comparisons and exchanges that stand for them."""
        return any(map(self._combines, self._nodes))

    def factors_of_stores(self, pointer: str, sizes: set[str]) -> Iterator[str]:
        """Yield the factors of sizes in the indexes of the stores to a matrix."""
        for node in self._nodes:
            if node.type == "assignment_expression" and self.pointer_in(node.children[0]) == pointer:
                for product in (each for each in walk(node.children[0]) if each.type == "binary_expression"):
                    left, sign, right = map(text_of, product.children)
                    if sign == "*" and {left, right} & sizes:
                        yield left if right in sizes else right

    def _reads(self, node: Node, pointer: str) -> bool:
        """Return whether an expression depends on the old value of a matrix; a factor of 0 hides it."""
        if node.type == "parenthesized_expression":
            return any(self._reads(each, pointer) for each in node.named_children)
        if node.type == "binary_expression":
            sides = node.children[0], node.children[2]
            if text_of(node.children[1]) == "*" and any(_ZERO.fullmatch(text_of(each)) for each in sides):
                return False
            return any(self._reads(each, pointer) for each in sides)
        return any(self.pointers.get(word) == pointer for word in self._words(node))

    def indexes(self, pointer: str) -> Iterator[list[Term]]:
        """Yield the index of each access through a pointer parameter, including offsets added to the pointer before."""
        names = {name for name, parameter in self.pointers.items() if parameter == pointer}
        values = [value for name in sorted(names) for value in self.variables.values.get(name, ())]
        moved = [term for value in values for term in self.terms(value)]
        moved = [tuple(factor for factor in term if factor not in names) for term in moved]
        moved = [term for term in moved if term]
        for node in self._nodes:
            if node.type == "subscript_expression" and text_of(node.children[0]).strip("() ") in names:
                indices = node.children[1].named_children
                above = node.parent
                row = next((each.row for each in self.function.parameters if each.name == pointer), "")
                if row and above is not None and above.type == "subscript_expression":
                    rows = [(*term, row) for term in self.terms(indices[0])]
                    yield [*rows, *self.terms(above.children[1].named_children[0])]
                elif len(indices) == 1:
                    yield [*moved, *self.terms(_of_narrow_elements(indices[0]))]
            elif node.type == "subscript_expression" and (place := self._place(node.children[0], names)) is not None:
                yield [*moved, *place, *self.terms(node.children[1].named_children[0])]
            elif node.type == "pointer_expression" and names & {*identifiers(node)} and _READ.fullmatch(text_of(node)):
                yield [*moved, *(each for each in self.terms(node.children[1]) if not names & set(each))]
            elif node.type in ("call_expression", "gnu_asm_input_operand"):
                whole = _WMMA.match(text_of(node)) is not None
                passed = node.children[1].named_children if node.type == "call_expression" else node.named_children
                places = (each for each in passed if names & {*identifiers(each)})
                places = (each for each in places if whole or _is_address(each, names))
                yield from ([term for term in self.terms(each) if not names & set(term)] for each in places)

    def _place(self, node: Node, names: set[str]) -> list[Term] | None:
        """Return what an expression such as ``((float *)((char *)C + row * pitch))`` adds to a pointer."""
        if node.type not in ("parenthesized_expression", "call_expression"):
            return None
        terms = self.terms(node)
        added = [term for term in terms if len(term) > 1 or term[0] not in names]
        return added if len(added) == len(terms) - 1 else None

    def terms(self, node: Node, seen: frozenset[str] = frozenset()) -> list[Term]:
        """Return an expression as a sum of products, with local variables replaced by their values."""
        if (node.id, seen) not in self._known:
            enough = len(self._known) > _MOST_EXPRESSIONS
            self._known[node.id, seen] = [(self._text(node),)] if enough else self._terms(node, seen)
        return self._known[node.id, seen]

    @functools.cached_property
    def _known(self) -> dict[tuple[int, frozenset[str]], list[Term]]:
        return {}

    def _terms(self, node: Node, seen: frozenset[str]) -> list[Term]:
        parts = [each for each in node.named_children if each.type != "comment"]
        terms: list[Term] = [(self._text(node),)]
        if node.type == "parenthesized_expression" and len(parts) == 1:
            terms = self.terms(parts[0], seen)
        elif node.type == "cast_expression":
            terms = self.terms(parts[1], seen)
        elif node.type == "update_expression":
            terms = self.terms(parts[0], seen)
        elif node.type == "call_expression" and text_of(parts[0]).partition("<")[0] in _CASTS:
            terms = self.terms(parts[1].named_children[0], seen) if len(parts[1].named_children) == 1 else terms
        elif node.type == "binary_expression" and (sign := text_of(node.children[1])) in ("+", "-", "*"):
            left, right = (self.terms(node.children[i], seen) for i in (0, 2))
            products = [(*one, *other) for one in left for other in right if len(one) + len(other) <= _MOST_FACTORS]
            terms = products if sign == "*" else [*left, *right]
        elif node.type == "binary_expression" and (power := power_of_two(node)):
            shifted = self.terms(node.children[0], seen)
            terms = [(*(each for each in term if each != "1"), power) for term in shifted]
        elif (element := _addressed(node)) is not None:
            terms = [*self.terms(element.children[0], seen), *self.terms(element.children[1].named_children[0], seen)]
        elif node.type == "identifier" and (name := text_of(node)) in self.variables.values.keys() - seen:
            expanded = [term for value in self.variables.values_at(node) for term in self.terms(value, seen | {name})]
            # The variable of a loop also remains as a term.
            terms = [(name,)] * (name in self.variables.changing) + expanded
        elif (
            node.type not in ("identifier", "number_literal")
            and text_of(node) not in self._fields
            and not BUILT_IN.fullmatch(text_of(node))
        ):
            # A quotient, a remainder, a condition: one factor that lists its parts.
            within = [factor for part in node.named_children for term in self.terms(part, seen) for factor in term]
            words = " ".join([*within, f"({self._text(node)})"]).split()
            terms = [(" ".join(dict.fromkeys(words)) or self._text(node),)]
        terms = [term for term in terms if "0" not in term][:_MOST_TERMS]
        return list(dict.fromkeys(terms))


def _of_narrow_elements(index: Node) -> Node:
    """Return the index that counts elements in one that counts vectors or words of them, as ``(row * n + i) / 4``."""
    inner = index
    while inner.type == "parenthesized_expression" and len(inner.named_children) == 1:
        inner = inner.named_children[0]
    if inner.type != "binary_expression" or text_of(inner.children[1]) != "/":
        return index
    return inner.children[0] if inner.children[2].type == "number_literal" else index


def _is_address(node: Node, names: set[str]) -> bool:
    """Return whether an expression adds to a pointer, as in ``load(A + row * k)``."""
    while node.type == "parenthesized_expression" or (
        node.type == "binary_expression" and text_of(node.children[1]) == "+"
    ):
        inner = node.named_children[0]
        if node.type == "binary_expression" and text_of(inner) in names:
            return True
        node = inner
    return False


def power_of_two(node: Node) -> str:
    """Return the factor ``1<<m`` of ``i << m`` and of ``i << (m - 1)``, 32 of ``i << 5``; empty for others."""
    count = node.children[2] if text_of(node.children[1]) == "<<" else None
    if count is not None and text_of(count).isdecimal():
        return str(1 << min(int(text_of(count)), 63))
    while count is not None and count.type in ("parenthesized_expression", "binary_expression"):
        if count.type == "binary_expression" and count.children[2].type != "number_literal":
            return ""
        count = count.named_children[0]
    return f"1<<{text_of(count)}" if count is not None and count.type == "identifier" else ""


def _addressed(node: Node) -> Node | None:
    """Return the element of ``&A[i]``, which is A + i; None for other expressions."""
    if node.type != "pointer_expression" or text_of(node.children[0]) != "&":
        return None
    element = node.children[1]
    one_index = element.type == "subscript_expression" and len(element.children[1].named_children) == 1
    return element if one_index else None


def built_in(term: Term) -> list[tuple[str, str]]:
    """Return the built-in variables in a term, and their axes."""
    return [(kind, axis) for factor in term for kind, axis in BUILT_IN.findall(factor)]

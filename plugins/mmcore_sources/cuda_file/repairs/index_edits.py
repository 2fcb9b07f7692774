"""Changes of the variables in indexes: two exchanged, one thread's for another, rows and columns exchanged."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from mmcore_cuda.cuda_source.tree import Node, ancestors, identifiers, initializers, is_stored_to, text_of, walk
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced
from mmcore_sources.cuda_file.repairs.operands import Operands

_OTHER_BUFFER = re.compile(r"1 - (\w+)|!(\w+)|(\w+) \^ 1|\((\w+) (?:\+ 1\) % 2|\^ 1\))")
_OTHER_PART = {"/": "%", "%": "/"}
_BUILT_IN = {"threadIdx", "blockIdx"}


def index_edits(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources with two variables of an index exchanged, with another variable in it, or with two of a line.

    Indexes of stores are changed first. A variable is replaced by one that depends on the same loops, and on threads
    or blocks as it does, at all its places or at one.
    """
    variables = _variables(nodes)
    places = sorted(_indexed(nodes), key=lambda each: not is_stored_to(each))
    for place in places:
        used = _used(_index(place), variables)
        for one, other in itertools.combinations(used, 2):
            yield _within(source, place, _renamed([*walk(_index(place))], {one: other, other: one}))
    for place in places:
        inside = [*walk(_index(place))]
        used = _used(_index(place), variables)
        for one, other in itertools.product(used, variables):
            if other not in used and variables[one] == variables[other] and _BUILT_IN & variables[one]:
                changes = _renamed(inside, {one: other})
                for some in [changes, *([each] for each in changes if len(changes) > 1)]:
                    yield _within(source, place, some)
    yield from _exchanged_in_lines(source, nodes, variables)


def remainders(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources with one remainder where each quotient by a number, such as ``threadIdx.x / 32``, is used twice.

    Also with one quotient where each remainder is.
    """
    for (left, right), by_sign in _parts(nodes).items():
        ((sign, several), *others) = by_sign.items()
        if len(several) > 1 and not others:
            yield from (replaced(source, [(each, f"{left} {_OTHER_PART[sign]} {right}")]) for each in several)


def exchanged_parts(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources with ``row = i / n`` and ``col = i % n`` for ``row = i % n`` and ``col = i / n``."""
    for (left, right), by_sign in _parts(nodes).items():
        if sorted(map(len, by_sign.values())) == [1, 1]:
            changes = [(node, f"{left} {_OTHER_PART[sign]} {right}") for sign, (node,) in by_sign.items()]
            yield replaced(source, changes, f"{left} / {right} and {left} % {right} exchanged")


def _parts(nodes: Sequence[Node]) -> dict[tuple[str, str], dict[str, list[Node]]]:
    """Return the quotients and the remainders of variables, by dividend and divisor, and by sign."""
    pairs: dict[tuple[str, str], dict[str, list[Node]]] = {}
    for node in (each for each in nodes if each.type == "binary_expression"):
        left, sign, right = map(text_of, node.children)
        if sign in _OTHER_PART and re.fullmatch(r"[\w.]+", left):
            pairs.setdefault((left, right), {}).setdefault(sign, []).append(node)
    return pairs


def exchanged_subscripts(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources with ``X[j][i]`` for ``X[i][j]``.

    Reads of an array come first to which several lines store, then accesses in which the lanes of a warp are not
    neighbours: an exchange in the others makes conflicts.
    """
    places = [each for each in nodes if each.type == "subscript_expression"]
    stores = Counter(array_of(each) for each in places if is_stored_to(each))
    lanes = {name for each in nodes if each.type == "declaration" for name, value in initializers(each)
             if "threadIdx.x" in text_of(value)}  # fmt: skip

    def rank(node: Node) -> tuple[bool, bool]:
        last = node.children[1]
        of_lanes = "threadIdx.x" in text_of(last) or bool(lanes & {*identifiers(last)})
        return is_stored_to(node) and stores[array_of(node)] > 1, of_lanes

    for node in sorted(places, key=rank):
        inner = node.children[0]
        if inner.type == "subscript_expression" and inner.children[0].type == "identifier":
            left, right = inner.children[1], node.children[1]
            if text_of(left) != text_of(right):
                new = f"{text_of(inner.children[0])}{text_of(right)}{text_of(left)}"
                yield replaced(source, [(node, new)])


def array_of(subscript: Node) -> str:
    """Return the name of the array of ``X[i][j]``."""
    return text_of(subscript).partition("[")[0]


def transposed_elements(source: bytes, nodes: Sequence[Node], operands: Operands) -> Iterator[Edit]:
    """Yield sources with ``X[j * n + i]`` for each ``X[i * m + j]`` of a matrix whose rows have n elements."""
    changes: dict[str, list[tuple[Node, str]]] = {}
    for node in (each for each in nodes if operands.is_element(each, "ABC")):
        pointer, index = text_of(node.children[0]), node.children[1].named_children[0]
        length = operands.extents(operands.matrices[pointer])[1]
        if length and (turned := _turned(index, {*operands.sizes} - {length}, length)):
            changes.setdefault(pointer, []).append((index, turned))
    for pointer, places in changes.items():
        index, turned = places[0]
        yield replaced(source, places, f"{pointer}[{turned}] instead of {pointer}[{text_of(index)}]")


def _turned(index: Node, sizes: set[str], length: str) -> str:
    """Return ``j * length + i`` for ``i * size + j`` with one of some sizes; "" for other indexes."""
    if index.type != "binary_expression" or text_of(index.children[1]) != "+":
        return ""
    product, rest = index.children[0], index.children[2]
    if product.type != "binary_expression" or text_of(product.children[1]) != "*":
        return ""
    factors = [text_of(product.children[0]), text_of(product.children[2])]
    if factors[1] not in sizes:
        factors.reverse()
    words = text_of(rest) if rest.type in ("identifier", "parenthesized_expression") else f"({text_of(rest)})"
    return f"{words} * {length} + {factors[0]}" if factors[1] in sizes else ""


def other_buffers(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources that access the other one of two buffers, ``X[b ^ 1]`` for ``X[b]`` or the reverse."""
    indexes = [each.children[1].named_children[0] for each in nodes if each.type == "subscript_expression"]
    matches = [match for each in indexes if (match := _OTHER_BUFFER.fullmatch(text_of(each)))]
    others = {str(match[match.lastindex or 0]): match[0] for match in matches}
    others |= {other: buffer for buffer, other in others.items()}
    for index in indexes:
        if other := others.get(text_of(index)):
            yield replaced(source, [(index, other)])


def _variables(nodes: Sequence[Node]) -> dict[str, frozenset[str]]:
    """Return the loops, and the built-in variables of threads and blocks, on which each integer depends, by name."""
    variables: dict[str, frozenset[str]] = {}
    for node in (each for each in nodes if each.type == "declaration"):
        in_loop = node.parent is not None and node.parent.type == "for_statement"
        for name, value in initializers(node):
            words = {*identifiers(value)}
            causes = (_BUILT_IN & words).union(*(variables.get(word, ()) for word in words))
            if in_loop or (causes and "[" not in text_of(value)):
                variables[name] = frozenset({*causes, name} if in_loop else causes)
    return variables


def _indexed(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield the elements ``X[row * n + col]``, the calls with an index, and the variables that contain an index."""
    for node in nodes:
        is_element = node.type == "subscript_expression" and bool({*"*("} & {*text_of(_index(node))})
        is_call = node.type == "call_expression" and not _is_in_subscript(node)
        is_variable = node.type == "init_declarator" and _is_product_and_more(_index(node))
        if is_element or is_call or is_variable:
            yield node


def _is_in_subscript(node: Node) -> bool:
    return any(each.type == "subscript_argument_list" for each in ancestors(node))


def _is_product_and_more(value: Node) -> bool:
    """Return whether a value is ``row * n + col``."""
    is_sum = value.type == "binary_expression" and text_of(value.children[1]) == "+"
    return is_sum and "*" in text_of(value) and "[" not in text_of(value)


def _index(place: Node) -> Node:
    """Return the part of an element, of a call or of a variable's declaration that contains the index."""
    return place.children[-1]


def _used(node: Node, variables: Mapping[str, frozenset[str]]) -> list[str]:
    """Return the variables in a node, each once."""
    return [*dict.fromkeys(each for each in identifiers(node) if each in variables)]


def _within(source: bytes, place: Node, changes: Sequence[tuple[Node, str]]) -> Edit:
    """Return a source with other names in the index of a place, and the whole place in words."""
    added = sum(len(new) - (node.end_byte - node.start_byte) for node, new in changes)
    text = replaced(source, changes).text.encode()
    new = text[place.start_byte : place.end_byte + added].decode()
    return replaced(source, changes, f"{' '.join(new.split())} instead of {text_of(place)}")


def _renamed(nodes: Sequence[Node], names: Mapping[str, str]) -> list[tuple[Node, str]]:
    return [(each, names[text_of(each)]) for each in nodes if each.type == "identifier" and text_of(each) in names]


def _exchanged_in_lines(
    source: bytes, nodes: Sequence[Node], variables: Mapping[str, frozenset[str]]
) -> Iterator[Edit]:
    """Yield sources in which two variables of threads are exchanged in a line with a condition."""
    for condition in (each for each in nodes if each.type in ("if_statement", "conditional_expression")):
        line = [each for each in walk(condition) if each.start_point.row == condition.start_point.row]
        used = [each for each in dict.fromkeys(map(text_of, line)) if _BUILT_IN & variables.get(each, frozenset())]
        for one, other in itertools.combinations(used, 2):
            yield replaced(source, _renamed(line, {one: other, other: one}), f"{one} and {other} exchanged")

"""Loops of host code that show how a matrix is stored: one that transposes it, or that multiplies by it."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import NamedTuple

from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import (
    Node,
    ancestors,
    identifiers,
    initializers,
    root_of,
    sides,
    text_of,
    walk,
    without_parentheses,
)
from mmcore_sources.cuda_file.inference.host_calls import (
    arguments_of,
    called_function,
    calls_of,
    enclosing_function,
    function_name,
    of_device,
    parameter_names,
)

_SUBSCRIPT = "subscript_expression"


class _Element(NamedTuple):
    """An element of an array in loops: ``X[j * K + p]`` or ``X[j][p]``.

    Attributes:
        node: the element.
        strided: the variables of loops that a length multiplies: j.
        plain: the other ones in its index: p.
    """

    node: Node
    strided: Set[str]
    plain: Set[str]


def loop_by_columns(launch: HostLaunch, argument: Node, matrix: str) -> str:
    """Return the host's line that stores or reads a matrix, A or B, by columns, as a clause; "" without one.

    ``argument`` is the one that the launch passes for the matrix.
    """
    nodes = [each for each in walk(root_of(launch.scope)) if not of_device(each)]
    names = _names_of_array(nodes, {*identifiers(argument)})
    for node in nodes:
        element = _transposed(node) or _read_by_columns(node, matrix, names)
        if element is not None and _is_array(element, names):
            line = element.node.start_point.row + 1
            return f"line {line}, which has {text_of(element.node)}"
    return ""


def _names_of_array(nodes: list[Node], names: Set[str]) -> Set[str]:
    """Return the names of an array, those of the arrays that it is a copy of, and what functions get as it."""
    sources = [pair for each in nodes for pair in _sources(each)]
    found, known = {*names}, set[str]()
    while found != known:
        known = {*found}
        found |= {name for target, several in sources if target & known for name in several}
    return found


def _sources(node: Node) -> Iterator[tuple[Set[str], Set[str]]]:
    """Yield the names of an array and of what a copy, a declaration or a call gives it."""
    if node.type == "declaration":
        yield from (({name.partition("[")[0]}, {*identifiers(value)}) for name, value in initializers(node))
    elif node.type == "assignment_expression":
        target, _, value = sides(node)
        yield {text_of(target)}, {*identifiers(value)}
    elif node.type == "call_expression":
        arguments = arguments_of(node)
        if "memcpy" in function_name(node).casefold() and len(arguments) > 1:
            yield {*identifiers(arguments[0])}, {*identifiers(arguments[1])}
        elif (function := called_function(node)) is not None and not of_device(function):
            pairs = zip(parameter_names(function), arguments, strict=False)
            yield from (({name}, {*identifiers(each)}) for name, each in pairs)


def _is_array(element: _Element, names: Set[str]) -> bool:
    """Return whether an element is of one of the named arrays, or of a parameter that a call gives one to."""
    array = {*identifiers(_array(element.node))}
    function = enclosing_function(element.node)
    if array & names or function is None:
        return bool(array & names)
    positions = [at for at, name in enumerate(parameter_names(function)) if name in array]
    passed = (arguments[at] for call in calls_of(function) for arguments in [arguments_of(call)]
              for at in positions if at < len(arguments))  # fmt: skip
    return any(names & {*identifiers(each)} for each in passed)


def _array(node: Node) -> Node:
    while node.type == _SUBSCRIPT:
        node = node.children[0]
    return node


def _transposed(node: Node) -> _Element | None:
    """Return the element that an assignment stores if it is one of the transposed array: ``T[j][p] = B[p][j]``."""
    if node.type != "assignment_expression" or text_of(node.children[1]) != "=":
        return None
    target, source = (_only_element(each) for each in (node.children[0], node.children[2]))
    if target is None or source is None or not (target.strided and target.plain):
        return None
    return target if (target.strided, target.plain) == (source.plain, source.strided) else None


def _read_by_columns(node: Node, matrix: str, names: Set[str]) -> _Element | None:
    """Return the element of a matrix in a product of elements that is read by columns.

    The variable along k is the one that both elements have.
    """
    if node.type != "binary_expression" or text_of(node.children[1]) != "*":
        return None
    left, right = (_only_element(each) for each in (node.children[0], node.children[2]))
    if left is None or right is None:
        return None
    along = (left.strided | left.plain) & (right.strided | right.plain)
    for own in (each for each in (right, left) if _is_array(each, names)):
        others = (own.strided | own.plain) - along
        along_columns, across = (own.strided, own.plain) if matrix == "A" else (own.plain, own.strided)
        if len(along) == 1 and along <= along_columns and others and others <= across:
            return own
    return None


def _only_element(node: Node) -> _Element | None:
    """Return the only element of an array in an expression of a loop; None without one, or beside other ones."""
    found = [each for each in walk(node) if each.type == _SUBSCRIPT and not _is_within_another(each, node)]
    return _element(found[0]) if len(found) == 1 else None


def _is_within_another(node: Node, expression: Node) -> bool:
    above = node
    while above != expression and above.parent is not None:
        above = above.parent
        if above.type == _SUBSCRIPT:
            return True
    return False


def _element(node: Node) -> _Element:
    variables = _variables_around(node)
    first, *rest = reversed([*_indexes(node)])
    if rest:
        return _Element(node, variables & {*identifiers(first)}, variables & {*identifiers(rest[-1])})
    products = [*_products(first)]
    strided = {name for each in products if len(each) > 1 for part in each for name in identifiers(part)} & variables
    plain = {name for each in products if len(each) == 1 for name in identifiers(each[0])} & variables
    return _Element(node, strided, plain - strided)


def _indexes(node: Node) -> Iterator[Node]:
    """Yield the indexes of an element, the last first."""
    while node.type == _SUBSCRIPT:
        yield from node.children[1].named_children[:1]
        node = node.children[0]


def _products(index: Node) -> Iterator[list[Node]]:
    """Yield the factors of each term of an index."""
    index = without_parentheses(index)
    sign = text_of(index.children[1]) if index.type == "binary_expression" else ""
    if sign in ("+", "-"):
        yield from _products(index.children[0])
        yield from _products(index.children[2])
    else:
        yield [index.children[0], index.children[2]] if sign == "*" else [index]


def _variables_around(node: Node) -> Set[str]:
    """Return the variables of the loops around a node."""
    heads = [each.child_by_field_name("initializer") for each in ancestors(node) if each.type == "for_statement"]
    found = set[str]()
    for head in (each for each in heads if each is not None):
        if head.type == "declaration":
            found |= {name for name, _ in initializers(head)}
        elif head.type == "assignment_expression":
            found.add(text_of(head.children[0]))
    return found

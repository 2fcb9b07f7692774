"""Loops of a kernel that index an array behind its end."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.inference.host_code import Reader

_LEAVING = ("break_statement", "return_statement", "continue_statement", "goto_statement", "if_statement")


def short_arrays(text: str, entry: str, values: Mapping[str, Any]) -> Iterator[Bug]:
    """Find a loop over more elements of an array than a kernel declares, in a config's ``values``.

    Only loops count whose variable itself is the index, and that no condition skips or leaves early.
    """
    program = read_program(text)
    function = program.function(entry)
    if function is None:
        return
    constants = {name: ast.Constant(value) for name, value in values.items() if isinstance(value, int)}
    own = {each.name for each in function.parameters} | {name for name, _ in _declared(function.body)}
    numbers = _Numbers(Reader(program, constants), own)
    sizes = _sizes(function.body, numbers)
    found = set[str]()
    for loop in (node for node in walk(function.body) if node.type == "for_statement" and not _is_guarded(node)):
        variable, last = _counted(loop, numbers)
        for name, access in _indexed(loop, variable):
            if name not in found and last >= sizes.get(name, last + 1):
                found.add(name)
                line = access.start_point.row + 1
                has = f"{name} has {sizes[name]} elements, and the loop in line {loop.start_point.row + 1}"
                yield Bug("short-array", line, f"{has} goes on to element {last}")


@dataclass(frozen=True)
class _Numbers:
    """The whole numbers that a config's values and the constants of a file give to expressions of a kernel."""

    reader: Reader
    own: set[str]  # the names that the kernel declares, which hide those of the file

    def of(self, node: Node | None) -> int | None:
        """Return the number that an expression is; None for others."""
        if node is None or not self.own.isdisjoint(identifiers(node)):
            return None
        return self.reader.whole(node)


def _declared(body: Node) -> Iterator[tuple[str, Node]]:
    """Yield the name of each declared variable, with its declarator or declaration."""
    for node in walk(body):
        several = node.children_by_field_name("declarator")
        for each in several if node.type != "function_definition" else ():
            if each.type == "identifier":
                yield text_of(each), node


def _sizes(body: Node, numbers: _Numbers) -> dict[str, int]:
    """Return the elements along the first axis of each array that is declared once."""
    declared: dict[str, list[Node]] = {}
    for name, node in _declared(body):
        declared.setdefault(name, []).append(node)
    arrays = {
        name: nodes[0] for name, nodes in declared.items() if [each.type for each in nodes] == ["array_declarator"]
    }
    sizes = {name: numbers.of(node.child_by_field_name("size")) for name, node in arrays.items()}
    return {name: size for name, size in sizes.items() if size}


def _is_guarded(loop: Node) -> bool:
    """Return whether a condition, perhaps of the preprocessor, decides about a loop."""
    above = loop.parent
    while above is not None and above.type != "function_definition":
        if above.type == "if_statement" or above.type.startswith("preproc"):
            return True
        above = above.parent
    return False


def _counted(loop: Node, numbers: _Numbers) -> tuple[str, int]:
    """Return the variable of a loop that counts up by one, and its last value; ("", -1) for other loops."""
    condition, update, body = (loop.child_by_field_name(name) for name in ("condition", "update", "body"))
    if condition is None or update is None or body is None or condition.type != "binary_expression":
        return "", -1
    left, operator, right = condition.children
    variable = text_of(left)
    bound = numbers.of(right) if text_of(operator) in ("<", "<=") else None
    steps = {f"{variable}++", f"++{variable}", f"{variable} += 1"}
    changes = any(
        node.type in _LEAVING
        or (node.type in ("assignment_expression", "update_expression") and text_of(node.children[0]) == variable)
        for node in walk(body)
    )
    if bound is None or left.type != "identifier" or text_of(update) not in steps or changes:
        return "", -1
    return variable, bound - (text_of(operator) == "<")


def _indexed(loop: Node, variable: str) -> Iterator[tuple[str, Node]]:
    """Yield the name of each array whose first index is the loop's variable, outside of conditional expressions."""
    body = loop.child_by_field_name("body")
    for node in walk(body) if body is not None else ():
        if node.type != "subscript_expression" or _is_conditional(node, loop):
            continue
        array, index = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        indexes = [text_of(each) for each in index.named_children] if index is not None else []
        if array is not None and array.type == "identifier" and indexes == [variable]:
            yield text_of(array), node


def _is_conditional(node: Node, loop: Node) -> bool:
    """Return whether a conditional expression within a loop decides about a node."""
    above: Node | None = node
    while above is not None and above.start_byte >= loop.start_byte and above.type != "for_statement":
        if above.type in ("conditional_expression", "lambda_expression"):
            return True
        if above.type == "binary_expression" and text_of(above.children[1]) in ("&&", "||"):
            return True
        above = above.parent
    return False

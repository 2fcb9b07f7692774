"""Minima and maxima of the host code that are written as comparisons, and the number of multiprocessors."""

from __future__ import annotations

import functools

from mmcore.kernel.properties import DeviceProperties
from mmcore_cuda.cuda_source.tree import Node, ancestors, text_of, walk, without_parentheses
from mmcore_sources.cuda_file.inference.assignments import last_assignment
from mmcore_sources.cuda_file.inference.c_expressions import parse_expression
from mmcore_sources.cuda_file.inference.conditions import condition_of

MULTIPROCESSORS = DeviceProperties().multiprocessors
"""The number that stands for the multiprocessors of the GPU that the program would run on."""

_LEAST = {"<": True, "<=": True, ">": False, ">=": False}


def extremum(condition: Node, chosen: Node, other: Node) -> str:
    """Return "min" or "max" for ``condition ? chosen : other`` that is one of the two; empty for another choice."""
    condition = without_parentheses(condition)
    sign = text_of(condition.children[1]) if condition.type == "binary_expression" else ""
    if sign not in _LEAST:
        return ""
    compared, values = ([_plain(each) for each in pair] for pair in ((condition.children[::2]), (chosen, other)))
    if sorted(compared) != sorted(values):
        return ""
    return "min" if _LEAST[sign] == (compared == values) else "max"


def limit(assignment: Node) -> str:
    """Return "min" or "max" for the assignment in ``if (a > b) a = b;``; empty for another one."""
    if assignment.type == "update_expression":
        return ""
    above = [each for each in ancestors(assignment) if each.type != "expression_statement"]
    if above and above[0].type == "compound_statement" and len(above[0].named_children) == 1:
        above = above[1:]
    if not above or above[0].type != "if_statement" or above[0].child_by_field_name("alternative") is not None:
        return ""
    condition = condition_of(above[0])
    return extremum(condition, assignment.children[2], assignment.children[0]) if condition is not None else ""


def limited_later(scope: Node | None, target: str, value: Node, line: int) -> Node:
    """Return the value of ``grid.x``, as a minimum or maximum if ``if (grid.x > b) grid.x = b;`` follows it.

    Statements from the ``line`` on do not count, unless it is 0.
    """
    assignment = last_assignment(scope, target, line)
    function = limit(assignment) if assignment is not None else ""
    if assignment is None or not function:
        return value
    return parse_expression(f"{function}({text_of(value)}, {text_of(assignment.children[2])})")


def is_multiprocessors(scope: Node | None, name: str) -> bool:
    """Return whether a call sets a variable of a function to the number of the GPU's multiprocessors."""
    return scope is not None and name in _multiprocessors(scope)


@functools.lru_cache(maxsize=32)
def _multiprocessors(scope: Node) -> frozenset[str]:
    """Return the variables of a function that get the number of multiprocessors from ``cudaDeviceGetAttribute``."""
    lists = (each.named_children for each in walk(scope) if each.type == "argument_list")
    attributes = ("cudaDevAttrMultiProcessorCount", "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT")
    asked = (each for each in lists if len(each) > 1 and text_of(each[1]) in attributes)
    return frozenset(text_of(each[0]).removeprefix("&") for each in asked)


def _plain(node: Node) -> str:
    """Return the text of an expression without parentheses around it and without spaces."""
    return "".join(text_of(without_parentheses(node)).split())

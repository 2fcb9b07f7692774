"""The macros that a source only defines if the user does not define them first."""

from __future__ import annotations

import re

from mmcore_cuda.cuda_source.tree import Node, children_without_comments, text_of, walk

_UNDEFINED = re.compile(r"! ?defined ?(?:\( ?(\w+) ?\)|(\w+))")
_DEFINITIONS = ("preproc_def", "preproc_function_def")
_OF_HEADER = re.compile(r"(?:_H|_HH|_HPP|_HXX|_CUH|_INCLUDED)_*$", re.IGNORECASE)


def default_group(branch: Node) -> tuple[str, ...]:
    """Return the macros that a branch such as ``#ifndef BM`` defines together, as defaults of the user's values.

    The branch tests some of them, and contains nothing else that the program would lack if all of them were defined.
    None for other branches, nor for the guard of a header.
    """
    tested = _tested(branch)
    if not tested or any(map(_OF_HEADER.search, tested)):
        return ()
    condition = branch.child_by_field_name("name") or branch.child_by_field_name("condition")
    content = [each for each in children_without_comments(branch) if each.is_named and each != condition]
    definitions = [each for each in content if each.type in _DEFINITIONS]
    names = {text_of(name): each for each in definitions if (name := each.child_by_field_name("name")) is not None}
    others = [each for each in content if each not in definitions and not _only_reports(each)]
    has_values = all(name in names and names[name].child_by_field_name("value") is not None for name in tested)
    return tuple(names) if has_values and not others else ()


def _tested(branch: Node) -> list[str]:
    """Return the macros whose absence is the condition of a branch."""
    if branch.type == "preproc_ifdef" and text_of(branch.children[0]) == "#ifndef":
        name = branch.child_by_field_name("name")
        return [] if name is None else [text_of(name)]
    condition = branch.child_by_field_name("condition") if branch.type == "preproc_if" else None
    if condition is None:
        return []
    text = text_of(condition)
    rest = re.sub(r"[\s()&|]", "", _UNDEFINED.sub("", text))
    return [] if rest else [one or other for one, other in _UNDEFINED.findall(text)]


def _only_reports(node: Node) -> bool:
    """Return whether a directive or ``#else`` defines nothing, as ``#pragma``, ``#warning`` and ``#error`` do."""
    inner = [each for each in walk(node) if each != node and each.is_named]
    kinds = {"preproc_call", "preproc_directive", "preproc_arg", "comment"}
    if node.type not in ("preproc_call", "preproc_else") or not {each.type for each in inner} <= kinds:
        return False
    return not any(text_of(each) == "#undef" for each in inner)

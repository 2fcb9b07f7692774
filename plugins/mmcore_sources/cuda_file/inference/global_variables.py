"""Variables outside of the functions of a file's host code, which one function sets, or their initial value alone."""

from __future__ import annotations

import functools
from typing import NamedTuple

from mmcore_cuda.cuda_source.tree import LOOPS, Node, ancestors, initializers, text_of, walk
from mmcore_sources.cuda_file.inference.host_calls import enclosing_function, parameter_names

_ASSIGNED, _CHANGED = "assignment_expression", "update_expression"


class GlobalVariable(NamedTuple):
    """The initial value of a variable, None without one, and the function that sets it later, if one does."""

    value: Node | None
    function: Node | None


@functools.lru_cache(maxsize=8)
def global_variables(root: Node) -> dict[str, GlobalVariable]:
    """Return the variables of a file by name, except those that several statements or a loop change, or any call."""
    found = dict[str, Node | None]()
    for node in walk(root):
        if node.type == "declaration" and enclosing_function(node) is None:
            found |= dict.fromkeys(text_of(each) for each in node.named_children if each.type == "identifier")
            found |= dict(initializers(node))
    setting = dict[str, list[Node]]()
    for node in walk(root):
        name = _changed(node)
        function = enclosing_function(node) if name in found else None
        if function is not None and not _is_local(function, name):
            setting.setdefault(name, []).append(node)
    several = {name for name, nodes in setting.items() if len(nodes) > 1 or not _sets_once(nodes[0])}
    functions = {name: enclosing_function(nodes[0]) for name, nodes in setting.items()}
    return {name: GlobalVariable(value, functions.get(name)) for name, value in found.items() if name not in several}


def _changed(node: Node) -> str:
    """Return the variable that a node sets, updates, reads from a stream or takes the address of; empty for none."""
    if node.type == _ASSIGNED or (node.type == "binary_expression" and text_of(node.children[1]) == ">>"):
        return text_of(node.children[0 if node.type == _ASSIGNED else 2])
    if node.type == _CHANGED or (node.type == "pointer_expression" and text_of(node.children[0]) == "&"):
        return text_of(node).strip("+-& ")
    return ""


def _sets_once(node: Node) -> bool:
    """Return whether a node is an assignment outside of loops."""
    is_plain = node.type == _ASSIGNED and text_of(node.children[1]) == "="
    return is_plain and not any(each.type in LOOPS for each in ancestors(node))


def _is_local(function: Node, name: str) -> bool:
    """Return whether a function has a parameter or a variable of this name."""
    declared = (each for each in walk(function) if each.type == "declaration")
    listed = (child for each in declared for child in each.named_children)
    names = {text_of(each.child_by_field_name("declarator") or each) for each in listed}
    return name in names or name in parameter_names(function)

"""Loops of a kernel whose step sets their variable to the same value in each turn, as ``i = 16`` for ``i += 16``."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tree import Node, identifiers, initializers, text_of, walk
from mmcore_sources.cuda_file.host_bugs.bug import Bug

_CHANGES = ("assignment_expression", "update_expression")
_MAY_CHANGE = ("call_expression", "subscript_expression", "pointer_expression", "field_expression")
_BUILT_IN = ("threadIdx.", "blockIdx.", "blockDim.", "gridDim.")


def unchanging_steps(text: str, entry: str) -> Iterator[Bug]:
    """Find a loop of a kernel that ends after its first turn or never, by the step that changes its variable."""
    function = read_program(text).function(entry)
    for loop in walk(function.body) if function is not None else ():
        step = loop.child_by_field_name("update") if loop.type == "for_statement" else None
        condition = loop.child_by_field_name("condition")
        if step is None or condition is None or step.type != "assignment_expression":
            continue
        variable, sign, value = step.children
        name, changed = text_of(variable), _changed(loop)
        alone = text_of(sign) == "=" and changed.count(name) == 1 and name in identifiers(condition)
        if alone and _is_constant(value, changed):
            what = f"sets {name} to the same value in each turn: the loop ends after its first turn, or never"
            yield Bug("unchanging-step", step.start_point.row + 1, f"{text_of(step)} {what}")


def _changed(loop: Node) -> list[str]:
    """Return the variables that a loop changes or declares behind its first value, once for each place."""
    first = loop.child_by_field_name("initializer")
    inside = [node for part in loop.children if first is None or part.id != first.id for node in walk(part)]
    names = [name for node in inside if node.type in _CHANGES for name in identifiers(node)[:1]]
    return names + [name for node in inside if node.type == "declaration" for name, _ in initializers(node)]


def _is_constant(value: Node, changed: list[str]) -> bool:
    """Return whether an expression has no variable that changes, and reads no memory."""
    unknown = (node for node in walk(value) if node.type in _MAY_CHANGE)
    known = all(text_of(node).startswith(_BUILT_IN) for node in unknown)
    return known and not {*identifiers(value)} & {*changed}

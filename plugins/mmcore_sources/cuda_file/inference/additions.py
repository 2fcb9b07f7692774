"""The statement by which a kernel adds to what a matrix held, and what to write there instead."""

from __future__ import annotations

from mmcore_cuda.cuda_source.tree import LOOPS, Node, identifiers
from mmcore_sources.cuda_file.inference.body import Body


def how_to_store(body: Body, pointer: str) -> tuple[int, str]:
    """Return the line of the first store that adds to C, and what to write there, as a clause; 0 and "" without one.

    ``pointer`` is the parameter of C.
    """
    for target, sign, _ in body.assignments:
        if target.type != "identifier" and body.pointer_in(target) == pointer:
            line = target.start_point.row + 1
            if (loop := _summing_loop(target, body)) is not None:
                return line, f"sums in C: write 0 there before the loop in line {loop.start_point.row + 1}"
            instead = "= instead of +=" if sign == "+=" else "the sum without C's old value"
            return line, f"adds to C: write {instead}"
    return 0, ""


def _summing_loop(target: Node, body: Body) -> Node | None:
    """Return the outermost loop around a store whose steps store to the same element; None without one."""
    index = {name for term in body.terms(target) for factor in term for name in factor.replace(".", " ").split()}
    above, outermost = target.parent, None
    while above is not None and above.type != "function_definition":
        if above.type in LOOPS and not _variables(above) & index:
            outermost = above
        above = above.parent
    return outermost


def _variables(loop: Node) -> set[str]:
    """Return the variable that a loop's head changes, or compares if it changes none."""
    heads = (loop.child_by_field_name(each) for each in ("update", "condition"))
    return next(({*identifiers(each)[:1]} for each in heads if each is not None), set())

"""Changes of a kernel that is right at whole tiles alone: guards, zeros beyond the matrices, and the last step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmcore_cuda.cuda_source.tree import Node, ancestors, identifiers, is_stored_to, text_of, walk
from mmcore_sources.cuda_file.inference.host_calls import enclosing_function
from mmcore_sources.cuda_file.repairs.edit import Edit, before, replaced
from mmcore_sources.cuda_file.repairs.likely_edits import CONDITIONS
from mmcore_sources.cuda_file.repairs.loop_edits import quotients, rounded_up
from mmcore_sources.cuda_file.repairs.operands import Operands
from mmcore_sources.cuda_file.repairs.return_edits import BEFORE_LOOP, return_before_loop


def remainder_edits(text: str, nodes: Sequence[Node], operands: Operands) -> Iterator[Edit]:
    """Yield sources that may be right at remainders, too, the one with the fewest changes first."""
    source = text.encode()
    zeros = [*_zeros(nodes, operands)]
    names = {name for name, role in operands.sizes.items() if role == "k" or len(operands.sizes) == 1}
    steps = [(each, rounded_up(each)) for each in quotients(nodes) if names & {*identifiers(each)}]
    guarded = [*_guarded(nodes, operands)]
    if (guard := return_before_loop(nodes, operands)) is not None:
        yield replaced(source, [guard], BEFORE_LOOP)
        if steps:
            yield replaced(source, [*steps, guard], f"a last step and {BEFORE_LOOP}")
    if returns := [_without_return(*each) for each in guarded_returns(nodes)]:
        whole = [*returns, *guarded, *_whole_guards(nodes, operands)]
        yield replaced(source, whole, "guards instead of the return before a barrier")
        yield replaced(source, [*steps, *whole], "a last step, and guards instead of the return before a barrier")
    if own := [*_guards_of_own_index(nodes, operands)]:
        yield replaced(source, own)
    if zeros:
        yield replaced(source, zeros, "zeros where the conditions do not hold")
    if steps:
        what = "a last step, and zeros where the conditions do not hold" if zeros else "a last step"
        yield replaced(source, [*steps, *zeros], what)
    completed = [*_completed_guards(nodes, operands)]
    if completed:
        yield replaced(source, [*steps, *completed, *zeros], f"{'a last step and ' * bool(steps)}guards for each size")
    if guarded:
        yield replaced(source, [*steps, *guarded, *completed, *zeros], f"{'a last step and ' * bool(steps)}guards")


def without_branches(text: str, nodes: Sequence[Node]) -> Edit | None:
    """Return a source with the bodies of branches around barriers in the place of the branches; None without any."""
    changes: dict[Node, str] = {}
    for node in (each for each in nodes if each.type == "identifier" and text_of(each) == "__syncthreads"):
        while (branch := _guard(node)) is not None:
            word, condition, *rest = branch.children
            in_one_line = word.start_point.row == condition.end_point.row
            if branch.type == "if_statement" and in_one_line and [each.type for each in rest] == ["compound_statement"]:
                changes |= {word: "", condition: ""}
            node = branch
    return replaced(text.encode(), changes.items(), "guards instead of the if around a barrier") if changes else None


def _zeros(nodes: Sequence[Node], operands: Operands) -> Iterator[tuple[Node, str]]:
    """Yield an ``else`` for each condition under which elements of A or B are copied to shared memory."""
    shared = {name for each in nodes if each.type == "declaration" and "__shared__" in text_of(each)
              for name in identifiers(each)}  # fmt: skip
    for node in nodes:
        body = node.child_by_field_name("consequence") if node.type == "if_statement" else None
        if body is None or node.child_by_field_name("alternative") is not None:
            continue
        targets = [left for left, right in _assigned(body)
                   if {*identifiers(left)} & shared and {*identifiers(right)} & operands.matrices.keys()]  # fmt: skip
        if targets:
            zeros = " ".join(f"{text_of(each)} = {operands.zero};" for each in targets)
            end = body.children[-1]
            yield end, f"{text_of(end)} else {f'{{ {zeros} }}' if len(targets) > 1 else zeros}"


def _assigned(body: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the left and right sides of the assignments of a statement, or of a block's own statements."""
    for statement in body.named_children if body.type == "compound_statement" else [body]:
        for each in statement.named_children if statement.type == "expression_statement" else []:
            if each.type == "assignment_expression" and text_of(each.children[1]) == "=":
                yield each.children[0], each.children[2]


def _guarded(nodes: Sequence[Node], operands: Operands) -> Iterator[tuple[Node, str]]:
    """Yield a condition for each unguarded store to C, and zeros for loads of A and B that are outside."""
    conditions = dict[int, list[str]]()  # of the statements that store to C
    for node in _accesses(nodes, operands, "C"):
        statement = node.parent.parent if is_stored_to(node) and node.parent is not None else None
        if statement is None or statement.type != "expression_statement" or statement.id in conditions:
            continue
        if place := operands.place(node):
            conditions[statement.id] = place.inside
            yield before(statement, f"if ({' && '.join(place.inside)})")
    for node in _accesses(nodes, operands, "AB"):
        above, place = node.parent, None if is_stored_to(node) else operands.place(node)
        if above is None or above.type == "pointer_expression" or place is None:
            continue
        known = conditions.get(_statement(node).id, [])
        if inside := [each for each in place.inside if each not in known]:
            zero = f"{' && '.join(inside)} ? {text_of(node)} : {operands.zero}"
            yield node, zero if above.type in ("assignment_expression", "init_declarator") else f"({zero})"


def _statement(node: Node) -> Node:
    """Return the statement or declaration that contains an expression."""
    while node.parent is not None and not node.type.endswith(("_statement", "declaration")):
        node = node.parent
    return node


def guarded_returns(nodes: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Return the conditional returns before the last barrier of a function, each with its guard."""
    barriers = [each for each in nodes if each.type == "identifier" and text_of(each) == "__syncthreads"]
    last = {enclosing_function(each): each.start_byte for each in barriers}
    returns = (each for each in nodes if each.type == "return_statement" and not each.named_children)
    skipping = (each for each in returns if each.start_byte < last.get(enclosing_function(each), 0))
    return [(each, guard) for each in skipping if (guard := _guard(each)) is not None]


def _without_return(node: Node, guard: Node) -> tuple[Node, str]:
    """Return a conditional return as a comment, with its condition where that has no other statement."""
    alone = guard.type == "if_statement" and guard.child_by_field_name("alternative") is None
    body = guard.child_by_field_name("consequence")
    is_body = body is not None and (body == node or body.named_children == [node])
    in_block = guard.parent is not None and guard.parent.type == "compound_statement"
    written = (guard.text or b"").decode()  # with its lines
    if alone and is_body and in_block and "*/" not in written:
        return guard, f"/* {written} */"
    return node, ";"


def _whole_guards(nodes: Sequence[Node], operands: Operands) -> Iterator[tuple[Node, str]]:
    """Yield the conditions of loads of A and B, which may guard one axis alone, each with a guard of both."""
    for node in (each for each in nodes if each.type == "conditional_expression"):
        condition, access = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        if condition is None or access is None:
            continue
        if operands.is_element(access, "AB") and (place := operands.place(access)):
            yield condition, " && ".join(place.inside)


def _completed_guards(nodes: Sequence[Node], operands: Operands) -> Iterator[tuple[Node, str]]:
    """Yield conditions of loads that test one size of a matrix alone, with the other one."""
    lacking: dict[int, tuple[Node, dict[str, None]]] = {}
    for node in nodes:
        guard = _guard(node) if operands.is_element(node, "AB") and not is_stored_to(node) else None
        condition = guard.child_by_field_name("condition") if guard is not None else None
        if condition is None:
            continue
        tested = "".join(text_of(condition).split())
        place = operands.place(node)
        lacks = [each for each in place.inside if "".join(each.split()) not in tested] if place else []
        if len(lacks) == 1:
            lacking.setdefault(condition.id, (condition, {}))[1][lacks[0]] = None
    for condition, parts in lacking.values():
        text = text_of(condition)
        begin, end = (text[:-1], ")") if text.endswith(")") and condition.type != "call_expression" else (text, "")
        yield condition, " && ".join([begin, *parts]) + end


def _guards_of_own_index(nodes: Sequence[Node], operands: Operands) -> Iterator[tuple[Node, str]]:
    """Yield the comparisons before stores to C that have a part of the store's row or column, with the whole of it."""
    for node in (each for each in nodes if operands.is_element(each, "C") and is_stored_to(each)):
        guard, place = _guard(node), operands.place(node)
        condition = guard.child_by_field_name("condition") if guard is not None else None
        if condition is None or place is None:
            continue
        for each in (each for each in walk(condition) if each.type == "binary_expression"):
            compared, sign, limit = map(text_of, each.children)
            for whole, bound in ((place.row, place.rows), (place.column, place.length)):
                if (sign, limit) == ("<", bound) and whole.startswith(f"{compared} + "):
                    yield each, f"{whole} < {bound}"


def _accesses(nodes: Sequence[Node], operands: Operands, matrices: str) -> Iterator[Node]:
    """Yield the subscripts of some matrices that no condition guards."""
    yield from (each for each in nodes if operands.is_element(each, matrices) and _guard(each) is None)


def _guard(node: Node) -> Node | None:
    """Return the innermost statement or expression with a condition around a node."""
    return next((each for each in ancestors(node) if each.type in CONDITIONS), None)

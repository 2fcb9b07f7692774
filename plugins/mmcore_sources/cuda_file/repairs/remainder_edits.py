"""Changes of a kernel that is right at whole tiles alone: guards, zeros beyond the matrices, and the last step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of
from mmcore_sources.cuda_file.inference.size_names import SIDES
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced
from mmcore_sources.cuda_file.repairs.loop_edits import quotients, rounded_up

_WEAKER = re.compile(r"[&|^?<>=)(].*[(]|[&|^?<>=]")  # operators that bind less than a comparison, and more parentheses


@dataclass(frozen=True)
class Operands:
    """The names of a kernel's matrices and sizes.

    Attributes:
        matrices: the matrix of each pointer, by name: "A", "B", "C".
        sizes: the role of each size, by name: "m", "n", "k", "lda", "ldb", "ldc".
        column_major: the matrices that are stored by columns.
        zero: an element 0 in C++.
    """

    matrices: Mapping[str, str]
    sizes: Mapping[str, str]
    column_major: str
    zero: str

    def extents(self, matrix: str) -> tuple[str, str]:
        """Return the names of the number of rows and of their length, as stored; "" for unknown ones."""
        names = {role: name for name, role in self.sizes.items()}
        order = SIDES[matrix][::-1] if matrix in self.column_major else SIDES[matrix]
        square = next(iter(names.values())) if len(names) == 1 else ""
        rows, length = (names.get(role, square) for role in order)
        return rows, length

    def strides(self, matrix: str) -> set[str]:
        """Return the names of the length of a row in memory."""
        leading = f"ld{matrix.lower()}"
        return {self.extents(matrix)[1], *(name for name, role in self.sizes.items() if role == leading)} - {""}


def remainder_edits(text: str, nodes: Sequence[Node], operands: Operands) -> Iterator[Edit]:
    """Yield sources that may be right at remainders, too, the one with the fewest changes first."""
    source = text.encode()
    zeros = [*_zeros(nodes, operands)]
    names = {name for name, role in operands.sizes.items() if role == "k" or len(operands.sizes) == 1}
    steps = [(each, rounded_up(each)) for each in quotients(nodes) if names & {*identifiers(each)}]
    guarded = [*_guarded_loads(nodes, operands), *_guarded_stores(nodes, operands)]
    if returns := _returns_before_barriers(nodes):
        whole = [*returns, *guarded, *_whole_guards(nodes, operands)]
        yield replaced(source, whole, "guards instead of the return before a barrier")
        yield replaced(source, [*steps, *whole], "a last step, and guards instead of the return before a barrier")
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


def _guarded_loads(nodes: Sequence[Node], operands: Operands) -> Iterator[tuple[Node, str]]:
    for node in _accesses(nodes, operands, "AB"):
        if not _is_stored_to(node) and (inside := _inside(node, operands)):
            guarded = f"{inside} ? {text_of(node)} : {operands.zero}"
            above = node.parent
            alone = above is not None and above.type == "assignment_expression"
            yield node, guarded if alone else f"({guarded})"


def _guarded_stores(nodes: Sequence[Node], operands: Operands) -> Iterator[tuple[Node, str]]:
    for node in _accesses(nodes, operands, "C"):
        statement = node.parent.parent if _is_stored_to(node) and node.parent is not None else None
        if statement is not None and statement.type == "expression_statement" and (inside := _inside(node, operands)):
            yield statement, f"if ({inside}) {text_of(statement)}"


def _returns_before_barriers(nodes: Sequence[Node]) -> list[tuple[Node, str]]:
    """Return the conditional returns before the last barrier, each with an empty statement in its place."""
    barriers = [each.start_byte for each in nodes if each.type == "identifier" and text_of(each) == "__syncthreads"]
    returns = (each for each in nodes if each.type == "return_statement" and each.start_byte < max(barriers, default=0))
    return [(each, ";") for each in returns if _guard(each) is not None]


def _whole_guards(nodes: Sequence[Node], operands: Operands) -> Iterator[tuple[Node, str]]:
    """Yield the conditions of loads of A and B, which may guard one axis alone, each with a guard of both."""
    for node in (each for each in nodes if each.type == "conditional_expression"):
        condition, access = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        if condition is None or access is None or access.type != "subscript_expression":
            continue
        if operands.matrices.get(text_of(access.children[0]), "-") in "AB" and (inside := _inside(access, operands)):
            yield condition, inside


def _completed_guards(nodes: Sequence[Node], operands: Operands) -> Iterator[tuple[Node, str]]:
    """Yield conditions of loads that test one size of a matrix alone, with the other one."""
    lacking: dict[int, tuple[Node, dict[str, None]]] = {}
    for node in nodes:
        guard = _guard(node) if _is_of(node, operands, "AB") and not _is_stored_to(node) else None
        condition = guard.child_by_field_name("condition") if guard is not None else None
        if condition is None:
            continue
        tested = "".join(text_of(condition).split())
        inside = _inside(node, operands).split(" && ")
        lacks = [each for each in inside if "".join(each.split()) not in tested]
        if len(lacks) == 1 < len(inside):
            lacking.setdefault(condition.id, (condition, {}))[1][lacks[0]] = None
    for condition, parts in lacking.values():
        text = text_of(condition)
        begin, end = (text[:-1], ")") if text.endswith(")") and condition.type != "call_expression" else (text, "")
        yield condition, " && ".join([begin, *parts]) + end


def _accesses(nodes: Sequence[Node], operands: Operands, matrices: str) -> Iterator[Node]:
    """Yield the subscripts of some matrices that no condition guards."""
    yield from (each for each in nodes if _is_of(each, operands, matrices) and _guard(each) is None)


def _is_of(node: Node, operands: Operands, matrices: str) -> bool:
    """Return whether a node is a subscript of some matrices."""
    return node.type == "subscript_expression" and operands.matrices.get(text_of(node.children[0]), "-") in matrices


def _is_stored_to(node: Node) -> bool:
    above = node.parent
    return above is not None and above.type == "assignment_expression" and above.children[0] == node


def _guard(node: Node) -> Node | None:
    """Return the innermost statement or expression with a condition around a node."""
    above = node.parent
    while above is not None and above.type not in ("if_statement", "conditional_expression"):
        above = above.parent
    return above


def _inside(access: Node, operands: Operands) -> str:
    """Return the condition that ``X[row * length + column]`` is in its matrix; "" for other indexes."""
    matrix = operands.matrices[text_of(access.children[0])]
    rows, length = operands.extents(matrix)
    index = access.children[1].named_children[0]
    row, others = "", list[str]()
    for summand in _summands(index):
        strides = operands.strides(matrix)
        left, sign, right = map(text_of, summand.children) if summand.type == "binary_expression" else ("", "", "")
        if sign == "*" and {left, right} & strides and not row:
            row = left if right in strides else right
        else:
            others.append(text_of(summand))
    if row.startswith("(") and row.endswith(")") and not _WEAKER.search(row):
        row = row[1:-1]
    return f"{row} < {rows} && {' + '.join(others)} < {length}" if row and others and rows and length else ""


def _summands(node: Node) -> Iterator[Node]:
    if node.type == "binary_expression" and text_of(node.children[1]) == "+":
        yield from _summands(node.children[0])
        yield from _summands(node.children[2])
    else:
        yield node

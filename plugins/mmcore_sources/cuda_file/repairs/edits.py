"""Changes of a kernel's source, each of one kind of mistake: indexes, sizes, axes, comparisons, types."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mmcore_cuda.cuda_source.tree import Node, ancestors, identifiers, parse, text_of, walk
from mmcore_sources.cuda_file.repairs.axis_edits import exchanged_axes, other_axes
from mmcore_sources.cuda_file.repairs.bound_edits import bound_edits, part_edits
from mmcore_sources.cuda_file.repairs.component_edits import component_edits
from mmcore_sources.cuda_file.repairs.copied_values import copied_values
from mmcore_sources.cuda_file.repairs.edit import Edit, reads_itself, replaced
from mmcore_sources.cuda_file.repairs.fragment_edits import missing_elements
from mmcore_sources.cuda_file.repairs.index_edits import (
    exchanged_parts,
    exchanged_subscripts,
    index_edits,
    other_buffers,
    remainders,
    transposed_elements,
)
from mmcore_sources.cuda_file.repairs.loop_edits import loop_edits, quotients
from mmcore_sources.cuda_file.repairs.matrix_load_edits import matrix_load_edits
from mmcore_sources.cuda_file.repairs.operands import Operands
from mmcore_sources.cuda_file.repairs.product_edits import product_edits
from mmcore_sources.cuda_file.repairs.remainder_edits import guarded_returns
from mmcore_sources.cuda_file.repairs.return_edits import BEFORE_LOOP, return_before_loop
from mmcore_sources.cuda_file.repairs.sum_edits import (
    added_products,
    stored_sums,
    unset_sums,
    variables_of_sums,
    warp_sums,
)
from mmcore_sources.cuda_file.repairs.tensor_core_edits import parity_edits, tensor_core_edits

_ON_DEVICE = re.compile(r"\b__(?:global|device)__\b")
_LIKELY_COMPARISONS = {"<=": "<", ">": ">=", "&&": "||", "||": "&&"}  # guards let one thread too many in
_OTHER_COMPARISONS = {"<": "<=", ">=": ">"}
_LENGTHS = ("n", "k", "lda", "ldb", "ldc", "m")  # the roles of sizes as lengths of rows, likely ones first
_LOOP = re.compile(r"for \((?:int|unsigned|size_t) (\w+)")
_WHOLE = re.compile(r"(?:signed |unsigned )?(?:int|char|short|long)|u?int(?:8|16|32)_t")

_NARROWER = {
    "double": re.compile(r"float|(?:__)?half"),
    "float": re.compile(r"(?:__)?half|(?:__)?nv_bfloat16"),
    "int": re.compile(r"float|(?:__)?half|(?:__)?nv_bfloat16"),
}


def edits(text: str, entry: str, operands: Operands, element: str) -> Iterator[Edit]:
    """Yield changed sources, likely ones first.

    Args:
        text: the source.
        entry: the name of the kernel; device functions are changed, too.
        operands: the names of the kernel's matrices and sizes.
        element: the C++ type of a sum; empty if no change to it is tried.
    """
    yield from (each for each in _candidates(text, entry, operands, element) if not reads_itself(each))


def _candidates(text: str, entry: str, operands: Operands, element: str) -> Iterator[Edit]:
    """Yield changed sources, those whose sum is wide enough first, without a check of the variables that they read."""
    wider = _with_wider_sum(text, entry, element)
    if wider is None:
        yield from _edits(text, entry, operands, element)
        return
    yield wider
    for edit in _edits(wider.text, entry, operands, element):
        yield replace(edit, what=f"{wider.what} in line {wider.line}, and {edit.what}")


def _with_wider_sum(text: str, entry: str, element: str) -> Edit | None:
    """Return a source whose float sum has the type of elements that no float holds; None without such a sum."""
    sums = _other_types(text.encode(), device_nodes(text, entry), element) if element in ("double", "int") else ()
    return next((each for each in sums if re.search(r"instead of (?:float|(?:__)?half) ", each.what)), None)


def _edits(text: str, entry: str, operands: Operands, element: str) -> Iterator[Edit]:
    source, nodes = text.encode(), device_nodes(text, entry)
    yield from parity_edits(source, nodes)  # these two first, as a hazard leaves little time
    yield from other_buffers(source, nodes)
    yield from matrix_load_edits(source, nodes)
    yield from missing_elements(source, nodes)
    yield from remainders(source, nodes)
    yield from loop_edits(source, nodes)
    yield from tensor_core_edits(source, nodes)
    yield from product_edits(source, nodes)
    yield from component_edits(source, nodes)
    yield from copied_values(source, nodes)
    yield from unset_sums(source, nodes)
    yield from stored_sums(source, nodes)
    yield from warp_sums(source, nodes)
    if element:
        yield from _other_types(source, nodes, element)
    yield from exchanged_subscripts(source, nodes)
    yield from exchanged_axes(source, nodes)
    yield from _other_strides(source, nodes)
    yield from _other_variables(source, nodes)
    yield from _other_sizes(source, nodes, operands.sizes)
    yield from transposed_elements(source, nodes, operands)
    yield from part_edits(source, nodes, operands.sizes)
    yield from bound_edits(source, nodes, operands.sizes)
    yield from index_edits(source, nodes)
    yield from exchanged_parts(source, nodes)
    yield from _multiplied(source, nodes)
    yield from _comparisons(source, nodes, _LIKELY_COMPARISONS)
    yield from guards(text, entry, operands)
    yield from other_axes(source, nodes)
    yield from added_products(source, nodes)
    yield from _comparisons(source, nodes, _OTHER_COMPARISONS)


def _is_on_device(function: Node, entry: str) -> bool:
    head = text_of(function).partition("{")[0]
    named = re.search(rf"\b{re.escape(entry.rpartition('::')[2])}\s*\(", head)
    return bool(_ON_DEVICE.search(head)) and ("__global__" not in head or named is not None)


def device_nodes(text: str, entry: str) -> list[Node]:
    """Return the nodes of a kernel and of the device functions."""
    return [node for function in device_functions(text, entry) for node in walk(function)]


def device_functions(text: str, entry: str) -> list[Node]:
    """Return the definitions of a kernel and of the device functions."""
    functions = (each for each in walk(parse(text.encode())) if each.type == "function_definition")
    return [function for function in functions if _is_on_device(function, entry)]


def rest_left_out(text: str, entry: str, sizes: Mapping[str, str]) -> str:
    """Return the first loop's bound that is a quotient of k rounded down, in a clause; "" without one."""
    if (bound := whole_steps(text, entry, sizes)) is None:
        return ""
    clause = f"line {bound.start_point.row + 1} counts {text_of(bound)} whole steps"
    return f"{clause} and leaves the rest of k out"


def whole_steps(text: str, entry: str, sizes: Mapping[str, str]) -> Node | None:
    """Return the first loop's bound that is a quotient of k rounded down, such as ``K / BK``; None without one."""
    roles = {"k"} if "k" in sizes.values() else {*sizes.values()}
    names = {name for name, role in sizes.items() if role in roles}
    of_k = (node for node in quotients(device_nodes(text, entry)) if names & {text_of(each) for each in walk(node)})
    return next(of_k, None)


def guards(text: str, entry: str, operands: Operands) -> Iterator[Edit]:
    """Yield a source in which the threads beyond C return before the first loop, if there is no barrier."""
    if (guard := return_before_loop(device_nodes(text, entry), operands)) is not None:
        yield replaced(text.encode(), [guard], BEFORE_LOOP)


def _other_sizes(source: bytes, nodes: Sequence[Node], sizes: Mapping[str, str]) -> Iterator[Edit]:
    """Yield sources with another size as the length of a row, such as ``i * n`` for ``i * k``, or two exchanged."""
    lines: dict[tuple[int, str], list[Node]] = {}
    for node in (each for each in nodes if each.type in ("identifier", "field_expression") and text_of(each) in sizes):
        if _is_length(node):
            lines.setdefault((node.start_point.row, text_of(node)), []).append(node)
    for (row, one), (other_row, other) in itertools.combinations(lines, 2):
        if row == other_row:
            changes = [(each, other) for each in lines[row, one]] + [(each, one) for each in lines[row, other]]
            yield replaced(source, changes, f"{one} and {other} exchanged")
    for (_, name), places in lines.items():
        by_role = {role: other for other, role in sizes.items() if role != sizes[name]}
        others = sorted(by_role.values(), key=lambda other: _LENGTHS.index(sizes[other]))
        for other, some in itertools.product(others, [places, *([each] for each in places if len(places) > 1)]):
            yield replaced(source, [(each, other) for each in some])


def _is_length(node: Node) -> bool:
    """Return whether a size is a factor or divisor, or an argument such as the leading dimension of a fragment."""
    above = node.parent
    if above is None or above.type != "binary_expression":
        return above is not None and above.type == "argument_list"
    sign = text_of(above.children[1])
    return sign == "*" or (sign in ("/", "%") and above.children[2] == node)


def _other_types(source: bytes, nodes: Sequence[Node], element: str) -> Iterator[Edit]:
    """Yield sources in which a sum of fewer digits, or of whole numbers where they are not, has the elements' type."""
    added = variables_of_sums(nodes)
    for node in (each for each in nodes if each.type == "declaration"):
        type_, names = node.child_by_field_name("type"), sorted({*identifiers(node)} & added)
        of_loop = node.parent is not None and node.parent.type == "for_statement"
        if type_ is None or not names or of_loop or text_of(type_) == element:
            continue
        if _WHOLE.fullmatch(text_of(type_)) or _NARROWER[element].fullmatch(text_of(type_)):
            yield replaced(source, [(type_, element)], f"{element} {names[0]} instead of {text_of(type_)} {names[0]}")


def _comparisons(source: bytes, nodes: Sequence[Node], others: Mapping[str, str]) -> Iterator[Edit]:
    """Yield sources with other comparisons in a line, or with "or" for "and".

    A return before a barrier stays as it is: with another condition fewer threads would miss the barrier, not none.
    """
    returns = {part.id for _, guard in guarded_returns(nodes) for part in walk(guard)}
    lines: dict[tuple[int, str], list[Node]] = {}
    for node in (each for each in nodes if each.type == "binary_expression" and each.id not in returns):
        if (sign := text_of(node.children[1])) in others:
            lines.setdefault((node.start_point.row, sign), []).append(node.children[1])
    for (_, sign), places in lines.items():
        for some in [places, *([each] for each in places if len(places) > 1)]:
            yield replaced(source, [(each, others[sign]) for each in some])


def _multiplied(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources in which a summand has the factor that it has elsewhere: ``t * TILE + y`` for ``t + y``."""
    products = [each for each in nodes if each.type == "binary_expression" and text_of(each.children[1]) == "*"]
    pairs = [(text_of(each.children[0]), text_of(each.children[2])) for each in products]
    factors = {
        left: right for left, right in pairs if left.isidentifier() and (right.isidentifier() or right.isdecimal())
    }
    for node in (each for each in nodes if each.type == "identifier" and text_of(each) in factors):
        above = node.parent
        if above is not None and above.type == "binary_expression" and text_of(above.children[1]) == "+":
            product = f"{text_of(node)} * {factors[text_of(node)]}"
            yield replaced(source, [(node, product)])


def _other_strides(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources in which an array is accessed with the length of a row that it has at another place."""
    strides: dict[str, list[Node]] = {}
    for node in (each for each in nodes if each.type == "subscript_expression"):
        index = node.children[1].named_children[0]
        product = index.children[0] if index.type == "binary_expression" else index
        if product.type == "binary_expression" and text_of(product.children[1]) == "*":
            strides.setdefault(text_of(node.children[0]), []).append(product.children[2])
    used = Counter(text_of(each) for places in strides.values() for each in places)
    others = [(other, node) for places in strides.values() for node in places for other in {*map(text_of, places)}]
    for other, node in sorted(others, key=lambda pair: (-used[pair[0]], pair[1].start_byte)):
        if other != text_of(node):
            yield replaced(source, [(node, other)])


def _other_variables(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources with another loop's variable as the last summand of the indexes in a line."""
    lines: dict[tuple[int, str], list[Node]] = {}
    for node in (each for each in nodes if each.type == "subscript_argument_list"):
        index = node.named_children[0]
        last = index.children[-1] if index.type == "binary_expression" else index
        if text_of(last) in _loops_around(last):
            lines.setdefault((last.start_point.row, text_of(last)), []).append(last)
    for (_, name), places in lines.items():
        for other in _loops_around(places[0]):
            if other != name:
                yield replaced(source, [(each, other) for each in places])


def _loops_around(node: Node) -> list[str]:
    """Return the variables of the loops around a node, the innermost first."""
    loops = (text_of(each) for each in ancestors(node) if each.type == "for_statement")
    return [match[1] for each in loops if (match := _LOOP.match(each))]

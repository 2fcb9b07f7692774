"""Changes of how tiles and fragments are loaded: coordinates of copies by tensor maps, and ``ldmatrix``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from mmcore_cuda.cuda_source.tree import Node, ancestors, identifiers, root_of, text_of, walk
from mmcore_sources.cuda_file.inference.host_calls import function_name
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced

_TENSOR_COPY = re.compile(r"cp[._]async[._]bulk[._]tensor")
_MAP = "CUtensorMap"
_LOAD = "ldmatrix"
_TEXTS = {"gnu_asm_expression": ("string_literal", "concatenated_string"), "preproc_function_def": ("preproc_arg",)}
_ORDERS = ("0123", "0011", "0101")  # the last indices of registers whose second and third may be in each other's place
_MATRICES = 4  # that one instruction loads at most


def matrix_load_edits(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield the changes of loads among the nodes of a kernel and its device functions, and in macros."""
    yield from _exchanged_coordinates(source, nodes)
    loads = [each for each in nodes if each.type == "gnu_asm_expression" and _LOAD in text_of(each)]
    macros = walk(root_of(nodes[0])) if nodes else ()
    loads += [each for each in macros if each.type == "preproc_function_def" and _LOAD in text_of(each)]
    for load in loads:
        yield from _transposed(source, load)
    names = {_name(load): ".trans" in text_of(load) for load in loads}
    for call in (
        each for each in nodes if each.type == "call_expression" and function_name(each) in names.keys() - {""}
    ):
        yield from _other_load(source, call, names)
        yield from _exchanged_matrices(source, call)


def _exchanged_coordinates(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources in which two coordinates of all copies by a tensor map, or of one copy, have changed places."""
    definitions = [each for each in nodes if each.type == "function_definition" and _TENSOR_COPY.search(text_of(each))]
    names = {*map(function_name, definitions)}
    maps = {identifiers(each)[-1] for each in nodes if each.type == "parameter_declaration" and _MAP in text_of(each)}
    exchanges: dict[tuple[str, int], list[tuple[Node, Node]]] = {}
    for call in (each for each in nodes if each.type == "call_expression"):
        name, arguments = function_name(call), call.child_by_field_name("arguments")
        by = "".join(sorted(maps & {*identifiers(arguments)})) if arguments is not None else ""
        # A function of a header takes the map.
        if arguments is None or not (by or name in names or _TENSOR_COPY.search(name)):
            continue
        for place, (one, other) in enumerate(itertools.pairwise(arguments.named_children)):
            if text_of(one) != text_of(other) and "&" not in text_of(one) + text_of(other):
                exchanges.setdefault((by, place), []).append((one, other))
    of_statements = (("", [pair]) for node in nodes for pair in _coordinates(node))
    for by, pairs in (*((by, pairs) for (by, _), pairs in exchanges.items()), *of_statements):
        for some in [pairs, *([each] for each in pairs if len(pairs) > 1)]:
            (left, right), changes = map(text_of, some[0]), [(one, text_of(other)) for one, other in some]
            changes += [(other, text_of(one)) for one, other in some]
            of_which = f"all copies by {by}" if len(some) > 1 else "the copy"
            yield replaced(source, changes, f"{right}, {left} as coordinates of {of_which}")


def _coordinates(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the neighbouring variables among the operands of an asm statement that copies by a tensor map."""
    if node.type == "gnu_asm_expression" and _TENSOR_COPY.search(text_of(node)):
        operands = [each.named_children[-1] for each in walk(node) if each.type == "gnu_asm_input_operand"]
        several = itertools.pairwise(operands)
        yield from ((one, other) for one, other in several if one.type == other.type == "identifier")


def _transposed(source: bytes, load: Node) -> Iterator[Edit]:
    """Yield a source with or without ``.trans`` in an ``ldmatrix``."""
    for template in (each for each in load.children if each.type in _TEXTS[load.type]):
        text = source[template.start_byte : template.end_byte].decode()
        if ".trans" in text:
            yield replaced(source, [(template, text.replace(".trans", ""))], "no .trans in ldmatrix")
        elif changed := re.sub(r"\.(shared|b16)", r".trans.\1", text, count=1):
            yield replaced(source, [(template, changed)], ".trans in ldmatrix")


def _name(load: Node) -> str:
    """Return the name of the macro or device function that loads four matrices; "" for others."""
    if ".x4" not in text_of(load):
        return ""
    if load.type == "preproc_function_def":
        return text_of(load.named_children[0])
    function = next((each for each in ancestors(load) if each.type == "function_definition"), None)
    is_kernel = function is None or "__global__" in text_of(function).partition("{")[0]
    return "" if function is None or is_kernel else function_name(function)


def _other_load(source: bytes, call: Node, names: Mapping[str, bool]) -> Iterator[Edit]:
    """Yield a source in which a call is of the macro or function with ``.trans``, or of the one without it.

    ``names`` has the macros and functions, with True for those with ``.trans``.
    """
    name = function_name(call)
    others = [each for each, transposes in names.items() if transposes != names[name]]
    if len(others) == 1:
        yield replaced(source, [(call.children[0], others[0])])


def _exchanged_matrices(source: bytes, call: Node) -> Iterator[Edit]:
    """Yield a source in which the second and third of the matrices that a call loads have changed places."""
    arguments = call.child_by_field_name("arguments")
    values = arguments.named_children if arguments is not None else []
    numbers = [re.search(r"\d+(?=\W*$)", text_of(each)) for each in values]
    for first in range(len(values) - _MATRICES + 1):
        if "".join(match[0] if match else " " for match in numbers[first : first + _MATRICES]) in _ORDERS:
            one, other = values[first + 1 : first + 3]
            what = f"{text_of(other)} before {text_of(one)}, as ldmatrix loads them,"
            yield replaced(source, [(one, text_of(other)), (other, text_of(one))], what)

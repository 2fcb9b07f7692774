"""Changes of tensor cores' code: layouts, fragments, descriptors, parities of mbarriers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from mmcore_cuda.cuda_source.tree import Node, text_of, walk
from mmcore_sources.cuda_file.inference.host_calls import function_name
from mmcore_sources.cuda_file.repairs.edit import Edit, replaced
from mmcore_sources.cuda_file.repairs.fragment_edits import filled_fragments, fragment_edits

_OTHER_LAYOUT = {"row_major": "col_major", "col_major": "row_major", "mem_row_major": "mem_col_major",
                 "mem_col_major": "mem_row_major"}  # fmt: skip
_WAITS = re.compile(r"wait", re.IGNORECASE)
_MASKED = re.compile(r"\(?(\w+) & 0x3fff\)?", re.IGNORECASE)

_NO_SUMS = re.compile(r"(%\d+,\s*%\d+,\s*)0(,\s*-?1,\s*-?1\b)")
_STEPS = re.compile(r"\b(\w+)\s*<\s*\w+\s*/\s*(\d+)\s*;")
_PRODUCT = re.compile(r"mma", re.IGNORECASE)


def parity_edits(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield sources in which a wait for an mbarrier's phase is for the other parity."""
    for node in nodes:
        if node.type == "call_expression" and _WAITS.search(text_of(node.children[0])):
            yield from _other_parity(source, node)


def tensor_core_edits(source: bytes, nodes: Sequence[Node]) -> Iterator[Edit]:
    """Yield the changes of tensor-core code among the nodes of a kernel and its device functions."""
    yield from filled_fragments(source, nodes)
    yield from fragment_edits(source, nodes)
    for node in nodes:
        word = text_of(node)
        if node.type in ("type_identifier", "identifier") and word in _OTHER_LAYOUT:
            yield replaced(source, [(node, _OTHER_LAYOUT[word])])
        elif node.type == "gnu_asm_expression" and "mma" in word:
            yield from _exchanged_operands(source, node)
            yield from _added_to_sums(source, node)
        elif node.type == "for_statement":
            yield from _advanced(source, node)
        elif node.type == "call_expression" and "desc" in text_of(node.children[0]).casefold():
            yield from _exchanged_offsets(source, node)
    masked = [each for each in nodes if each.type == "binary_expression" and _MASKED.fullmatch(text_of(each))]
    if masked:
        units = [(each, f"({text_of(each.children[0])} >> 4) & 0x3FFF") for each in masked]
        yield replaced(source, units, "a descriptor's offsets in units of 16 bytes")


def _other_parity(source: bytes, call: Node) -> Iterator[Edit]:
    """Yield a source in which one call waits for the other parity."""
    arguments = call.child_by_field_name("arguments")
    values = arguments.named_children if arguments is not None else []
    if len(values) >= 2:
        word = text_of(values[-1])
        other = (
            word.removesuffix(" ^ 1")
            if word.endswith(" ^ 1")
            else f"{word if word.isidentifier() else f'({word})'} ^ 1"
        )
        yield replaced(source, [(values[-1], other)], f"{other} instead of {word} as the parity")


def _exchanged_operands(source: bytes, asm: Node) -> Iterator[Edit]:
    """Yield sources in which neighbouring registers of A or B have changed places as operands of an ``mma``."""
    for listed in (each for each in asm.children if each.type.endswith("operand_list")):
        operands = [each for each in listed.named_children if each.type.endswith("operand")]
        for one, other in itertools.pairwise(operands):
            (first, left), (second, right) = ((text_of(each.children[0]), each.children[2]) for each in (one, other))
            if first == second and "+" not in first and text_of(left) != text_of(right):
                what = f"{text_of(left)} and {text_of(right)} exchanged as operands of mma"
                yield replaced(source, [(left, text_of(right)), (right, text_of(left))], what)


def _added_to_sums(source: bytes, asm: Node) -> Iterator[Edit]:
    """Yield a source whose ``wgmma`` adds to its sums, where a constant scale-d of 0 replaces them."""
    for text in (each for each in walk(asm) if each.type == "string_literal"):
        if "wgmma" in text_of(asm) and _NO_SUMS.search(text_of(text)):
            yield replaced(
                source, [(text, _NO_SUMS.sub(r"\g<1>1\2", text_of(text)))], "scale-d 1 instead of 0 in wgmma"
            )


def _advanced(source: bytes, loop: Node) -> Iterator[Edit]:
    """Yield a source whose tiles of a ``wgmma`` advance along k in a loop that does not use its variable."""
    body = loop.child_by_field_name("body")
    head = _STEPS.search(source[loop.start_byte : body.start_byte].decode()) if body is not None else None
    if body is None or head is None or re.search(rf"\b{head[1]}\b", text_of(body)):
        return
    for call in (
        each for each in walk(body) if each.type == "call_expression" and _PRODUCT.search(function_name(each))
    ):
        arguments = call.child_by_field_name("arguments")
        tiles = arguments.named_children[-2:] if arguments is not None else []
        if len(tiles) == 2:
            by = f"{head[1]} * {head[2]}"
            changes = [(each, f"{text_of(each)} + {by}") for each in tiles]
            yield replaced(source, changes, f"tiles that begin {by} elements further")


def _exchanged_offsets(source: bytes, call: Node) -> Iterator[Edit]:
    """Yield a source in which the last two arguments of a function that makes a descriptor have changed places."""
    arguments = call.child_by_field_name("arguments")
    values = arguments.named_children if arguments is not None else []
    if len(values) >= 3:
        left, right = values[-2:]
        what = f"{text_of(right)} and {text_of(left)} as the offsets of the descriptor"
        yield replaced(source, [(left, text_of(right)), (right, text_of(left))], what)

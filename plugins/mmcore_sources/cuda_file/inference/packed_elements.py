"""Elements of eight bits that a kernel takes in words of 32: ``uint8_t a[16]`` that a load from A fills."""

from __future__ import annotations

import re

from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body

_BYTES = {
    "uint8_t": "uint8_t",
    "unsigned char": "uint8_t",
    "int8_t": "int8_t",
    "signed char": "int8_t",
    "char": "int8_t",
}
_POINTER = re.compile(r"\*\s*[>)]")  # the array as words, as in ``*(uint32_t *)a``


def packed_types(body: Body) -> dict[str, tuple[str, str]]:
    """Return the type of the bytes in a matrix's words, and the array that holds some of them, by pointer parameter.

    An assignment fills the array from the matrix, or a part of the matrix from the array, through another pointer.
    """
    arrays = dict(each for node in walk(body.function.body) for each in _byte_arrays(node))
    packed = dict[str, tuple[str, str]]()
    for target, sign, value in body.assignments:
        for one, other in ((target, value), (value, target)):
            array = next((name for name in identifiers(one) if name in arrays), "")
            pointer = body.pointer_in(other)
            if array and pointer and sign == "=" and _POINTER.search(text_of(one)):
                packed.setdefault(pointer, (arrays[array], array))
    return packed


def _byte_arrays(node: Node) -> list[tuple[str, str]]:
    """Return the names of the arrays of bytes that a declaration has, each with the type of its elements."""
    written = node.child_by_field_name("type") if node.type == "declaration" else None
    kind = "" if written is None else _BYTES.get(text_of(written), "")
    arrays = (each for each in node.named_children if each.type in ("array_declarator", "init_declarator"))
    return [(name, kind) for each in arrays if kind and "[" in text_of(each) for name in [*identifiers(each)][:1]]

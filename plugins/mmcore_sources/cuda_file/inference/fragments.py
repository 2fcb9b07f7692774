"""The sizes of fragments and vectors: those of a kernel with one of each matrix, or what a product's sizes divide."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mmcore_cuda.cuda_source.program import Program
from mmcore_cuda.cuda_source.tree import LOOPS, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.roles import scalar_type

_FRAGMENT = re.compile(
    r"fragment ?< ?(?:\w+::)*matrix_([ab]) ?, ?([^,<>]+), ?([^,<>]+), ?([^,<>]+),[^<>]*?(row|col)_major ?>"
)
_CAST = re.compile(r"\b((?:unsigned )?\w+?)([24]?)\s*(?:const\s*)?\*\s*(?:>\s*\(|\))\s*\(?&?\(?(\w+)")
ROWS = {"A": "k", "B": "n", "C": "n"}
"""The size that is the length of each matrix's rows."""
_COLUMNS = {"A": "m", "B": "k", "C": "m"}  # the length of each matrix's columns
_BY_COLUMNS = re.compile(r"\bmem_col_major\b")


def whole_fragments(source: Program, body: Body) -> dict[str, int]:
    """Return the edges of the fragments that are loaded from A and B or stored to C, by size: no part of one can be."""
    text = text_of(body.function.body)
    found = _FRAGMENT.search(text)
    calls = [each for each in walk(body.function.body) if each.type == "call_expression"]
    moves = [each for each in calls if text_of(each.children[0]).endswith("_matrix_sync")]
    if found is None or not any(body.pointer_in(each) for each in moves):
        return {}
    edges = zip("mnk", (Reader(source).whole(found[at]) for at in (2, 3, 4)), strict=True)
    return {name: edge for name, edge in edges if edge}


def cast_vectors(body: Body, pointers: Mapping[str, str], by_columns: str) -> dict[str, int]:
    """Return the elements of the vectors or words that a kernel casts its matrices to, by the size that they divide.

    ``by_columns`` are the matrices that are stored by columns.
    """
    lengths = {name: (_COLUMNS if matrix in by_columns else ROWS)[matrix]
               for matrix, name in pointers.items() if matrix in ROWS}  # fmt: skip
    elements = {each.name: _bits(each.type) for each in body.function.parameters}
    found = dict[str, int]()
    for word, count, name in _CAST.findall(text_of(body.function.body)):
        size, element = lengths.get(name, ""), elements.get(name, 0)
        width = _bits(word) * int(count or 1) // element if size and element else 1
        if width > 1:
            found[size] = max(found.get(size, 1), width)
    return found


def _bits(word: str) -> int:
    """Return the bits of a scalar type of C; 0 of another type."""
    number = re.search(r"\d+$", scalar_type(word))
    return int(number[0]) if number is not None else 0


def single_fragment(source: Program, body: Body) -> tuple[FixedSizes, str] | None:
    """Return the sizes of the fragments, and the matrices stored by columns; None for a kernel with loops or blocks."""
    text = text_of(body.function.body)
    found = {match[1]: match for match in _FRAGMENT.finditer(text)}
    loops = any(each.type in LOOPS for each in walk(body.function.body) if "load_matrix_sync" in text_of(each))
    if found.keys() != {"a", "b"} or loops or "blockIdx" in text:
        return None
    m, n, k = (Reader(source).whole(found["a"][at]) for at in (2, 3, 4))
    if not (m and n and k):
        return None
    columns = "".join(name.upper() for name in "ab" if found[name][5] == "col")
    return FixedSizes(m, n, k), columns + "C" * (_BY_COLUMNS.search(text) is not None)

"""The sizes of fragments and vectors: those of a kernel with one of each matrix, or what a product's sizes divide."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mmcore_cuda.cuda_source.program import Program
from mmcore_cuda.cuda_source.tree import LOOPS, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes
from mmcore_sources.cuda_file.inference.host_code import Reader

_FRAGMENT = re.compile(
    r"fragment ?< ?(?:\w+::)*matrix_([ab]) ?, ?([^,<>]+), ?([^,<>]+), ?([^,<>]+),[^<>]*?(row|col)_major ?>"
)
_VECTOR = re.compile(r"\b(?:float|double|int|(?:__)?half)([24])\s*(?:const\s*)?\*\s*(?:>\s*\(|\))\s*\(?&?\(?(\w+)")
ROWS = {"A": "k", "B": "n", "C": "n"}
"""The size that is the length of each matrix's rows."""
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


def cast_vectors(body: Body, pointers: Mapping[str, str]) -> dict[str, int]:
    """Return the elements of the vectors that a kernel casts rows of its matrices to, by the size that they divide."""
    lengths = {name: ROWS[matrix] for matrix, name in pointers.items() if matrix in ROWS}
    found = dict[str, int]()
    for width, name in _VECTOR.findall(text_of(body.function.body)):
        if size := lengths.get(name, ""):
            found[size] = max(found.get(size, 1), int(width))
    return found


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

"""Kernels that multiply one fragment of each matrix, as examples of ``wmma`` do: the sizes are the fragments'."""

from __future__ import annotations

import re

from mmcore_cuda.cuda_source.program import Program
from mmcore_cuda.cuda_source.tree import LOOPS, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes
from mmcore_sources.cuda_file.inference.host_code import Reader

_FRAGMENT = re.compile(
    r"fragment ?< ?(?:\w+::)*matrix_([ab]) ?, ?([^,<>]+), ?([^,<>]+), ?([^,<>]+),[^<>]*?(row|col)_major ?>"
)
_BY_COLUMNS = re.compile(r"\bmem_col_major\b")


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

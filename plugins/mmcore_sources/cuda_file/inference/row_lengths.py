"""Lengths of rows that a kernel gets beside its sizes, by any name: leading dimensions in elements or bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.limits import limiting_names, names_of_loops
from mmcore_sources.cuda_file.inference.size_names import usual_role
from mmcore_sources.cuda_file.inference.storage import reads_b_by_columns, strides_of

LENGTHS = ("lda", "ldb", "ldc")
_SIZES = ("m", "n", "k")
_BYTE = r"(?:char|u?int8_t|(?:std::)?byte)\s*(?:const\s*)?\*\s*"
_CAST = re.compile(rf"{_BYTE}[)>]")
_BYTES = re.compile(rf"{_BYTE}(?:const\s+)?(?:__restrict__\s*)?(\w+)\s*=")  # a variable that points to bytes


def row_lengths(names: Sequence[str], body: Body, matrices: Mapping[str, str]) -> dict[str, str]:
    """Return the leading dimension that a name is: it is a factor in the indexes of one matrix, and limits nothing.

    Such a name may also be the size of a transposed matrix. It is none if it counts bytes, or if the other names are
    sizes: one that limits the loops of squares, or all three.
    """
    strides = {matrix: strides_of(body, pointer, {*names}) for matrix, pointer in matrices.items()}
    alone = {matrix: next(iter(several)) for matrix, several in strides.items() if len(several) == 1}
    used, limits = [*alone.values()], limiting_names(body)
    found = {
        name: f"ld{matrix.casefold()}"
        for matrix, name in alone.items()
        if used.count(name) == 1 and name not in limits and usual_role(name) not in _SIZES
    }
    rest = [name for name in names if name not in found]
    if len(rest) == 1:
        certain = rest[0] in names_of_loops(body) and not reads_b_by_columns(body, matrices, {*names})
    else:
        certain = {*_SIZES} <= {*map(usual_role, rest)} or (len(rest) == len(_SIZES) and len(found) > 1)
    return {name: role for name, role in found.items() if rest and (certain or is_in_bytes(name, body.function))}


def side_of_squares(sizes: Mapping[str, str], body: Body) -> str:
    """Return the only size beside leading dimensions if it limits the loops, and they limit nothing; empty if not.

    ``sizes`` are the roles by name; that of the size is empty if nothing shows it.
    """
    others = [name for name, role in sizes.items() if role not in LENGTHS]
    if len(others) != 1 or len(others) == len(sizes) or others[0] not in names_of_loops(body):
        return ""
    bounded = {name for name, role in sizes.items() if role in LENGTHS} & limiting_names(body)
    return "" if bounded or (sizes[others[0]] or usual_role(others[0])) == "k" else others[0]


def is_in_bytes(name: str, function: Function) -> bool:
    """Return whether a kernel divides a length by ``sizeof``, or adds it to a pointer to bytes."""
    text, word = text_of(function.body), rf"\b{re.escape(name)}\b"
    pointers = "|".join(_BYTES.findall(text)) or "(?!)"
    added = re.compile(rf"(?:{_CAST.pattern}|\b(?:{pointers})\s*[+[]).*{word}", re.DOTALL)
    return bool(re.search(rf"{word}\s*/\s*sizeof\b", text)) or any(map(added.search, re.split("[;{}]", text)))

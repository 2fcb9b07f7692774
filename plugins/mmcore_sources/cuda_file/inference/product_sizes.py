"""The roles of a kernel's sizes: by their names, by the rows that the source steps over, or by the only one."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.kernel.arguments import SIZES
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.counted_columns import blocks_of_row
from mmcore_sources.cuda_file.inference.row_lengths import row_lengths, side_of_squares
from mmcore_sources.cuda_file.inference.size_names import sure_role, usual_role
from mmcore_sources.cuda_file.inference.storage import stored_by_columns, strides_of
from mmcore_sources.cuda_file.inference.transposed_sizes import is_transposed_a, with_transposed


def sizes_of(
    names: list[str], body: Body, matrices: Mapping[str, str], *, by_rows: bool
) -> tuple[dict[str, str], str, bool]:
    """Return the role of each size, the reason, and whether the matrices are stored by columns."""
    by_columns = not by_rows and stored_by_columns(body, matrices, set(names))
    sure = row_lengths(names, body, matrices)
    sure |= {name: role for name in names if (role := sure_role(name, matrices))}
    if side := side_of_squares({name: sure.get(name, "") for name in names}, body):
        return sure | {side: "n"}, "one size beside leading dimensions is that of squares", by_columns
    of_rows = strides_of(body, matrices["A"], set(names))
    if len(of_rows) == 1 and len(names) < len("mnk") and blocks_of_row(body, matrices, names):
        found = {name: "k" if name in of_rows else "m" for name in names}
        return found, "the number of blocks is the length of C's rows", by_columns
    sure = sure if by_rows else with_transposed(sure, body, matrices, set(names))
    if len(names) == 1:
        return {names[0]: "n"}, "one size is that of square matrices", by_columns
    if len(sure) == len(names):
        return sure, "by the parameters' names", by_columns
    a, b, c = (strides_of(body, matrices[matrix], set(names)) for matrix in "ABC")
    by_stride, why = dict(sure), "by the parameters' names"
    if len(a) == len(b) == 1 and a != b and not (a | b | c) & set(sure):
        (of_a,), (of_b,) = a, b
        if by_columns and c == a:
            by_stride, why = {of_a: "m", of_b: "k"}, "by the lengths of the columns that the source steps by"
        elif not (by_columns or by_rows) and c <= b and is_transposed_a(body, matrices, set(names)):
            by_stride, why = {of_a: "m", of_b: "n"}, "by the lengths of the rows that the source steps by"
        elif not by_columns and c <= b:
            by_stride, why = {of_a: "k", of_b: "n"}, "by the lengths of the rows that the source steps by"
    usual = {name: role for name in names if (role := usual_role(name)) in SIZES}
    rows = not by_columns and by_stride == sure and not (a | c) & set(sure)
    if rows and len(a) == len(c) == 1 and a == b and c != a:  # B is stored by columns, or its index is wrong
        (of_a,), (of_c,) = a, c
        first = next((usual[name] for name in names if usual.get(name) in ("m", "n")), "")
        if (first, usual.get(of_c), usual.get(of_a)) != ("m", "m", "k"):  # else the index of C is wrong
            by_stride, why = {of_a: "k", of_c: "n"}, "by the lengths of the rows that the source steps by"
    summed = {role for name in body.loop_bounds(set(names)) if (role := by_stride.get(name, "m"))}
    if usual.keys() == set(names) and "k" not in summed and summed:
        by_stride = sure  # the loop over k does not go as far as the rows of A that the source steps by
    if by_stride != sure:
        free = [role for role in ("m", "n", "k") if role not in by_stride.values()]
        rest = [name for name in names if name not in by_stride]
        unused = [name for name in rest if name not in body.names]
        rest = [name for name in rest if name not in unused[max(0, len(free) - len(rest) + len(unused)) :]]
        if len(rest) <= len(free) and not any(usual.get(name, "").startswith("ld") for name in rest):
            by_stride |= dict(zip(rest, free, strict=False))
            if all(usual.get(name) == role for name, role in by_stride.items()):
                why = "by the parameters' names"
            return by_stride, why, by_columns
    return sure | usual, "by the parameters' names", by_columns

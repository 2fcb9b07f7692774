"""The roles of sizes in kernels that read A or B as stored by columns: those of the transposed matrix."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.storage import strided_by_blocks, strides_of


def with_transposed(
    roles: Mapping[str, str], body: Body, matrices: Mapping[str, str], names: set[str]
) -> dict[str, str]:
    """Return the roles that names such as ``rowsA`` show, exchanged for a matrix that is stored by columns.

    The loop along k then goes up to the rows of A, or to the columns of B.
    """
    changed, bounds = dict(roles), body.loop_bounds(names)
    a, b, c = (strides_of(body, matrices[matrix], names) for matrix in "ABC")
    strided = strided_by_blocks(body, matrices, names)
    if strided is None or not bounds:
        return changed
    if not strided[0] and len(a) == 1 and not a & bounds:
        changed |= {name: "m" for name in a if roles.get(name) == "k"}
        changed |= {name: "k" for name in bounds if roles.get(name) == "m"}
    if strided[1] and len(b) == 1 and (b <= bounds or b != c):
        changed |= {name: "k" for name in b if roles.get(name) == "n"}
        changed |= {name: "n" for name in names - bounds - a if roles.get(name) == "k"}
    return changed


def is_transposed_a(body: Body, matrices: Mapping[str, str], names: set[str]) -> bool:
    """Return whether a kernel reads A alone as stored by columns, and its loop goes up to another size than theirs."""
    a, bounds = strides_of(body, matrices["A"], names), body.loop_bounds(names)
    return strided_by_blocks(body, matrices, names) == (False, False) and bool(bounds) and not a & bounds


def transposed_structures(body: Body, matrices: Mapping[str, str]) -> list[str]:
    """Return A and B, if they are structures that are stored by columns, and a loop goes up to one of their members."""
    parameters = [each for each in body.function.parameters if each.members]
    names = {f"{each.name}.{member.name}" for each in parameters for member in each.members if not member.pointer}
    strided = strided_by_blocks(body, matrices, names) if parameters else None
    if strided is None:
        return []
    pairs, bounds = zip("AB", (not strided[0], strided[1]), strict=True), body.loop_bounds(names)
    by_columns = [matrix for matrix, is_turned in pairs if is_turned]
    return [each for each in by_columns if any(bound.startswith(f"{matrices[each]}.") for bound in bounds)]

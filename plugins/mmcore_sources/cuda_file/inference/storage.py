"""The storage of a kernel's matrices: the lengths of their rows, and whether they are stored by columns."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore_sources.cuda_file.inference.body import Body, built_in


def strides_of(body: Body, pointer: str, sizes: set[str]) -> set[str]:
    """Return the sizes that multiply a part of a matrix's indexes: the length of its rows.

    Several sizes in one part count the elements of whole matrices, unless no part has one size alone. Without a
    product, a size that is added to an index is that length, as in a loop with ``place += n``.
    """
    terms = [term for index in body.indexes(pointer) for term in index]
    multiplied = [{*term} & sizes for term in terms if len(term) > 1]
    alone = [several for several in multiplied if len(several) == 1]
    return set().union(*(alone or multiplied)) or sizes & {factor for term in terms for factor in term}


def stored_by_columns(body: Body, matrices: Mapping[str, str], sizes: set[str]) -> bool:
    """Return whether a kernel reads its matrices as if they were stored by columns.

    For an A stored by rows, the term with the length of a row contains a block's index, and the step along k does not.
    For a B stored by rows it is the reverse.
    """
    strided = strided_by_blocks(body, matrices, sizes)
    return strided == (False, True)


def reads_b_by_columns(body: Body, matrices: Mapping[str, str], sizes: set[str]) -> bool:
    """Return whether a kernel reads A as if it were stored by rows, and B as if by columns."""
    return strided_by_blocks(body, matrices, sizes) == (True, True)


def reads_a_by_columns(body: Body, matrices: Mapping[str, str], sizes: Mapping[str, str]) -> bool:
    """Return whether a kernel reads B as if it were stored by rows, and A by columns of length m or lda."""
    lengths = strides_of(body, matrices["A"], {*sizes})
    of_m = {sizes[name] for name in lengths} in ({"m"}, {"lda"})
    return of_m and strided_by_blocks(body, matrices, {*sizes}) == (False, False)


def strided_by_blocks(body: Body, matrices: Mapping[str, str], sizes: set[str]) -> tuple[bool, ...] | None:
    """Return whether the terms with a block's index have a size as factor, for A and B; None if there are no terms."""
    strided = []
    for matrix in "AB":
        terms = [term for each in body.indexes(matrices[matrix]) for term in each]
        of_blocks = [(term, axis) for term in terms for kind, axis in built_in(term) if kind == "blockIdx"]
        # Blocks along z mostly compute parts of k, and those whose index two sizes multiply the products of a batch.
        of_blocks = [each for each in of_blocks if sum(factor in sizes for factor in each[0]) < 2]
        placed = [term for term, axis in of_blocks if axis != "z"] or [term for term, _ in of_blocks]
        if not placed:
            return None
        strided.append(all(sizes & set(term) for term in placed))
    return tuple(strided)

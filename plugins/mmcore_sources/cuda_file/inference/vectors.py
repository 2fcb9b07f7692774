"""Products of a vector, with a matrix or another vector, which are no matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.functions import Function
from mmcore_sources.cuda_file.inference.body import Body, Term, built_in
from mmcore_sources.cuda_file.inference.roles import matrices_of, scalar_type


def vectors_of(function: Function) -> tuple[str, ...]:
    """Return the names of C and of one factor if a kernel indexes both as vectors, and the other factor as a matrix.

    Those of two vectors that a kernel reads at equal places, such as a scalar product or a sum, are both factors.
    """
    body = Body(function)
    try:
        names = matrices_of(function, body)
    except InvalidKernel:
        return ()
    numbers = {each.name for each in function.parameters if not each.pointer and "int" in scalar_type(each.type)}
    indexes = {matrix: list(body.indexes(name)) for matrix, name in names.items()}
    if not (indexes["A"] and indexes["B"]) or not _is_vector(indexes["C"], numbers):
        return ()
    factors = [matrix for matrix in "AB" if _is_vector(indexes[matrix], numbers)]
    if len(factors) == 2 and _are_flat(indexes["A"]) and indexes["A"] == indexes["B"]:
        return names["A"], names["B"]
    return (names["C"], names[factors[0]]) if len(factors) == 1 and indexes["C"] else ()


def _are_flat(indexes: Sequence[Sequence[Term]]) -> bool:
    """Return whether each index counts the threads of all blocks, without a quotient or a remainder."""
    if any(sign in factor for index in indexes for term in index for factor in term for sign in "/%"):
        return False
    return all("blockIdx" in {kind for term in index for kind, _ in built_in(term)} for index in indexes)


def _is_vector(indexes: Sequence[Sequence[Term]], numbers: set[str]) -> bool:
    """Return whether indexes depend on one axis of the grid at most, and have no length of a row as a factor."""
    terms = [term for index in indexes for term in index]
    axes = {axis for term in terms for _, axis in built_in(term)}
    words = {
        word.strip("()") for term in terms if len(term) > 1 or " " in term[0] for each in term for word in each.split()
    }
    return len(axes) < 2 and not words & numbers

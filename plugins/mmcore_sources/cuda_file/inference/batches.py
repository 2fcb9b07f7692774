"""Kernels of a batch of products, one in each block along z or in each launch: one product of the batch is run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from mmcore.kernel.arguments import SIZES
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.body import Body, Term
from mmcore_sources.cuda_file.inference.limits import limiting_names
from mmcore_sources.cuda_file.inference.size_names import usual_role

_COUNT = re.compile(r"batch(?!.*(?:stride|offset))", re.IGNORECASE)


def of_batch(names: Collection[str], body: Body) -> dict[str, int]:
    """Return the numbers that run one product of a batch: 1 for the number of products, 0 for the step to the next."""
    terms = [term for name in set(body.pointers.values()) for index in body.indexes(name) for term in index]
    counted = {name: 1 for name in names if _COUNT.search(name)}
    if f"blockIdx.{body.batch_axis}" not in text_of(body.function.body):  # a loop may go over the products instead
        return counted if any(1 < len(_sizes_in(term, names)) < len(term) for term in terms) else {}
    bounds = {*body.loop_bounds({*names})}
    return counted | {name: 0 for name in names if name not in bounds and _is_step(name, terms)}


def batch_axis(body: Body) -> str:
    """Return the axis of the grid that counts the products of a batch, as it multiplies two numbers; "z" if none does.

    It does so in every index of all three arrays, and nothing else uses the axis there. The rows of B do not begin at
    the index of a block times the height of a tile, as those of A and C may.
    """
    numbers = {each.name for each in body.function.parameters if not each.pointer}
    arrays = [[*body.indexes(each.name)] for each in body.function.parameters if each.pointer]
    indexes = [index for several in arrays for index in several]
    for axis in "zxy" if len(arrays) == len("ABC") and all(arrays) else "":
        block = f"blockIdx.{axis}"
        terms = [[term for term in index if any(block in factor for factor in term)] for index in indexes]
        if all(len(each) == 1 and _is_of_product(each[0], block, numbers) for each in terms):
            return axis
    return "z"


def _is_of_product(term: Term, block: str, numbers: Collection[str]) -> bool:
    """Return whether a term is the index of a block times two numbers."""
    return len(term) == 3 and block in term and len(_sizes_in(term, numbers)) == 2


def index_of_product(names: Collection[str], body: Body, pointers: Mapping[str, str]) -> dict[str, int]:
    """Return 0 for the number that is the index of a product in a batch, as ``b`` in ``A[b * m * k + row * k + i]``.

    It multiplies two other numbers wherever it is, in C and in A or B, and limits nothing.
    """
    terms = {matrix: [term for index in body.indexes(name) for term in index] for matrix, name in pointers.items()}

    def is_index(name: str) -> bool:
        of_name = {matrix: [term for term in several if name in term] for matrix, several in terms.items()}
        counts = (sum(each in names for each in term) > len("mn") for several in of_name.values() for term in several)
        return bool(of_name["C"] and (of_name["A"] or of_name["B"])) and all(counts)

    found = {*filter(is_index, names)}
    found -= limiting_names(body) if found else set()
    found = {name for name in found if usual_role(name) not in SIZES}
    return dict.fromkeys(found, 0) if len(found) == 1 else {}


def goes_from_product_to_product(body: Body, pointers: Iterable[str], sizes: Collection[str]) -> bool:
    """Return whether the block's index along z times two sizes is a part of every index of two of three pointers.

    It is a part of the third one's only with sizes: parts of k begin at other numbers.
    """
    several = [[*body.indexes(name)] for name in pointers]
    steps = {term for indexes in several for index in indexes for term in index if "blockIdx.z" in term}
    going = [
        indexes
        and all(any("blockIdx.z" in term and len(_sizes_in(term, sizes)) > 1 for term in index) for index in indexes)
        for indexes in several
    ]
    of_sizes = all(len(_sizes_in(term, sizes)) == len(term) - 1 for term in steps)
    return all(going) or (of_sizes and len([*filter(None, going)]) == 2)


def _is_step(name: str, terms: Iterable[Term]) -> bool:
    """Return whether a name is used, and multiplies the block's index along z alone wherever it is."""
    of_name = [term for term in terms if name in term]
    return bool(of_name) and all(sorted(term) == sorted(("blockIdx.z", name)) for term in of_name)


def is_one_product(launched: Mapping[str, int]) -> bool:
    """Return whether the numbers that a launch passes say that its batch is one product."""
    return any(number == 1 for name, number in launched.items() if _COUNT.search(name))


def _sizes_in(term: Term, sizes: Collection[str]) -> list[str]:
    return [*filter(sizes.__contains__, term)]

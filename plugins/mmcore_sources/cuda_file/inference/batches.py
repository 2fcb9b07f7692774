"""Kernels that compute a batch of products, a product in each block along z: one product of the batch is run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from mmcore_cuda.cuda_source.tree import text_of, walk
from mmcore_sources.cuda_file.inference.body import Body, Term
from mmcore_sources.cuda_file.inference.size_names import SIDES

_COUNT = re.compile(r"batch(?!.*(?:stride|offset))", re.IGNORECASE)


def of_batch(names: Collection[str], body: Body) -> dict[str, int]:
    """Return the numbers that run one product of a batch: 1 for the number of products, 0 for the step to the next."""
    if "blockIdx.z" not in text_of(body.function.body):
        return {}
    terms = [term for name in set(body.pointers.values()) for index in body.indexes(name) for term in index]
    counted = {name: 1 for name in names if _COUNT.search(name)}
    bounds = {*body.loop_bounds({*names})}
    return counted | {name: 0 for name in names if name not in bounds and _is_step(name, terms)}


def goes_from_product_to_product(body: Body, pointers: Iterable[str], sizes: Collection[str]) -> bool:
    """Return whether the block's index along z times two sizes is a part of every index of some pointers."""
    indexes = [index for name in pointers for index in body.indexes(name)]
    return bool(indexes) and all(
        any("blockIdx.z" in term and len([*filter(sizes.__contains__, term)]) > 1 for term in index)
        for index in indexes
    )


def _is_step(name: str, terms: Iterable[Term]) -> bool:
    """Return whether a name is used, and multiplies the block's index along z alone wherever it is."""
    of_name = [term for term in terms if name in term]
    return bool(of_name) and all(sorted(term) == sorted(("blockIdx.z", name)) for term in of_name)


def wrong_steps(body: Body, pointers: Mapping[str, str], sizes: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each matrix whose step to the next product of a batch is not its number of elements."""
    names = {role: name for name, role in sizes.items()}
    for matrix, sides in SIDES.items():
        terms = {term for index in body.indexes(pointers[matrix]) for term in index if "blockIdx.z" in term}
        wanted = sorted(names.get(side, names.get("n", side)) for side in sides)
        for term in terms:
            step = sorted(_without_block(term))
            if len(step) == len(wanted) and set(step) <= set(sizes) and step != wanted:
                name, product = pointers[matrix], "·".join(step)
                where = (
                    f"line {_first_line(body, name)} goes {product} elements from one {name} of the batch to the next"
                )
                yield f"{where}; a matrix {matrix} has {'·'.join(wanted)}"


def _first_line(body: Body, name: str) -> int:
    """Return the line of the first access of a matrix."""
    accesses = (each for each in walk(body.function.body) if each.type == "subscript_expression")
    return next((each.start_point.row + 1 for each in accesses if text_of(each.children[0]) == name), 0)


def _without_block(term: Term) -> list[str]:
    return [factor for factor in term if factor != "blockIdx.z"]

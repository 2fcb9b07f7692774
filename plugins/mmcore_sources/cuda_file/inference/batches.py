"""Kernels that compute a batch of products, a product in each block along z: one product of the batch is run."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

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


class WrongStep(NamedTuple):
    """A step to the next product of a batch that is not the number of elements of a matrix, by names of sizes."""

    line: int
    pointer: str
    matrix: str
    step: tuple[str, ...]
    elements: tuple[str, ...]

    def __str__(self) -> str:
        return f"line {self.line} {self.fault({})}"

    def fault(self, numbers: Mapping[str, int]) -> str:
        """Return the fault as a sentence, with the numbers of a program if they are known; "" if the step is right."""
        if not {*self.step, *self.elements} <= numbers.keys():
            return f"{self._goes('·'.join(self.step))}; a matrix {self.matrix} has {'·'.join(self.elements)}"
        step, elements = (math.prod(numbers[name] for name in names) for names in (self.step, self.elements))
        if step == elements:
            return ""
        goes, has = self._goes(f"{'·'.join(self.step)} = {step:,}"), f"{'·'.join(self.elements)} = {elements:,}"
        return f"{goes}; a matrix {self.matrix} of the program has {has}"

    def _goes(self, step: str) -> str:
        return f"goes {step} elements from one {self.pointer} of the batch to the next"


def wrong_steps(body: Body, pointers: Mapping[str, str], sizes: Mapping[str, str]) -> Iterator[WrongStep]:
    """Yield each step to the next product of a batch that is not the number of elements of its matrix."""
    names = {role: name for name, role in sizes.items()}
    for matrix, sides in SIDES.items():
        terms = {term for index in body.indexes(pointers[matrix]) for term in index if "blockIdx.z" in term}
        wanted = sorted(names.get(side, names.get("n", side)) for side in sides)
        for term in sorted(terms):
            step = sorted(_without_block(term))
            if len(step) == len(wanted) and set(step) <= set(sizes) and step != wanted:
                line = _line_of(body, pointers[matrix], term)
                yield WrongStep(line, pointers[matrix], matrix, tuple(step), tuple(wanted))


def is_one_product(launched: Mapping[str, int]) -> bool:
    """Return whether the numbers that a launch passes say that its batch is one product."""
    return any(number == 1 for name, number in launched.items() if _COUNT.search(name))


def _line_of(body: Body, pointer: str, term: Term) -> int:
    """Return the line that adds a term to a pointer or to its index, or that of its first access."""
    names = {name for name, parameter in body.pointers.items() if parameter == pointer}
    moved = [value for name in names for value in body.variables.values.get(name, ()) if term in body.terms(value)]
    accesses = [each for each in walk(body.function.body) if each.type == "subscript_expression"]
    accesses = [each for each in accesses if text_of(each.children[0]) in names]
    indexed = [each for each in accesses if term in body.terms(each.children[1].named_children[0])]
    return next((each.start_point.row + 1 for each in (*moved, *indexed, *accesses)), 0)


def _without_block(term: Term) -> list[str]:
    return [factor for factor in term if factor != "blockIdx.z"]

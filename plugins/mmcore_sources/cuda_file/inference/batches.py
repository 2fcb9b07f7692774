"""Kernels that compute a batch of products, a product in each block along z: one product of the batch is run."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.inference.body import BUILT_IN, Body, Term
from mmcore_sources.cuda_file.inference.size_names import SIDES

_COUNT = re.compile(r"batch(?!.*(?:stride|offset))", re.IGNORECASE)
_ACCESSES = ("subscript_expression", "pointer_expression", "call_expression", "gnu_asm_expression")
_STORES = re.compile(r"_cast\b|\batomic\w+$|\bstore_matrix_sync$|\b__st\w+$")


def of_batch(names: Collection[str], body: Body) -> dict[str, int]:
    """Return the numbers that run one product of a batch: 1 for the number of products, 0 for the step to the next."""
    if "blockIdx.z" not in text_of(body.function.body):
        return {}
    terms = [term for name in set(body.pointers.values()) for index in body.indexes(name) for term in index]
    counted = {name: 1 for name in names if _COUNT.search(name)}
    bounds = {*body.loop_bounds({*names})}
    return counted | {name: 0 for name in names if name not in bounds and _is_step(name, terms)}


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
        if not self.elements:
            return (
                f"stores each product of the batch at the place of the first: no index into {self.pointer} has a step"
            )
        if not {*self.step, *self.elements} <= numbers.keys():
            return f"{self._goes('·'.join(self.step) or '1')}; a matrix {self.matrix} has {'·'.join(self.elements)}"
        step, elements = (math.prod(numbers[name] for name in names) for names in (self.step, self.elements))
        if step == elements:
            return ""
        goes, has = self._goes(f"{'·'.join(self.step) or '1'} = {step:,}"), f"{'·'.join(self.elements)} = {elements:,}"
        return f"{goes}; a matrix {self.matrix} of the program has {has}"

    def _goes(self, step: str) -> str:
        return f"goes {step} elements from one {self.pointer} of the batch to the next"


def wrong_steps(body: Body, pointers: Mapping[str, str], sizes: Mapping[str, str]) -> Iterator[WrongStep]:
    """Yield each step to the next product of a batch that is not the number of elements of its matrix.

    All products may share A or B, which have no step then, but not C.
    """
    names = {role: name for name, role in sizes.items()}
    steps = {matrix: _steps(body, pointers[matrix]) for matrix in SIDES}
    for matrix, sides in SIDES.items():
        wanted = sorted(names.get(side, names.get("n", side)) for side in sides)
        for term in sorted(steps[matrix]):
            step = sorted(_without_block(term))
            if (
                step != wanted
                and {*step} <= {*sizes}
                and (len(step) == 2 or _has_plain_rows(body, pointers[matrix], sizes))
            ):
                line = _line_of(body, pointers[matrix], term)
                yield WrongStep(line, pointers[matrix], matrix, tuple(step), tuple(wanted))
    if (steps["A"] or steps["B"]) and not _depends_on_block(body, pointers["C"]):
        yield WrongStep(_line_of(body, pointers["C"], ()), pointers["C"], "C", (), ())


def _steps(body: Body, pointer: str) -> set[Term]:
    """Return the parts of a pointer's indexes that the block's index along z is a factor of."""
    return {term for index in body.indexes(pointer) for term in index if "blockIdx.z" in term}


def _has_plain_rows(body: Body, pointer: str, sizes: Collection[str]) -> bool:
    """Return whether a matrix has rows of one size, not of the rows of several products."""
    terms = {term for index in body.indexes(pointer) for term in index if "blockIdx.z" not in term}
    variables = body.variables.values
    return any(
        len(term) == 2
        and len(_sizes_in(term, sizes)) == 1
        and all(each in sizes or BUILT_IN.fullmatch(each) or each in variables for each in term)
        for term in terms
    )


def _depends_on_block(body: Body, pointer: str) -> bool:
    """Return whether an access through a pointer may depend on the block's index along z, as in another function."""
    dependent, before = {"blockIdx.z"}, 0

    def mentions(node: Node) -> bool:
        return "blockIdx.z" in text_of(node) or not dependent.isdisjoint(identifiers(node))

    while before < (before := len(dependent)):
        dependent |= {name for name, values in body.variables.values.items() if any(map(mentions, values))}
    names = {name for name, parameter in body.pointers.items() if parameter == pointer}
    accesses = [each for each in walk(body.function.body) if each.type in _ACCESSES and names & {*identifiers(each)}]
    calls = (text_of(each.children[0]) for each in accesses if each.type == "call_expression")
    return bool(names & dependent) or any(map(mentions, accesses)) or not all(map(_STORES.search, calls))


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


def _sizes_in(term: Term, sizes: Collection[str]) -> list[str]:
    return [*filter(sizes.__contains__, term)]


def _without_block(term: Term) -> list[str]:
    return [factor for factor in term if factor != "blockIdx.z"]

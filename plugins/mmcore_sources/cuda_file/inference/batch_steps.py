"""Wrong steps from one product of a batch to the next, in a kernel's indexes or passed by its launch."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.inference.body import BUILT_IN, Body, Term
from mmcore_sources.cuda_file.inference.passed_steps import PassedSteps
from mmcore_sources.cuda_file.inference.size_names import SIDES

_ACCESSES = ("subscript_expression", "pointer_expression", "call_expression", "gnu_asm_expression")
_STORES = re.compile(r"_cast\b|\batomic\w+$|\bstore_matrix_sync$|\b__st\w+$")


class WrongStep(NamedTuple):
    """A step to the next product of a batch that is not the number of elements of a matrix, by names of sizes."""

    line: int
    pointer: str
    matrix: str
    step: tuple[str, ...]
    elements: tuple[str, ...]
    parameter: str = ""  # the one that the launch passes the step to

    def __str__(self) -> str:
        return f"line {self.line} {self.fault({})}"

    def fault(self, numbers: Mapping[str, int]) -> str:
        """Return the fault as a sentence, with the numbers of a program if they are known; "" if the step is right."""
        if not self.elements:
            why = f"{self.parameter} = 0" if self.parameter else f"no index into {self.pointer} has a step"
            return f"stores each product of the batch at the place of the first: {why}"
        if not {*self.step, *self.elements} <= numbers.keys():
            return f"{self._goes(self._step())}; a matrix {self.matrix} has {'·'.join(self.elements)}"
        step, elements = (math.prod(numbers[name] for name in names) for names in (self.step, self.elements))
        if step == elements:
            return ""
        goes, has = self._goes(f"{self._step()} = {step:,}"), f"{'·'.join(self.elements)} = {elements:,}"
        return f"{goes}; a matrix {self.matrix} of the program has {has}"

    def _step(self) -> str:
        return f"{self.parameter} = " * bool(self.parameter) + ("·".join(self.step) or "1")

    def _goes(self, step: str) -> str:
        return f"goes {step} elements from one {self.pointer} of the batch to the next"


def wrong_steps(
    body: Body, pointers: Mapping[str, str], sizes: Mapping[str, str], passed: PassedSteps
) -> Iterator[WrongStep]:
    """Yield each step to the next product of a batch that is not the number of elements of its matrix.

    All products may share A or B, which have no step then, but not C.
    """
    names = {role: name for name, role in sizes.items()}
    steps = {matrix: _steps(body, pointers[matrix]) for matrix in SIDES}
    moving = {matrix: [term for term in sorted(steps[matrix]) if not passed.is_zero(term)] for matrix in SIDES}
    for matrix, sides in SIDES.items():
        rows, columns = (names.get(side, names.get("n", side)) for side in sides)
        length = names.get(f"ld{matrix.casefold()}")
        padded = ((rows, length), (columns, length)) if length else ()
        right = [passed.as_passed(each) for each in ((rows, columns), *padded)]
        for term in moving[matrix]:
            parameter, factors = passed.in_place_of(_without_block(term))
            step = sorted(factors)
            if (
                passed.as_passed(step) not in right
                and {*step} <= {*sizes}
                and (len(step) == 2 or _has_plain_rows(body, pointers[matrix], sizes))
            ):
                line, wanted = _line_of(body, pointers[matrix], term), sorted((rows, length or columns))
                yield WrongStep(line, pointers[matrix], matrix, tuple(step), (*wanted,), parameter)
    shared = steps["C"] and not moving["C"]
    if (moving["A"] or moving["B"]) and (shared or not _depends_on_block(body, pointers["C"])):
        parameter = next((name for term in sorted(steps["C"]) for name in _without_block(term)), "")
        yield WrongStep(_line_of(body, pointers["C"], ()), pointers["C"], "C", (), (), parameter)


def _steps(body: Body, pointer: str) -> set[Term]:
    """Return the parts of a pointer's indexes that the block's index along z is a factor of."""
    return {term for index in body.indexes(pointer) for term in index if "blockIdx.z" in term}


def _has_plain_rows(body: Body, pointer: str, sizes: Collection[str]) -> bool:
    """Return whether a matrix has rows of one size, not of the rows of several products."""
    terms = {term for index in body.indexes(pointer) for term in index if "blockIdx.z" not in term}
    variables = body.variables.values
    return any(
        len(term) == 2
        and sum(each in sizes for each in term) == 1
        and all(each in sizes or BUILT_IN.fullmatch(each) or each in variables for each in term)
        for term in terms
    )


def _depends_on_block(body: Body, pointer: str) -> bool:
    """Return whether an access through a pointer may depend on the block's index along z, as in another function."""
    block = f"blockIdx.{body.batch_axis}"
    dependent, before = {block}, 0

    def mentions(node: Node) -> bool:
        return block in text_of(node) or not dependent.isdisjoint(identifiers(node))

    while before < (before := len(dependent)):
        dependent |= {name for name, values in body.variables.values.items() if any(map(mentions, values))}
    names = {name for name, parameter in body.pointers.items() if parameter == pointer}
    accesses = [each for each in walk(body.function.body) if each.type in _ACCESSES and names & {*identifiers(each)}]
    calls = (text_of(each.children[0]) for each in accesses if each.type == "call_expression")
    return bool(names & dependent) or any(map(mentions, accesses)) or not all(map(_STORES.search, calls))


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

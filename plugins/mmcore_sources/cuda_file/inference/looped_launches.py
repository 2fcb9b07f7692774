"""Batches of products that a loop of launches computes, as ``mul<<<…>>>(A + i * n * n, B, C + i * n * n, n)``."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import Node, ancestors, identifiers, text_of, without_parentheses
from mmcore_sources.cuda_file.inference.assignments import initial_value
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.size_names import SIDES
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel

_PRIMES = (1009, 1013, 1019)  # numbers of which no two products are equal
_MOST_FACTORS = 3
_DEEPEST = 4


@dataclass(frozen=True)
class LoopedLaunch:
    """A launch in a loop of which each turn computes another product.

    Attributes:
        steps: the elements from one matrix to the next where they are products of sizes, by matrix, in words.
        elements: the elements of each matrix, in words.
        pointers: the kernel's names of the matrices.
    """

    launch: HostLaunch
    steps: Mapping[str, str]
    elements: Mapping[str, str]
    pointers: Mapping[str, str]

    def faults(self) -> Iterator[tuple[int, str]]:
        """Yield the line and a sentence for each step that is not the number of elements of a matrix."""
        for matrix, step in self.steps.items():
            if step != self.elements[matrix]:
                goes = f"goes {step} elements from one {self.pointers[matrix]} of the loop's products to the next"
                yield self.launch.line, f"{goes}; a matrix {matrix} has {self.elements[matrix]}"


def looped_launch(kernel: SourceKernel, roles: Roles) -> LoopedLaunch | None:
    """Return the launch of a kernel in a loop from product to product; None if C is the same in each turn.

    A matrix with a leading dimension may be a part of a larger one, so that its step is not read.
    """
    launch = kernel.launch
    counter = _counter(launch) if launch is not None and not launch.file else ""
    if launch is None or not counter:
        return None
    pairs = zip(kernel.function.parameters, launch.arguments, strict=False)
    passed = {each.name: argument for each, argument in pairs}
    words = {role: text_of(passed[name]) if name in passed else name for name, role in roles.sizes.items()}
    equal = {side: sorted(roles.sizes[name] for name in roles.names_of(side)) for side in "mnk"}
    sides = {side: words.get(side, words.get(next(iter(equal[side]), ""), "")) for side in "mnk"}
    names = dict(zip(dict.fromkeys(filter(str.isidentifier, sides.values())), _PRIMES, strict=False))
    steps, elements = dict[str, str](), dict[str, str]()
    for matrix, pointer in roles.pointers.items():
        step = _step(kernel, passed[pointer], counter, names) if pointer in passed else None
        if matrix == "C" and not step:
            return None
        if step and f"ld{matrix.casefold()}" not in words and all(sides[side] in names for side in SIDES[matrix]):
            product = _factors(step, names)
            steps |= {matrix: "·".join(product)} if product else {}
            elements[matrix] = "·".join(sorted(sides[side] for side in SIDES[matrix]))
    return LoopedLaunch(launch, steps, elements, roles.pointers)


def _counter(launch: HostLaunch) -> str:
    """Return the variable that the innermost loop around a launch increases by 1; empty without one."""
    loops = (each for each in ancestors(launch.geometry[0]) if each.type == "for_statement")
    update = next((each.child_by_field_name("update") for each in loops), None)
    if update is None or update.type != "update_expression" or "++" not in text_of(update):
        return ""
    return next(iter(identifiers(update)), "")


def _step(kernel: SourceKernel, argument: Node, counter: str, names: Mapping[str, int]) -> int | None:
    """Return the elements from the array of one turn to that of the next, with numbers for names; None if unknown."""
    terms = _offset(argument, kernel.launch, 0)
    places = list[int]()
    for turn in (0, 1):
        values = {name: ast.Constant(number) for name, number in {**names, counter: turn}.items()}
        numbers = [Reader.of(kernel.source, kernel.launch, values).whole(each) for each in terms]
        if None in numbers:
            return None
        places.append(sum(filter(None, numbers)))
    return places[1] - places[0]


def _offset(pointer: Node, launch: HostLaunch | None, depth: int) -> list[Node]:
    """Return the numbers whose sum a pointer adds to an array, as in ``A + i * n``, ``&A[i * n]``, or a variable."""
    pointer = without_parentheses(pointer)
    if pointer.type == "pointer_expression" and pointer.named_children[-1].type == "subscript_expression":
        array, listed = pointer.named_children[-1].named_children[:2]
        return [*_offset(array, launch, depth), *listed.named_children]
    if pointer.type == "binary_expression" and text_of(pointer.children[1]) == "+":
        return [*_offset(pointer.children[0], launch, depth), pointer.children[2]]
    if pointer.type == "identifier" and launch is not None and depth < _DEEPEST:
        initial = initial_value(launch.scope, text_of(pointer), launch.line)
        is_sum = initial is not None and initial[1].type in ("pointer_expression", "binary_expression")
        return _offset(initial[1], launch, depth + 1) if initial is not None and is_sum else []
    return []


def _factors(number: int, names: Mapping[str, int]) -> tuple[str, ...]:
    """Return the names whose product is a number, in their order; none if it is no such product."""
    for count in range(1, _MOST_FACTORS + 1):
        for several in itertools.combinations_with_replacement(sorted(names), count):
            if math.prod(names[name] for name in several) == number:
                return several
    return ()

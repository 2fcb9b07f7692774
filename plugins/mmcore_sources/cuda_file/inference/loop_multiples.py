"""The multiples of k that a kernel's loops need: those of whole steps, in each of the parts that it divides k into."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import NamedTuple

from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import LOOPS, Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.parameters import value_of
from mmcore_sources.cuda_file.repairs.loop_edits import rounded_up


class Part(NamedTuple):
    """The form of an expression: whole parts of k, as 4 of ``k / 4``, times a factor."""

    divisor: int
    factor: int = 1

    def multiple(self, step: int) -> int:
        """Return the number whose multiples as k are whole steps in each part."""
        return self.divisor * (step // math.gcd(step, self.factor))


@dataclass(frozen=True)
class LoopMultiples:
    """The numbers that k is a multiple of where a kernel's loops up to it leave no remainder.

    Attributes:
        source, body, launch: the kernel and its launch.
        names: the names of k in the kernel.
        parts: the numbers of equal parts of k whose length a parameter is, by the parameter's name.
        numbers: the other numbers of a launch by name: blocks and threads, such as "gridDim.z", and parameters.
    """

    source: Program
    body: Body
    launch: HostLaunch | None
    names: Set[str]
    parts: Mapping[str, int]
    numbers: Mapping[str, int]

    def __iter__(self) -> Iterator[int]:
        for loop in (each for each in walk(self.body.function.body) if each.type in LOOPS):
            condition, update = (loop.child_by_field_name(each) for each in ("condition", "update"))
            if condition is not None:
                counter, step = self._step(update)
                part = self._part(condition, {counter: None})
                yield part.multiple(step) if part is not None else 1

    def _step(self, update: Node | None) -> tuple[str, int]:
        """Return the variable that a loop counts and its step: 16 of ``i += 16``; 1 if it is unknown."""
        counter = next(iter(identifiers(update)), "") if update is not None else ""
        if update is None or update.type != "assignment_expression" or text_of(update.children[1]) != "+=":
            return counter, 1
        return counter, value_of(text_of(update.children[2]), self.source, self.launch) or 1

    def _part(self, node: Node, known: dict[str, Part | None]) -> Part | None:
        """Return the part of k that an expression is; None if it does not depend on k.

        Local variables stand for their values; ``known`` has their parts.
        """
        if node.type == "identifier":
            return self._part_of_name(node, known)
        if node.type == "binary_expression" and rounded_up(node):
            dividend, sign, divisor = node.children[:3]
            number, part = self._number(divisor), self._part(dividend, known)
            return part and Part(part.divisor * (1 << number if text_of(sign) == ">>" else number))
        if node.type == "binary_expression" and text_of(node.children[1]) == "*":
            sides = (node.children[0], node.children[2])
            numbers = math.prod(self._number(each) for each in sides if self._part(each, known) is None)
            part = self._common(sides, known)
            return part and Part(part.divisor, part.factor * numbers)
        return self._common(node.named_children, known)

    def _part_of_name(self, node: Node, known: dict[str, Part | None]) -> Part | None:
        name = text_of(node)
        if name in self.names:
            return Part(1)
        if name in self.parts:
            return Part(self.parts[name])
        if name not in known:
            known[name] = None  # in its own values, as in those of a loop's variable
            known[name] = self._common(self._values(node), known)
        return known[name]

    def _common(self, nodes: Iterable[Node], known: dict[str, Part | None]) -> Part | None:
        """Return the part that all expressions are multiples of; None if none depends on k."""
        parts = [*filter(None, (self._part(each, known) for each in nodes))]
        if not parts:
            return None
        return Part(math.lcm(*(each.divisor for each in parts)), math.gcd(*(each.factor for each in parts)))

    def _number(self, divisor: Node) -> int:
        """Return the number that a divisor is; 1 if it is unknown."""
        values = self._values(divisor) if divisor.type == "identifier" else []
        if len(values) == 1:
            return self._number(values[0])
        return value_of(text_of(divisor), self.source, self.launch, self.numbers) or 1

    def _values(self, name: Node) -> list[Node]:
        """Return the values of a local variable; none of another name."""
        return self.body.variables.values_at(name) if text_of(name) in self.body.variables.values else []

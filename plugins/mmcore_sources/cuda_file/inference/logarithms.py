"""Integer parameters that are the logarithm of a size, as in ``row << m`` for a row of ``1 << m`` elements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mmcore.kernel.arguments import LOGARITHMS, Argument, Scalar
from mmcore.kernel.configs import Config
from mmcore.kernel.problem import Problem
from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body, power_of_two

_SHIFTS = ("<<", ">>")


@dataclass(frozen=True)
class PowersOfTwo:
    """A constraint: some sizes are powers of two."""

    sizes: tuple[str, ...]

    @property
    def description(self) -> str:
        return f"{' and '.join(self.sizes)} {'are powers' if len(self.sizes) > 1 else 'is a power'} of two"

    def violation(self, problem: Problem, config: Config) -> str | None:
        off = (f"{name} = {size}" for name in self.sizes if (size := getattr(problem, name)) & (size - 1))
        return next((f"{each} is no power of two" for each in off), None)


def powers_of_two(arguments: Iterable[Argument]) -> tuple[PowersOfTwo, ...]:
    """Return the constraint that arguments such as log2(n) imply; none without one."""
    values = (each.value for each in arguments if isinstance(each, Scalar))
    sizes = tuple(dict.fromkeys(LOGARITHMS[each] for each in values if isinstance(each, str) and each in LOGARITHMS))
    return (PowersOfTwo(sizes),) if sizes else ()


def logarithms_of(body: Body, names: Iterable[str]) -> set[str]:
    """Return those of the names that the body only uses as the count of a shift, and that a power of two has."""
    shifts = [each for each in walk(body.function.body) if _is_shift(each)]
    counted = [name for each in shifts for name in identifiers(each.children[2])]
    powers = {power_of_two(each) for each in shifts}
    used = identifiers(body.function.body)
    return {name for name in names if f"1<<{name}" in powers and counted.count(name) == used.count(name)}


def _is_shift(node: Node) -> bool:
    return node.type == "binary_expression" and text_of(node.children[1]) in _SHIFTS

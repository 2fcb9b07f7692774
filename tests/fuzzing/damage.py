"""Damage on the device: launches after a right kernel's that change a few elements of its memory."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore import Config, DeviceProperties, Kernel, Launch, Problem, Scalar
from mmcore.kernel.problem import dtype_named
from mmcore.verify.elements import poison
from mmcore.verify.inputs import Matrices
from tests.fuzzing.truth import LEAST, Truth
from tests.narrowing import narrow, wide

_POKE = """
extern "C" __global__ void poke{bytes}({word}* memory, long long index, {word} bits)
{{
    memory[index] = bits;
}}
"""
_WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}
_POKES = "".join(_POKE.format(bytes=size, word=word) for size, word in _WORDS.items())
Place: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Poke:
    """A write to one element of a matrix's memory.

    Attributes:
        matrix: "A", "B" or "C".
        index: the element's number in memory.
        bits: its new bits.
    """

    matrix: str
    index: int
    bits: int


@dataclass(frozen=True, eq=False)
class Launched:
    """A product to damage, with its inputs, the right C, and the number of elements that may be read past A."""

    problem: Problem
    matrices: Matrices
    truth: Truth
    over_read: int

    def bits(self, value: float) -> int:
        """Return the bits of a number as an element of C."""
        return _word(narrow(value, self.problem.output))

    def number(self, bits: int) -> float:
        """Return the number of an element of C with these bits."""
        dtype = dtype_named(self.problem.output)
        return float(wide(np.array([bits], f"u{dtype.itemsize}").view(dtype.storage), self.problem.output)[0])

    def poke(self, place: Place, value: float) -> Poke:
        """Return a write of a number to an element of C."""
        return Poke("C", self.index("C", place), self.bits(value))

    def index(self, matrix: str, place: Place) -> int:
        """Return the number of an element in a matrix's memory."""
        major, minor = place[::-1] if matrix in self.problem.column_major else place
        return major * self.problem.leading(matrix) + minor

    def anywhere(self, rng: random.Random) -> Place:
        """Return the row and column of a random element of C."""
        return rng.randrange(self.problem.m), rng.randrange(self.problem.n)


Damage: TypeAlias = Callable[[random.Random, Launched], Sequence[Poke]]
"""A function that returns no writes where the product is too small for such damage."""


def a_little_too_far(rng: random.Random, at: Launched) -> Sequence[Poke]:
    """Put an element just outside its bound."""
    place = at.anywhere(rng)
    product, bound = float(at.truth.product[place]), float(at.truth.close[place])
    limit = (1 + 1.1 * at.truth.margin) * bound + 2 * LEAST
    if at.problem.output == "int32":
        return [at.poke(place, product + rng.choice((-1, 1)))]
    bits = at.bits(product + np.copysign(limit, product))
    while abs(at.number(bits) - product) <= limit:
        bits += 1  # the next number away from zero
    return [Poke("C", at.index("C", place), bits)]


def within_the_bound(rng: random.Random, at: Launched) -> Sequence[Poke]:
    """Put an element as far off as its bound and type allow, which is no damage."""
    place = at.anywhere(rng)
    product, bound = float(at.truth.product[place]), float(at.truth.close[place])
    limit = (1 - 1.1 * at.truth.margin) * bound
    moved = product + np.copysign(limit, product)
    return [at.poke(place, product if abs(at.number(at.bits(moved)) - product) > limit else moved)]


def _by_a_term(sign: int) -> Damage:
    def damage(rng: random.Random, at: Launched) -> Sequence[Poke]:
        row, column = at.anywhere(rng)
        step = rng.randrange(at.problem.k)
        a = wide(at.matrices.a[row : row + 1, step], at.problem.dtype)[0]
        b = wide(at.matrices.b[step : step + 1, column], at.problem.dtype)[0]
        return [at.poke((row, column), at.truth.product[row, column] + sign * at.problem.alpha * a * b)]

    return damage


def two_swapped(rng: random.Random, at: Launched) -> Sequence[Poke]:
    """Exchange two elements."""
    one, other = at.anywhere(rng), at.anywhere(rng)
    first, second = at.truth.product[one], at.truth.product[other]
    return [] if at.bits(first) == at.bits(second) else [at.poke(one, second), at.poke(other, first)]


def _an_element(value: float) -> Damage:
    return lambda rng, at: [at.poke(at.anywhere(rng), value)]


def unwritten(rng: random.Random, at: Launched) -> Sequence[Poke]:
    """Put the content of unwritten memory into an element."""
    return [Poke("C", at.index("C", at.anywhere(rng)), _word(poison((1,), at.problem.output)))]


def in_a_gap(rng: random.Random, at: Launched) -> Sequence[Poke]:
    """Write between two rows of C, or two columns."""
    count, length = (at.problem.m, at.problem.n)[:: -1 if "C" in at.problem.column_major else 1]
    gap = at.problem.ldc - length
    if not gap or count == 1:
        return []
    index = rng.randrange(count - 1) * at.problem.ldc + length + rng.randrange(gap)
    return [Poke("C", index, at.bits(2.0))]


def _outside(places: Callable[[Problem], Sequence[int]]) -> Damage:
    return lambda rng, at: [Poke("C", rng.choice(places(at.problem)), at.bits(2.0))]


def _in_input(matrix: str) -> Damage:
    def damage(rng: random.Random, at: Launched) -> Sequence[Poke]:
        elements = {"A": at.matrices.a, "B": at.matrices.b}[matrix]
        row, column = rng.randrange(elements.shape[0]), rng.randrange(elements.shape[1])
        return [Poke(matrix, at.index(matrix, (row, column)), _word(elements[row : row + 1, column]) ^ 1)]

    return damage


def in_the_over_read(rng: random.Random, at: Launched) -> Sequence[Poke]:
    """Write past A, where the kernel may only read."""
    if not at.over_read:
        return []
    return [Poke("A", at.problem.span("A") + rng.randrange(at.over_read), 0x3001)]


GAP = "write into a gap"
HARMLESS = {"within the bound": within_the_bound}
DAMAGES: dict[str, Damage] = {
    "a little too far": a_little_too_far,
    "dropped term": _by_a_term(-1),
    "doubled term": _by_a_term(1),
    "swapped elements": two_swapped,
    "zero": _an_element(0.0),
    "NaN": _an_element(float("nan")),
    "infinity": _an_element(float("inf")),
    "unwritten element": unwritten,
    GAP: in_a_gap,
    "write before C": _outside(lambda problem: (-1, -2)),
    "write behind C": _outside(lambda problem: (problem.span("C"), problem.span("C") + 1)),
    "A changed": _in_input("A"),
    "B changed": _in_input("B"),
    "write into the over-read": in_the_over_read,
} | HARMLESS


def damaged(kernel: Kernel, pokes: Sequence[Poke], folder: Path) -> Kernel:
    """Return a kernel with more launches, which overwrite some elements.

    Args:
        kernel: a right kernel of a single launch, whose source includes no headers of its package.
        pokes: the writes.
        folder: the folder for the changed source.
    """
    source = folder / f"{kernel.name}.cu"
    if not source.exists():
        # Another process may use the same kernel at the same time, and must not read half of it.
        complete = folder / f"{kernel.name}.{os.getpid()}"
        complete.write_text(kernel.source_text() + _POKES)
        complete.replace(source)

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> tuple[Launch, ...]:
        (own,) = kernel.launches(problem, config, device)
        return own, *(_launch(poke, problem) for poke in pokes)

    entry = kernel.entry_named()
    return replace(kernel, source=source, entry=entry, launch=launch, grid=None, over_read=None)


def _launch(poke: Poke, problem: Problem) -> Launch:
    size = dtype_named(problem.output if poke.matrix == "C" else problem.dtype).itemsize
    arguments = (poke.matrix, Scalar(poke.index, "int64"), Scalar(poke.bits, f"uint{8 * size}"))
    return Launch(grid=(1,), block=(1,), entry=f"poke{size}", arguments=arguments)


def _word(stored: NDArray[Any]) -> int:
    """Return the bits of one element."""
    return int(np.ascontiguousarray(stored).reshape(-1).view(f"u{stored.dtype.itemsize}")[0])

"""Damage done on the device: behind a right kernel's own launches another one changes a few elements of its memory."""

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


@dataclass(frozen=True)
class Poke:
    """One element of a matrix's memory overwritten.

    Attributes:
        matrix: "A", "B" or "C".
        index: which element, counted from the first.
        bits: what is written.
    """

    matrix: str
    index: int
    bits: int


@dataclass(frozen=True, eq=False)
class Launched:
    """What damage is made for: the product, its inputs, what C must be, and what is declared to be read past A."""

    problem: Problem
    matrices: Matrices
    truth: Truth
    over_read: int

    def bits(self, value: float) -> int:
        """A number as an element of C."""
        return _word(narrow(value, self.problem.output))

    def number(self, bits: int) -> float:
        """An element of C as a number."""
        stored = np.array([bits], f"u{self.itemsize}").view(dtype_named(self.problem.output).storage)
        return float(wide(stored, self.problem.output)[0])

    @property
    def itemsize(self) -> int:
        """Bytes of an element of C."""
        return dtype_named(self.problem.output).itemsize

    def poke(self, place: tuple[int, int], bits: int) -> Poke:
        """An element of C overwritten."""
        return Poke("C", self.index("C", place), bits)

    def index(self, matrix: str, place: tuple[int, int]) -> int:
        """Where an element lies in a matrix's memory, counted from the first."""
        row, column = place
        lines, leading = (column, row), self.problem.leading(matrix)
        line, behind = lines if matrix in self.problem.column_major else lines[::-1]
        return line * leading + behind


Damage: TypeAlias = Callable[[random.Random, Launched], Sequence[Poke]]
"""No pokes where the product is too small for such damage."""


def _anywhere(rng: random.Random, at: Launched) -> tuple[int, int]:
    return rng.randrange(at.problem.m), rng.randrange(at.problem.n)


def a_little_too_far(rng: random.Random, at: Launched) -> Sequence[Poke]:
    """An element just outside its bound."""
    place = _anywhere(rng, at)
    product, bound = float(at.truth.product[place]), float(at.truth.close[place])
    limit = (1 + 1.1 * at.truth.margin) * bound + 2 * LEAST
    if at.problem.output == "int32":
        return [at.poke(place, at.bits(product + rng.choice((-1, 1))))]
    bits = at.bits(product + np.copysign(limit, product))
    while abs(at.number(bits) - product) <= limit:
        bits += 1  # the next number away from zero
    return [at.poke(place, bits)]


def within_the_bound(rng: random.Random, at: Launched) -> Sequence[Poke]:
    """An element as far off as it may be, or as near to it as its type allows: no damage at all."""
    place = _anywhere(rng, at)
    product, bound = float(at.truth.product[place]), float(at.truth.close[place])
    limit = (1 - 1.1 * at.truth.margin) * bound
    bits = at.bits(product + np.copysign(limit, product))
    if abs(at.number(bits) - product) > limit:
        bits = at.bits(product)
    return [at.poke(place, bits)]


def _by_a_term(sign: int) -> Damage:
    def damage(rng: random.Random, at: Launched) -> Sequence[Poke]:
        row, column = _anywhere(rng, at)
        step = rng.randrange(at.problem.k)
        a = wide(at.matrices.a[row : row + 1, step], at.problem.dtype)[0]
        b = wide(at.matrices.b[step : step + 1, column], at.problem.dtype)[0]
        term = sign * at.problem.alpha * a * b
        return [at.poke((row, column), at.bits(at.truth.product[row, column] + term))]

    return damage


def two_swapped(rng: random.Random, at: Launched) -> Sequence[Poke]:
    """Two elements in each other's places."""
    one, other = _anywhere(rng, at), _anywhere(rng, at)
    if at.bits(at.truth.product[one]) == at.bits(at.truth.product[other]):
        return []
    return [at.poke(one, at.bits(at.truth.product[other])), at.poke(other, at.bits(at.truth.product[one]))]


def _an_element(value: float) -> Damage:
    return lambda rng, at: [at.poke(_anywhere(rng, at), at.bits(value))]


def unwritten(rng: random.Random, at: Launched) -> Sequence[Poke]:
    """An element as it is before anybody writes it."""
    return [at.poke(_anywhere(rng, at), _word(poison((1,), at.problem.output)))]


def in_a_gap(rng: random.Random, at: Launched) -> Sequence[Poke]:
    """A number between two rows of C, or two columns."""
    by_columns = "C" in at.problem.column_major
    count, length = (at.problem.n, at.problem.m) if by_columns else (at.problem.m, at.problem.n)
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
        place = rng.randrange(elements.shape[0]), rng.randrange(elements.shape[1])
        row, column = place
        return [Poke(matrix, at.index(matrix, place), _word(elements[row : row + 1, column]) ^ 1)]

    return damage


def in_the_over_read(rng: random.Random, at: Launched) -> Sequence[Poke]:
    """A number behind A, where the kernel may read and nobody may write."""
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
    """The kernel with launches behind its own that overwrite some elements.

    Args:
        kernel: a right one, of a single launch and without headers of its own.
        pokes: what is overwritten.
        folder: where the changed source goes.
    """
    source = folder / f"{kernel.name}.cu"
    if not source.exists():
        # Others may try the same kernel at the same time, and must not read half of it.
        whole = folder / f"{kernel.name}.{os.getpid()}"
        whole.write_text(kernel.source_text() + _POKES)
        whole.replace(source)

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> tuple[Launch, ...]:
        own = kernel.launches(problem, config, device)
        assert isinstance(own, Launch)
        return own, *(_launch(poke, problem) for poke in pokes)

    entry = kernel.entry_named()
    return replace(kernel, source=source, entry=entry, launch=launch, grid=None, over_read=None)


def _launch(poke: Poke, problem: Problem) -> Launch:
    size = dtype_named(problem.output if poke.matrix == "C" else problem.dtype).itemsize
    arguments = (poke.matrix, Scalar(poke.index, "int64"), Scalar(poke.bits, f"uint{8 * size}"))
    return Launch(grid=(1,), block=(1,), entry=f"poke{size}", arguments=arguments)


def _word(stored: NDArray[Any]) -> int:
    """The bits of one element."""
    return int(np.ascontiguousarray(stored).reshape(-1).view(f"u{stored.dtype.itemsize}")[0])

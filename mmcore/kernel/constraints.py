"""Constraints of a kernel on problem and config; any object with the methods of :class:`Constraint` is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Protocol, runtime_checkable

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import SIZES
from mmcore.kernel.configs import Config
from mmcore.kernel.geometry import Shape, ceil_div, dim3
from mmcore.kernel.problem import Problem

_EXTENTS = ("block.x", "block.y", "block.z")


@runtime_checkable
class Constraint(Protocol):
    """A condition on problem and config under which a kernel may be launched."""

    @property
    def description(self) -> str:
        """The condition in words, for every problem and config."""

    def violation(self, problem: Problem, config: Config) -> str | None:
        """Return the reason why ``problem`` cannot run in this config; None if it can."""


@runtime_checkable
class FixingConstraint(Protocol):
    """A constraint that fixes sizes, or the ratio of some, so that most problems violate it."""

    def nearest(self, problem: Problem, config: Config) -> tuple[int, int, int]:
        """Return the m, n and k that it allows and that are nearest to those of a problem."""


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


@dataclass(frozen=True)
class Square:
    """All three matrices are square: m = n = k."""

    description = "m = n = k"

    def violation(self, problem: Problem, config: Config) -> str | None:
        if problem.m == problem.n == problem.k:
            return None
        return f"it takes square matrices only, and m, n and k are {problem.m}, {problem.n} and {problem.k}"


@dataclass(frozen=True)
class EqualSizes:
    """Two sizes are equal, as one parameter of the kernel is both: "mn", "mk" or "nk"."""

    sizes: str

    def __post_init__(self) -> None:
        if self.sizes not in ("mn", "mk", "nk"):
            raise InvalidKernel(f"{self.sizes!r} are not two sizes of a problem; give mn, mk or nk")

    @property
    def description(self) -> str:
        return " = ".join(self.sizes)

    def violation(self, problem: Problem, config: Config) -> str | None:
        first, second = (getattr(problem, size) for size in self.sizes)
        if first == second:
            return None
        return f"it takes {self.description} only, and {_listed(self.sizes)} are {first} and {second}"

    def nearest(self, problem: Problem, config: Config) -> tuple[int, int, int]:
        """Return the sizes of a problem, with the larger one of the two in place of both; 1 if one of them is 1."""
        pair = [getattr(problem, size) for size in self.sizes]
        sizes = {"m": problem.m, "n": problem.n, "k": problem.k}
        sizes |= dict.fromkeys(self.sizes, 1 if 1 in pair else max(pair))
        return sizes["m"], sizes["n"], sizes["k"]


def equal_sizes(constraints: Iterable[Constraint]) -> str:
    """Return the sizes that constraints ask to be equal: "mnk" for square matrices, or two such as "mn", or ""."""
    several = list(constraints)
    if any(isinstance(each, Square) for each in several):
        return "mnk"
    return next((each.sizes for each in several if isinstance(each, EqualSizes)), "")


@dataclass(frozen=True)
class Multiple:
    """Some sizes are multiples of a number, of an extent of the block, or of a parameter of the config.

    Attributes:
        sizes: names of sizes ("m", "n", "k") and leading dimensions ("lda", "ldb", "ldc"), or one name.
        of: a number, "block.x", "block.y" or "block.z", or a parameter's name such as "BK".
        times: how many of those (2 for a tile two blocks wide).
    """

    sizes: tuple[str, ...] | str
    of: int | str
    times: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.sizes, str):
            object.__setattr__(self, "sizes", (self.sizes,))
        if not self.sizes or not set(self.sizes) <= set(SIZES):
            raise InvalidKernel(f"{self.sizes!r} are not sizes of a problem, which are {', '.join(SIZES)}")
        named = isinstance(self.of, str) and (self.of in _EXTENTS or self.of.isidentifier())
        if not named and (type(self.of) is not int or self.of < 1):
            advice = f"give a number, a parameter, or one of {', '.join(_EXTENTS)}"
            raise InvalidKernel(f"a multiple of {self.of!r} makes no sense; {advice}")
        if type(self.times) is not int or self.times < 1:
            raise InvalidKernel(f"{self.times!r} times {self.of} makes no sense; give a whole number from 1")

    @property
    def unit(self) -> str:
        return str(self.of) if self.times == 1 else f"{self.times}·{self.of}"

    def step(self, config: Config) -> int:
        """Return the number that the sizes must be multiples of, in this config."""
        if isinstance(self.of, int):
            return self.times * self.of
        _, dot, axis = self.of.partition(".")
        return self.times * int(getattr(config.block, axis) if dot else getattr(config, self.of))

    def common(self, problems: Sequence[Problem], config: Config) -> list[Multiple]:
        """Return the multiples that the sizes of further problems are, too."""
        return multiples_of(
            {name: gcd(self.step(config), *(getattr(each, name) for each in problems)) for name in self.sizes}
        )

    @property
    def description(self) -> str:
        return f"{_listed(self.sizes)} {'is a multiple' if len(self.sizes) == 1 else 'are multiples'} of {self.unit}"

    def violation(self, problem: Problem, config: Config) -> str | None:
        step = self.step(config)
        off = [f"{name} = {getattr(problem, name)}" for name in self.sizes if getattr(problem, name) % step]
        if not off:
            return None
        if len(off) > 1 and problem.m == problem.n == problem.k and set(self.sizes) <= {"m", "n", "k"}:
            # A square problem has one size, which is off once.
            off = [f"m = n = k = {problem.n}"]
        unit = str(step) if isinstance(self.of, int) else f"{self.unit} = {step}"
        return f"{_listed(off)} {'is' if len(off) == 1 else 'are'} not a multiple of {unit}"


def multiples_of(steps: Mapping[str, int]) -> list[Multiple]:
    """Return that sizes are multiples of their steps, a constraint for each step but 1."""
    several = dict.fromkeys(step for step in steps.values() if step > 1)
    return [Multiple(tuple(name for name in steps if steps[name] == step), step) for step in several]


@dataclass(frozen=True)
class SquareBlock:
    """The block has as many threads along x as along y, and one along z."""

    description = "the block is square"

    def violation(self, problem: Problem, config: Config) -> str | None:
        x, y, z = config.block
        return None if x == y and z == 1 else f"the block must be square, but is {config.block}"


@dataclass(frozen=True)
class FlatBlock:
    """The block has one thread along z."""

    description = "the block has one thread along z"

    def violation(self, problem: Problem, config: Config) -> str | None:
        return None if config.block.z == 1 else f"the block must have one thread along z, but is {config.block}"


@dataclass(frozen=True)
class BlockAmong:
    """The block is one of a few shapes that the source is written for, each one to three numbers, x first."""

    shapes: tuple[Shape, ...]

    @property
    def description(self) -> str:
        return f"the block is {' or '.join(str(dim3(shape)) for shape in self.shapes)}"

    def violation(self, problem: Problem, config: Config) -> str | None:
        allowed = [dim3(shape) for shape in self.shapes]
        if config.block in allowed:
            return None
        return f"the block must be {' or '.join(map(str, allowed))}, but is {config.block}"


@dataclass(frozen=True)
class Int32Index:
    """Every matrix, rounded up to whole blocks, spans fewer than 2³¹ elements, so that a C ``int`` can index it."""

    description = "each matrix has fewer than 2³¹ elements"

    def violation(self, problem: Problem, config: Config) -> str | None:
        step = max(*config.block, *config.tile)
        for matrix in "ABC":
            count, length = (ceil_div(size, step) * step for size in problem.stored_shape(matrix))
            elements = count * max(length, problem.leading(matrix))
            if elements >= 2**31:
                return f"{matrix} has {elements} elements; the kernel's int indexes reach 2147483647"
        return None

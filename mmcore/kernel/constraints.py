"""What a launch rule needs of problem and config, as objects.

A constraint has a ``description`` that states it in general and a ``violation`` that applies it to one problem and
config, with the numbers at hand. Listings print the description, refused launches quote the violation, and tests search
for problems on either side of it. Third parties write their own: anything with these two members is a constraint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mmcore.errors import InvalidKernel
from mmcore.kernel.configs import Config
from mmcore.kernel.geometry import Dim3, Shape, ceil_div, dim3
from mmcore.kernel.problem import Problem


@runtime_checkable
class Constraint(Protocol):
    """A condition on problem and config under which a kernel may be launched."""

    @property
    def description(self) -> str:
        """The condition in words, for every problem and config."""
        ...

    def violation(self, problem: Problem, config: Config) -> str | None:
        """Why ``problem`` cannot run in this config; None when it can."""
        ...


def _listed(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def square(problem: Problem) -> bool:
    """Whether all three matrices are square."""
    return problem.m == problem.n == problem.k


@dataclass(frozen=True)
class Square:
    """All three matrices are square: m = n = k."""

    @property
    def description(self) -> str:
        return "m = n = k"

    def violation(self, problem: Problem, config: Config) -> str | None:
        if square(problem):
            return None
        return f"m, n and k must be equal, but are {problem.m}, {problem.n} and {problem.k}"


@dataclass(frozen=True)
class Multiple:
    """Some sizes are multiples of a number, of an extent of the block, or of a parameter of the config.

    Attributes:
        sizes: names of the sizes ("m", "n", "k"), or one name.
        of: a number, "block.x", "block.y" or "block.z", or a parameter's name such as "BK".
        times: how many of those (2 for a tile two blocks wide).
    """

    sizes: tuple[str, ...] | str
    of: int | str
    times: int = 1

    def __post_init__(self) -> None:
        extents = tuple(f"block.{axis}" for axis in Dim3._fields)
        if not self.names or not set(self.names) <= {"m", "n", "k"}:
            raise InvalidKernel(f"{self.sizes!r} are not sizes of a problem; there are m, n and k")
        named = isinstance(self.of, str) and (self.of in extents or self.of.isidentifier())
        if not named and not (type(self.of) is int and self.of > 0):
            raise InvalidKernel(
                f"a multiple of {self.of!r} makes no sense; give a number, a parameter, or one of {', '.join(extents)}"
            )
        if type(self.times) is not int or self.times < 1:
            raise InvalidKernel(f"{self.times!r} times {self.of} makes no sense; give a whole number from 1")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.sizes,) if isinstance(self.sizes, str) else self.sizes

    @property
    def unit(self) -> str:
        return str(self.of) if self.times == 1 else f"{self.times}·{self.of}"

    def step(self, config: Config) -> int:
        """The number that the sizes must be multiples of, in this config."""
        if isinstance(self.of, int):
            return self.times * self.of
        _, dot, axis = self.of.partition(".")
        return self.times * int(getattr(config.block, axis) if dot else getattr(config, self.of))

    @property
    def description(self) -> str:
        if len(self.names) == 1:
            return f"{self.names[0]} is a multiple of {self.unit}"
        return f"{_listed(self.names)} are multiples of {self.unit}"

    def violation(self, problem: Problem, config: Config) -> str | None:
        step = self.step(config)
        unit = str(step) if isinstance(self.of, int) else f"{self.unit} = {step}"
        off = [f"{name} = {getattr(problem, name)}" for name in self.names if getattr(problem, name) % step]
        if square(problem) and len(off) > 1:
            # A square problem has one size, which is off once.
            off = [f"m = n = k = {problem.n}"]
        if not off:
            return None
        return f"{_listed(tuple(off))} {'is' if len(off) == 1 else 'are'} not a multiple of {unit}"


@dataclass(frozen=True)
class SquareBlock:
    """The block has as many threads along x as along y, and one along z."""

    @property
    def description(self) -> str:
        return "the block is square"

    def violation(self, problem: Problem, config: Config) -> str | None:
        block = config.block
        return None if block.x == block.y and block.z == 1 else f"the block must be square, but is {block}"


@dataclass(frozen=True)
class FlatBlock:
    """The block has one thread along z."""

    @property
    def description(self) -> str:
        return "the block has one thread along z"

    def violation(self, problem: Problem, config: Config) -> str | None:
        block = config.block
        return None if block.z == 1 else f"the block must have one thread along z, but is {block}"


@dataclass(frozen=True)
class BlockAmong:
    """The block is one of a few shapes that the source is written for.

    Attributes:
        shapes: the shapes, each one to three numbers, x first.
    """

    shapes: tuple[Shape, ...]

    @property
    def description(self) -> str:
        return f"the block is {' or '.join(str(dim3(shape)) for shape in self.shapes)}"

    def violation(self, problem: Problem, config: Config) -> str | None:
        if config.block in tuple(dim3(shape) for shape in self.shapes):
            return None
        return f"the block must be {' or '.join(str(dim3(shape)) for shape in self.shapes)}, but is {config.block}"


@dataclass(frozen=True)
class Int32Index:
    """Every matrix, rounded up to whole blocks, spans fewer than 2³¹ elements, so that a C ``int`` can index it."""

    @property
    def description(self) -> str:
        return "each matrix has fewer than 2³¹ elements"

    def violation(self, problem: Problem, config: Config) -> str | None:
        step = max(*config.block, *config.tile)
        m, n, k = (ceil_div(size, step) * step for size in (problem.m, problem.n, problem.k))
        for matrix, rows, columns, leading in (
            ("A", m, k, problem.lda),
            ("B", k, n, problem.ldb),
            ("C", m, n, problem.ldc),
        ):
            elements = rows * max(columns, leading)
            if elements >= 2**31:
                return f"{matrix} has {elements} elements; the kernel's int indexes reach 2147483647"
        return None

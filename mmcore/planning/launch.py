"""What a launch rule returns: one launch of one entry point, with its arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

from mmcore.errors import InvalidKernel
from mmcore.planning.geometry import Dim3, Shape, dim3, native
from mmcore.planning.problem import Problem

MATRICES = ("A", "B", "C")
SIZES = ("m", "n", "k", "lda", "ldb", "ldc")
SCALAR_TYPES = (
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *(f"float{bits}" for bits in (16, 32, 64)),
)

# From half a unit beyond the largest number on, a number is rounded to infinity.
_BEYOND = {"float16": 65520, "float32": 2**128 - 2**103, "float64": 2**1024 - 2**970}


@dataclass(frozen=True)
class Scalar:
    """A number passed by value.

    Attributes:
        value: the number, or the name of one of the problem's sizes ("m", "n", "k", "lda", "ldb", "ldc").
        type: numpy's name of the parameter's type ("int32", "uint64", "float32", …).
    """

    value: float | str
    type: str = "int32"


@dataclass(frozen=True)
class Workspace:
    """A pointer to device memory that lives for one product; launches that name the same one share it.

    Attributes:
        name: what faults call it.
        nbytes: its size in bytes. It starts out filled with NaN.
    """

    name: str
    nbytes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "nbytes", native(self.nbytes))


@dataclass(frozen=True)
class TensorMap:
    """A tensor map (``CUtensorMap``, passed by value as ``__grid_constant__``) over one matrix.

    Attributes:
        matrix: "A", "B" or "C".
        box: extents of the tile that one bulk copy moves, slowest axis (rows) first, in elements.
        swizzle: bytes of the shared-memory swizzle: 0, 32, 64 or 128.
    """

    matrix: str
    box: tuple[int, int]
    swizzle: int = 0


Argument: TypeAlias = str | Scalar | Workspace | TensorMap


def check_argument(argument: Argument) -> None:
    """Reject an argument that names neither a matrix nor a size, or that no memory or parameter can hold.

    Raises:
        InvalidKernel: saying what is wrong with it.
    """
    if isinstance(argument, Workspace):
        _check_workspace(argument)
    elif isinstance(argument, Scalar):
        _check_scalar(argument)
    else:
        _check_name(argument.matrix if isinstance(argument, TensorMap) else argument)


def _check_name(name: object) -> None:
    if name not in MATRICES + SIZES:
        raise InvalidKernel(f"argument {name!r} is none of {', '.join(MATRICES + SIZES)}")


def _check_workspace(workspace: Workspace) -> None:
    if not isinstance(workspace.name, str) or not workspace.name or workspace.name in MATRICES:
        raise InvalidKernel(f"a workspace cannot be called {workspace.name!r}: A, B and C are the matrices")
    if type(workspace.nbytes) is not int or workspace.nbytes < 0:
        raise InvalidKernel(f"workspace {workspace.name!r} has {workspace.nbytes!r} bytes instead of a whole number")


def _check_scalar(scalar: Scalar) -> None:
    if scalar.type not in SCALAR_TYPES:
        raise InvalidKernel(f"{scalar.type!r} is not a type of a scalar argument; there are {', '.join(SCALAR_TYPES)}")
    if isinstance(scalar.value, str):
        _check_name(scalar.value)
    elif not isinstance(scalar.value, (int, float)):
        raise InvalidKernel(f"{scalar.value!r} is no number, and cannot be a scalar argument")
    elif not _holds(scalar.type, scalar.value):
        raise InvalidKernel(f"{scalar.value!r} is no {scalar.type}")


def _holds(type: str, value: float) -> bool:
    """Whether a parameter of this type can hold the number, rounded where it is of a floating-point type."""
    if "float" in type:
        return value in (math.inf, -math.inf) or not abs(value) >= _BEYOND[type]
    bits, signed = int(type.lstrip("uint")), type.startswith("int")
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return value % 1 == 0 and least <= value <= most


def scalar_value(scalar: Scalar, problem: Problem) -> float:
    """The number that a scalar argument stands for.

    Raises:
        InvalidKernel: it is a size that its type cannot hold.
    """
    if not isinstance(scalar.value, str):
        return scalar.value
    size: int = getattr(problem, scalar.value)
    if not _holds(scalar.type, size):
        raise InvalidKernel(f"{scalar.value} = {size} is passed as {scalar.type}, which cannot hold it")
    return size


@dataclass(frozen=True)
class Launch:
    """One launch: its geometry, what it may read past the matrices, and its arguments.

    Attributes:
        grid: blocks along x, y, z (one to three numbers).
        block: threads along x, y, z (one to three numbers).
        shared_bytes: dynamic shared memory of a block, in bytes.
        cluster: blocks of a thread block cluster along x, y, z; None for none.
        over_read: elements past the end of a matrix that the kernel may load but never use, by matrix.
        entry: the kernel function, where it is not the kernel's own ``entry``.
        arguments: its arguments, where they are not the kernel's own ``arguments``.
    """

    grid: Shape
    block: Shape
    shared_bytes: int = 0
    cluster: Shape | None = None
    over_read: dict[str, int] = field(default_factory=dict)
    entry: str | None = None
    arguments: tuple[Argument, ...] | None = None

    def __post_init__(self) -> None:
        for what in ("grid", "block", "cluster"):
            shape = getattr(self, what)
            if isinstance(shape, (tuple, list)) or (what == "cluster" and shape is None):
                continue
            raise InvalidKernel(f"the {what} {shape!r} is not one to three whole numbers, such as (16, 16)")
        object.__setattr__(self, "grid", tuple(map(native, self.grid)))
        object.__setattr__(self, "shared_bytes", native(self.shared_bytes))
        if not 1 <= len(self.grid) <= 3 or not all(type(blocks) is int for blocks in self.grid):
            raise InvalidKernel(f"the grid {tuple(self.grid)} is not one to three whole numbers")
        if type(self.shared_bytes) is not int or self.shared_bytes < 0:
            raise InvalidKernel(f"shared_bytes is a whole number of bytes, not {self.shared_bytes!r}")
        # A grid can come out empty when a rule is forced against its constraints; the planner refuses it in words.
        object.__setattr__(self, "grid", Dim3(*self.grid))
        object.__setattr__(self, "block", dim3(self.block))
        if self.cluster is not None:
            object.__setattr__(self, "cluster", dim3(self.cluster))
        object.__setattr__(self, "over_read", {matrix: native(each) for matrix, each in self.over_read.items()})
        for matrix, elements in self.over_read.items():
            if matrix not in MATRICES or type(elements) is not int or elements < 0:
                raise InvalidKernel(f"an over-read of {elements} elements behind {matrix!r} makes no sense")
        if self.arguments is not None:
            if not isinstance(self.arguments, (tuple, list)):
                raise InvalidKernel(f'a launch\'s arguments are several: ("A", "B"), not {self.arguments!r}')
            object.__setattr__(self, "arguments", tuple(self.arguments))
            for argument in self.arguments:
                check_argument(argument)

    @property
    def grid_dim(self) -> Dim3:
        """The grid as a :class:`Dim3`."""
        return Dim3(*self.grid)

    @property
    def block_dim(self) -> Dim3:
        """The block as a :class:`Dim3`."""
        return Dim3(*self.block)

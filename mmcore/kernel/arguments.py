"""What a kernel function takes: matrices, sizes, numbers, workspaces and tensor maps."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TypeAlias

from mmcore.errors import InvalidKernel
from mmcore.kernel.geometry import native
from mmcore.kernel.problem import Problem
from mmcore.kernel.signature import Signature

MATRICES = ("A", "B", "C")
SIZES = ("m", "n", "k", "lda", "ldb", "ldc")

_INTEGERS = {
    **{f"int{bits}": range(-(2 ** (bits - 1)), 2 ** (bits - 1)) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": range(2**bits) for bits in (8, 16, 32, 64)},
}
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
        name: what violations call it.
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
    """Reject what names neither a matrix nor a size, or what no parameter or memory holds (:class:`InvalidKernel`)."""
    match argument:
        case Workspace(name, nbytes):
            if not isinstance(name, str) or not name or name in MATRICES:
                raise InvalidKernel(f"a workspace cannot be called {name!r}: A, B and C are the matrices")
            if type(nbytes) is not int or nbytes < 0:
                raise InvalidKernel(f"workspace {name!r} has {nbytes!r} bytes instead of a whole number")
        case Scalar(_, dtype) if dtype not in _INTEGERS | _BEYOND:
            types = ", ".join(_INTEGERS | _BEYOND)
            raise InvalidKernel(f"{dtype!r} is not a type of a scalar argument; there are {types}")
        case Scalar(int() | float() as number, dtype):
            if not _holds(dtype, number):
                raise InvalidKernel(f"{number!r} is no {dtype}")
        case Scalar(value) if not isinstance(value, str):
            raise InvalidKernel(f"{value!r} is no number, and cannot be a scalar argument")
        case Scalar(name) | TensorMap(name) | name:
            if name not in MATRICES + SIZES:
                raise InvalidKernel(f"argument {name!r} is none of {', '.join(MATRICES + SIZES)}")


def _holds(dtype: str, value: float) -> bool:
    """Whether a parameter of this type can hold the number, rounded where it is of a floating-point type."""
    if dtype in _INTEGERS:
        return value % 1 == 0 and int(value) in _INTEGERS[dtype]
    return value in (math.inf, -math.inf) or not abs(value) >= _BEYOND[dtype]


def scalar_value(scalar: Scalar, problem: Problem) -> float:
    """The number of a scalar argument; :class:`InvalidKernel` for a size that its type cannot hold."""
    if not isinstance(scalar.value, str):
        return scalar.value
    size: int = getattr(problem, scalar.value)
    if not _holds(scalar.type, size):
        raise InvalidKernel(f"{scalar.value} = {size} is passed as {scalar.type}, which cannot hold it")
    return size


@functools.lru_cache(maxsize=256)
def inferred_arguments(signature: Signature) -> tuple[Argument, ...]:
    """The arguments of a function whose parameters have the usual names, in any case, and types that go with them."""
    usual = {name.casefold(): name for name in MATRICES + SIZES}
    arguments: list[Argument] = []
    for parameter in signature.parameters:
        name = usual.get(parameter.name.casefold())
        if name in MATRICES and parameter.is_pointer:
            arguments.append(name)
        elif name in SIZES and "int" in parameter.scalar:
            arguments.append(name if parameter.scalar == "int32" else Scalar(name, parameter.scalar))
        else:
            shown = f"{parameter.type} {parameter.name}".strip()
            raise InvalidKernel(
                f"the parameter {shown!r} of {signature.name} has none of the usual names and types (pointers A, B, C; "
                "integers m, n, k, lda, ldb, ldc), so arguments= must say what it gets"
            )
    return tuple(arguments)

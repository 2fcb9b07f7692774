"""What a kernel function takes: matrices, sizes, numbers, workspaces and tensor maps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from mmcore.errors import InvalidKernel
from mmcore.kernel.geometry import native
from mmcore.kernel.problem import Problem
from mmcore.kernel.signature import Signature

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


_ROLES = {name.casefold(): name for name in (*MATRICES, *SIZES)}


def inferred_arguments(signature: Signature) -> tuple[Argument, ...]:
    """The arguments of a function whose parameters have the usual names: A, B, C, m, n, k, lda, ldb, ldc, in any case.

    Raises:
        InvalidKernel: one has another name, or a type that does not go with it.
    """
    arguments: list[Argument] = []
    for parameter in signature.parameters:
        role = _ROLES.get(parameter.name.casefold(), "")
        if not role or (role in MATRICES) != parameter.is_pointer or (role in SIZES and "int" not in parameter.scalar):
            shown = f"{parameter.type} {parameter.name}".strip()
            raise InvalidKernel(
                f"the parameter {shown!r} of {signature.name} has none of the usual names and types (pointers A, B, C; "
                "integers m, n, k, lda, ldb, ldc), so arguments= must say what it gets"
            )
        usual = role in MATRICES or parameter.scalar == "int32"
        arguments.append(role if usual else Scalar(role, parameter.scalar))
    return tuple(arguments)

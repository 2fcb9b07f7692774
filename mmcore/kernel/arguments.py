"""Arguments of kernel functions: matrices, sizes, factors, numbers, workspaces, tensor maps and structures."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

from mmcore.errors import InvalidKernel, asking
from mmcore.kernel.configs import Config
from mmcore.kernel.geometry import native
from mmcore.kernel.problem import Problem, dtype_named
from mmcore.kernel.signature import Signature

MATRICES = ("A", "B", "C")
SIZES = ("m", "n", "k", "lda", "ldb", "ldc")
FACTORS = ("alpha", "beta")
LOGARITHMS = {f"log2({size})": size for size in SIZES}
PITCHES = {f"bytes({length})": length for length in ("lda", "ldb", "ldc")}
"""Leading dimensions in bytes, such as the pitch of ``cudaMallocPitch``."""
QUOTIENTS = {f"{size}/{width}": (size, width) for size in SIZES for width in (2, 4, 8)}
"""Sizes that count vectors, such as rows of ``float4``."""

_INTEGERS = {
    **{f"int{bits}": range(-(2 ** (bits - 1)), 2 ** (bits - 1)) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": range(2**bits) for bits in (8, 16, 32, 64)},
}
# From half a unit beyond the largest number on, a number is rounded to infinity.
_BEYOND = {"float16": 65520, "float32": 2**128 - 2**103, "float64": 2**1024 - 2**970}


NumberRule: TypeAlias = Callable[[Problem, Config], float]


@dataclass(frozen=True)
class Scalar:
    """A number passed by value.

    Attributes:
        value: the number, the name of a size ("m", "n", "k", "lda", "ldb", "ldc") or a factor ("alpha", "beta"). Or the
            logarithm of a size that is a power of two, "log2(n)". Or a leading dimension in bytes, "bytes(lda)". Or a
            size that counts vectors of 2, 4 or 8 elements, "n/4". Or a rule ``(problem, config) -> number``.
        type: numpy's name of the parameter's type ("int32", "uint64", "float32", …).
    """

    value: float | str | NumberRule
    type: str = "int32"


@dataclass(frozen=True)
class Workspace:
    """A pointer to device memory; launches that name the same one share it.

    Attributes:
        name: the name in violations.
        nbytes: its size in bytes; the size of ``content`` by default.
        content: its first bytes before the first launch, or a numpy array; the rest is NaN. It is filled only once.
    """

    name: str
    nbytes: int = 0
    content: bytes = b""

    def __post_init__(self) -> None:
        content = self.content if isinstance(self.content, bytes) else self.content.tobytes()
        object.__setattr__(self, "content", content)
        object.__setattr__(self, "nbytes", native(self.nbytes) or len(content))


class MapLayout(Protocol):
    """A rule for the extents and strides of a tensor map, in elements, slowest axis first."""

    def __call__(self, problem: Problem, config: Config, /) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the extents and the strides."""


@dataclass(frozen=True)
class TensorMap:
    """A tensor map (``CUtensorMap``, passed by value as ``__grid_constant__``) over a matrix or a workspace.

    Attributes:
        matrix: "A", "B" or "C", or the name of a :class:`Workspace`.
        box: extents of the tile that one bulk copy moves, slowest axis first, in elements; of one to five axes.
        swizzle: bytes of the shared-memory swizzle: 0, 32, 64 or 128.
        extents: of the tensor, slowest axis first, in elements; by default the rows and columns of the matrix, or
            columns and rows where it is stored by columns. For a box of three axes, its rows are pieces as long as
            the last one: extents of (columns // box[2], rows, box[2]). Further axes before them have length 1.
        strides: elements from one index to the next along each axis; the last is 1. The matrix's own by default.
        dtype: type of the elements; the matrix's own by default. A workspace has no extents, strides and type of its
            own: they must be given.
        pointer: whether the function takes a pointer to the map in device memory instead.
        layout: a rule that returns extents and strides for a problem and a config, instead of numbers.
    """

    matrix: str
    box: tuple[int, ...]
    swizzle: int = 0
    extents: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    dtype: str = ""
    pointer: bool = False
    layout: MapLayout | None = None


@dataclass(frozen=True)
class Struct:
    """A structure passed by value, aligned as in C++, of matrices, workspaces, sizes, :class:`Scalar` and bytes."""

    members: tuple[str | Scalar | Workspace | bytes, ...]


Argument: TypeAlias = str | Scalar | Workspace | TensorMap | Struct | bytes


def flattened(arguments: Iterable[Argument]) -> Iterator[Argument]:
    """Yield arguments in order, with the members of structures in their place."""
    for argument in arguments:
        yield from argument.members if isinstance(argument, Struct) else (argument,)


def check_argument(argument: Argument) -> None:
    """Raise InvalidKernel for an argument without a meaning, or that no parameter or memory can hold."""
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
        case Scalar(value) if callable(value):
            return
        case Scalar(value) if not isinstance(value, str):
            raise InvalidKernel(f"{value!r} is no number, and cannot be a scalar argument")
        case TensorMap(matrix) if matrix not in MATRICES and not (argument.extents and argument.dtype):
            either = "over A, B or C, or over a workspace, whose extents, strides and dtype it must give"
            raise InvalidKernel(f"a tensor map is {either}: {matrix!r} is neither")
        case TensorMap():
            _check_tensor_map(argument)
        case Struct(members):
            for member in members:
                if isinstance(member, TensorMap | Struct):
                    raise InvalidKernel(f"a structure's members are pointers, numbers and bytes, not {member!r}")
                check_argument(member)
        case bytes():
            return
        case Scalar(name) if name in LOGARITHMS or name in PITCHES or name in QUOTIENTS:
            return
        case int() | float():
            dtype = "float32" if isinstance(argument, float) else "int32"
            raise InvalidKernel(f'argument {argument!r} is a number, which Scalar({argument!r}, "{dtype}") passes')
        case Scalar(name) | name:
            if name not in MATRICES + SIZES + FACTORS:
                is_config = isinstance(argument, Scalar) and isinstance(name, str) and name.isidentifier()
                rule = f"; a config's parameter is Scalar(lambda problem, config: config.{name})" if is_config else ""
                raise InvalidKernel(f"argument {name!r} is none of {', '.join(MATRICES + SIZES + FACTORS)}{rule}")


def _check_tensor_map(map: TensorMap) -> None:
    if map.dtype:
        dtype_named(map.dtype)
    if map.swizzle not in (0, 32, 64, 128):
        raise InvalidKernel(f"a tensor map's swizzle is 0, 32, 64 or 128 bytes, not {map.swizzle!r}")
    axes = len(map.extents) or max(len(map.box), 2)
    positive = all(type(native(each)) is int and each > 0 for each in (*map.box, *map.extents, *map.strides))
    if not positive or len(map.box) != axes or len(map.strides) != len(map.extents) or not 1 <= axes <= 5:
        shapes = f"{map.box}, {map.extents} and {map.strides}"
        raise InvalidKernel(f"a tensor map has a box, extents and strides of as many axes, 1 to 5, not {shapes}")
    if map.strides and map.strides[-1] != 1:
        raise InvalidKernel(f"a tensor map's last stride is 1, not {map.strides[-1]}")


def _holds(dtype: str, value: float) -> bool:
    """Return whether a parameter of this type can hold the number, rounded if the type is a floating-point one."""
    if dtype in _INTEGERS:
        return value % 1 == 0 and int(value) in _INTEGERS[dtype]
    return value in (math.inf, -math.inf) or not abs(value) >= _BEYOND[dtype]


def scalar_of(argument: str | Scalar, problem: Problem) -> Scalar:
    """Return a scalar; of a name, a size as ``int``, or a factor as ``float`` (``double`` if C is summed in it)."""
    if argument in FACTORS:
        return Scalar(argument, "float64" if problem.output == "float64" else "float32")
    return argument if isinstance(argument, Scalar) else Scalar(argument)


def scalar_value(scalar: Scalar, problem: Problem, config: Config) -> float:
    """Return the number of a scalar argument. Raises InvalidKernel if its rule fails or its type cannot hold it."""
    if callable(scalar.value):
        with asking("the rule of a number", f"{problem} with {config}"):
            number = native(scalar.value(problem, config))
            if type(number) not in (int, float) or not _holds(scalar.type, number):
                raise InvalidKernel(f"{number!r} is no {scalar.type}")
            return cast(float, number)
    if not isinstance(scalar.value, str):
        return scalar.value
    if scalar.value in LOGARITHMS:
        length: int = getattr(problem, LOGARITHMS[scalar.value])
        if length & (length - 1):
            raise InvalidKernel(f"{LOGARITHMS[scalar.value]} = {length} is no power of two; it takes {scalar.value}")
        return length.bit_length() - 1
    if scalar.value in QUOTIENTS:
        name, width = QUOTIENTS[scalar.value]
        if (length := getattr(problem, name)) % width:
            raise InvalidKernel(f"{name} = {length} is no multiple of {width}; it takes {scalar.value}")
        return length // width
    size: float = getattr(problem, PITCHES.get(scalar.value, scalar.value))
    if scalar.value in PITCHES:
        size *= dtype_named(problem.output if scalar.value == "bytes(ldc)" else problem.dtype).itemsize
    if not _holds(scalar.type, size):
        raise InvalidKernel(f"{scalar.value} = {size} is passed as {scalar.type}, which cannot hold it")
    return size


@functools.lru_cache(maxsize=256)
def inferred_arguments(signature: Signature) -> tuple[Argument, ...]:
    """Return the arguments of a function whose parameters have the usual names, in any case, and suitable types."""
    usual = {name.casefold(): name for name in MATRICES + SIZES + FACTORS}
    arguments: list[Argument] = []
    for parameter in signature.parameters:
        name = usual.get(parameter.name.casefold())
        if name in MATRICES and parameter.type.endswith("*"):
            arguments.append(name)
        elif name in SIZES and "int" in parameter.scalar:
            arguments.append(name if parameter.scalar == "int32" else Scalar(name, parameter.scalar))
        elif name in FACTORS and "float" in parameter.scalar:
            arguments.append(Scalar(name, parameter.scalar))
        else:
            shown = f"{parameter.type} {parameter.name}".strip()
            raise InvalidKernel(
                f"the parameter {shown!r} of {signature.name} has none of the usual names and types (pointers A, B, C; "
                "integers m, n, k, lda, ldb, ldc; floating-point alpha, beta), so arguments= must say what it gets"
            )
    return tuple(arguments)

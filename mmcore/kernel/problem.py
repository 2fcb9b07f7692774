"""The product to compute, and the element types of its matrices."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import NamedTuple, SupportsIndex, TypeVar

from mmcore.errors import InvalidProblem
from mmcore.kernel.geometry import native

_Size = TypeVar("_Size", bound=SupportsIndex)


class DType(NamedTuple):
    """An element type by numpy's name (ml_dtypes' for ``bfloat16`` and the 8-bit ones).

    Attributes:
        name: the type's name. "tf32" is float32 with the upper 19 bits used in products.
        itemsize: in bytes.
        unit_roundoff: half the distance from 1 to the next representable number; 0 of integers.
        storage: the numpy type that holds its bits.
        exponents: the exponents of its normal numbers, least and largest: 2^least up to below 2^(largest + 1).
    """

    name: str
    itemsize: int
    unit_roundoff: float
    storage: str
    exponents: tuple[int, int]

    @property
    def is_integer(self) -> bool:
        """True if its elements are whole numbers."""
        return not self.unit_roundoff


_DTYPES = {
    each.name: each
    for each in (
        DType("float16", 2, 2.0**-11, "float16", (-14, 15)),
        DType("bfloat16", 2, 2.0**-8, "uint16", (-126, 127)),
        DType("float32", 4, 2.0**-24, "float32", (-126, 127)),
        DType("float64", 8, 2.0**-53, "float64", (-1022, 1023)),
        DType("tf32", 4, 2.0**-11, "float32", (-126, 127)),
        DType("float8_e4m3fn", 1, 2.0**-4, "uint8", (-6, 7)),  # up to 448, which is less than 2^9
        DType("float8_e5m2", 1, 2.0**-3, "uint8", (-14, 15)),
        DType("int8", 1, 0.0, "int8", (0, 6)),
        DType("uint8", 1, 0.0, "uint8", (0, 7)),
        DType("int32", 4, 0.0, "int32", (0, 30)),
    )
}
# What tensor cores of compute capability 8.9 and 9.0 sum 8-bit floats in: float32 cut off behind 13 bits.
FLOAT22 = DType("float22", 4, 2.0**-13, "float32", (-126, 127))
_FLOAT22 = re.compile(r"float22(?:/([1-9]\d{0,8}))?", re.ASCII)
_SHORT_NAMES = {
    "f16": "float16", "half": "float16", "bf16": "bfloat16", "f32": "float32", "float": "float32",
    "f64": "float64", "double": "float64", "e4m3": "float8_e4m3fn", "float8_e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2", "s8": "int8", "u8": "uint8", "s32": "int32",
}  # fmt: skip


def dtype_named(name: str) -> DType:
    """Return the element type of a name ("float32", or "f32" for short). Raises :class:`InvalidProblem`."""
    try:
        return _DTYPES[_SHORT_NAMES.get(name, name)]
    except KeyError:
        raise InvalidProblem(f"{name!r} is not an element type; there are {', '.join(_DTYPES)}") from None


def accumulator_named(name: str) -> DType:
    """Return the type of sums by name: an element type, "float22", or "float22/128" if promoted."""
    return FLOAT22._replace(name=name) if _FLOAT22.fullmatch(name) else dtype_named(name)


def terms_until_promoted(name: str, k: int) -> int:
    """Return how many of k terms are summed in that type before float32 takes over: 128 at most of "float22/128"."""
    match = _FLOAT22.fullmatch(name)
    return min(k, int(match[1])) if match and match[1] else k


@dataclass(frozen=True)
class Problem:
    """One matrix product, C = α·A·B + β·C.

    Attributes:
        m, n, k: C is m×n, A is m×k, B is k×n.
        dtype: element type of A and B ("float32", "float64", "float16", "bfloat16", "tf32" for float32 with only the
            upper 19 bits used, "float8_e4m3fn", "float8_e5m2", "int8", "uint8", "int32").
        output: element type of C; ``dtype`` when not given.
        lda, ldb, ldc: elements from one row (or column, where stored by columns) to the next; packed when 0.
        alpha, beta: factors of A·B and of C's old value, which is not read where ``beta`` is 0.
        column_major: the matrices that are stored by columns, such as "B" or "BC"; the others are by rows.
        initial_c: what C holds before a launch where ``beta`` is 0: "poison" or "zeros".

    Raises:
        InvalidProblem: for sizes below 1 or from 2⁶³, a leading dimension shorter than its row, or an unknown type.
    """

    m: int
    n: int
    k: int
    dtype: str = "float32"
    output: str = ""
    lda: int = 0
    ldb: int = 0
    ldc: int = 0
    alpha: float = 1.0
    beta: float = 0.0
    column_major: str = ""
    initial_c: str = "poison"

    def __post_init__(self) -> None:
        for name, least in (("m", 1), ("n", 1), ("k", 1), ("lda", 0), ("ldb", 0), ("ldc", 0)):
            size = native(getattr(self, name))
            if type(size) is int and abs(size) >= 2**63:
                raise InvalidProblem(f"{name} must be less than 2⁶³")
            if type(size) is not int or size < least:
                raise InvalidProblem(f"{name} must be a positive whole number, but is {size!r}")
            object.__setattr__(self, name, size)
        for matrix in "ABC":
            _, length = self.stored_shape(matrix)
            leading = self.leading(matrix) or length
            if leading < length:
                line = "column" if matrix in self.column_major else "row"
                raise InvalidProblem(f"ld{matrix.lower()} = {leading} is shorter than a {line} of {length} elements")
            object.__setattr__(self, f"ld{matrix.lower()}", leading)
        object.__setattr__(self, "dtype", dtype_named(self.dtype).name)
        object.__setattr__(self, "output", dtype_named(self.output or self.dtype).name)

    @property
    def accumulate(self) -> bool:
        """True if C's old value is read."""
        return self.beta != 0

    @property
    def keeps_whole(self) -> bool:
        """True if the factors neither lengthen a sum of whole numbers nor make it too small.

        C's old value has the scale of A·B, times alpha/beta.
        """
        powers = all(abs(math.frexp(each)[0]) == 0.5 for each in (self.alpha, self.beta or 1))
        return powers and abs(self.alpha) >= 2**-7 and (not self.beta or 1 / 4 <= abs(self.alpha / self.beta) <= 4)

    @property
    def flops(self) -> int:
        """Floating-point operations of the product: 2·m·n·k."""
        return 2 * self.m * self.n * self.k

    @property
    def compulsory_bytes(self) -> int:
        """Bytes that must cross the memory bus at least: A, B and C once each (C twice when accumulating)."""
        inputs = (self.m * self.k + self.k * self.n) * dtype_named(self.dtype).itemsize
        return inputs + (1 + self.accumulate) * self.m * self.n * dtype_named(self.output).itemsize

    @property
    def packed(self) -> Problem:
        """This product without gaps between rows (or columns)."""
        return self.packed_except("")

    def packed_except(self, matrices: str) -> Problem:
        """Return this product without gaps, except in some matrices, such as "AC"."""
        lda, ldb, ldc = (self.leading(each) if each in matrices else 0 for each in "ABC")
        return replace(self, lda=lda, ldb=ldb, ldc=ldc)

    def dtype_of(self, matrix: str) -> DType:
        """Return the element type of ``matrix`` ("A", "B" or "C")."""
        return dtype_named(self.output if matrix == "C" else self.dtype)

    def shape(self, matrix: str) -> tuple[int, int]:
        """Return rows and columns of ``matrix``."""
        return {"A": (self.m, self.k), "B": (self.k, self.n), "C": (self.m, self.n)}[matrix]

    def stored_shape(self, matrix: str) -> tuple[int, int]:
        """Return the number and length of the rows that ``matrix`` is stored in, or of its columns."""
        rows, columns = self.shape(matrix)
        return (columns, rows) if matrix in self.column_major else (rows, columns)

    def leading(self, matrix: str) -> int:
        """Return the elements from one row (or column) of ``matrix`` to the next."""
        return {"A": self.lda, "B": self.ldb, "C": self.ldc}[matrix]

    def strides(self, matrix: str) -> tuple[int, int]:
        """Return the elements from one row of ``matrix`` to the next, and from one column to the next."""
        leading = self.leading(matrix)
        return (1, leading) if matrix in self.column_major else (leading, 1)

    def span(self, matrix: str) -> int:
        """Return the elements from the first to the last element of ``matrix``, both included."""
        count, length = self.stored_shape(matrix)
        return (count - 1) * self.leading(matrix) + length

    def __str__(self) -> str:
        return f"{self.m}×{self.n}×{self.k}"


def three_sizes(size: _Size | None, m: _Size | None, n: _Size | None, k: _Size | None) -> tuple[_Size, _Size, _Size]:
    """Return m, n and k, given by one ``size`` or all three. Raises :class:`InvalidProblem`."""
    if size is not None:
        if (m, n, k) != (None, None, None):
            raise InvalidProblem("give either one size or m, n and k, not both")
        return size, size, size
    if m is None or n is None or k is None:
        raise InvalidProblem("give one size, or all of m, n and k")
    return m, n, k

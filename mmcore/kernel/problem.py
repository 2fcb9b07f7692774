"""The product to compute, and the element types of its matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, SupportsIndex, TypeVar

from mmcore.errors import InvalidProblem
from mmcore.kernel.geometry import native

_Size = TypeVar("_Size", bound=SupportsIndex)


class DType(NamedTuple):
    """An element type by numpy's name (ml_dtypes' for ``bfloat16``), and the numpy type that holds its bits."""

    name: str
    itemsize: int  # in bytes
    unit_roundoff: float  # half the distance from 1 to the next representable number
    storage: str


_DTYPES = {
    "float16": DType("float16", 2, 2.0**-11, "float16"),
    "bfloat16": DType("bfloat16", 2, 2.0**-8, "uint16"),
    "float32": DType("float32", 4, 2.0**-24, "float32"),
    "float64": DType("float64", 8, 2.0**-53, "float64"),
}
_SHORT_NAMES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}


def dtype_named(name: str) -> DType:
    """The element type of a name ("float32", or "f32" for short); :class:`InvalidProblem` where there is none."""
    try:
        return _DTYPES[_SHORT_NAMES.get(name, name)]
    except KeyError:
        raise InvalidProblem(f"{name!r} is not an element type; there are {', '.join(_DTYPES)}") from None


@dataclass(frozen=True)
class Problem:
    """One matrix product in row-major storage: C = A·B, or C = C + A·B.

    Attributes:
        m: rows of A and C.
        n: columns of B and C.
        k: columns of A, rows of B.
        dtype: element type of A and B ("float32", "float64", "float16", "bfloat16").
        output: element type of C; ``dtype`` when not given.
        lda: elements from one row of A to the next; k when not given.
        ldb: elements from one row of B to the next; n when not given.
        ldc: elements from one row of C to the next; n when not given.
        accumulate: whether C's old value is added.

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
    accumulate: bool = False

    def __post_init__(self) -> None:
        for name, least in (("m", 1), ("n", 1), ("k", 1), ("lda", 0), ("ldb", 0), ("ldc", 0)):
            size = native(getattr(self, name))
            if type(size) is int and abs(size) >= 2**63:
                raise InvalidProblem(f"{name} must be less than 2⁶³")
            if type(size) is not int or size < least:
                raise InvalidProblem(f"{name} must be a positive whole number, but is {size!r}")
            object.__setattr__(self, name, size)
        for name, columns in (("lda", self.k), ("ldb", self.n), ("ldc", self.n)):
            leading = getattr(self, name) or columns
            if leading < columns:
                raise InvalidProblem(f"{name} = {leading} is shorter than a row of {columns} elements")
            object.__setattr__(self, name, leading)
        object.__setattr__(self, "dtype", dtype_named(self.dtype).name)
        object.__setattr__(self, "output", dtype_named(self.output or self.dtype).name)

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
        """The same product with every row directly behind the one before."""
        return Problem(self.m, self.n, self.k, self.dtype, self.output, accumulate=self.accumulate)

    def span(self, matrix: str) -> int:
        """Elements from the first to the last element of ``matrix`` ("A", "B" or "C"), both included."""
        return {
            "A": (self.m - 1) * self.lda + self.k,
            "B": (self.k - 1) * self.ldb + self.n,
            "C": (self.m - 1) * self.ldc + self.n,
        }[matrix]

    def __str__(self) -> str:
        return f"{self.m}×{self.n}×{self.k}"


def three_sizes(size: _Size | None, m: _Size | None, n: _Size | None, k: _Size | None) -> tuple[_Size, _Size, _Size]:
    """m, n and k, given by either one ``size`` for all three or each of them; :class:`InvalidProblem` otherwise."""
    if size is not None:
        if (m, n, k) != (None, None, None):
            raise InvalidProblem("give either one size or m, n and k, not both")
        return size, size, size
    if m is None or n is None or k is None:
        raise InvalidProblem("give one size, or all of m, n and k")
    return m, n, k

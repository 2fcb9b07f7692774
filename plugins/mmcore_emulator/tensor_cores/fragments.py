"""Fragments: which thread of a warp holds which elements of a matrix, in which register.

A register operand of W warps is an array ``[W, 32]``: of uint32, or of float64 for ``.f64``. A matrix that they hold
together is an array ``[W, rows, columns]`` of raw elements, as they are stored: uint8 for 4 and 8 bits, uint16, uint32,
and float64 for ``.f64``. The layouts of ``mma``, ``ldmatrix`` and ``stmatrix`` are those of PTX ISA 9.7.14.5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore.verify.elements import widen
from mmcore_emulator.floats import Values, from_bfloat16

Registers: TypeAlias = list[NDArray[Any]]
"""The registers of an operand, in the order in which PTX lists them: ``[W, 32]`` each."""

Matrix: TypeAlias = Literal["A", "B", "C"]
"""Which operand of D = A·B + C; D is held as C is."""

Shape: TypeAlias = tuple[int, int, int]
"""M, N and K of a product: A is M×K, B is K×N, C is M×N."""

BITS = {"s4": 4, "u4": 4} | {"s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8} | {"f16": 16, "bf16": 16}
BITS |= {"tf32": 32, "f32": 32, "s32": 32, "f64": 64}
"""Bits that an element of each type takes in a register."""

_RAW: dict[int, type[np.generic]] = {4: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.float64}
_TF32 = np.uint32(0xFFFFE000)
_FLOAT8 = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}


@dataclass(frozen=True)
class Fragment:
    """How the threads of a warp, or of a warpgroup, hold a matrix.

    The position of an element among registers, threads and parts of a register is a number of several digits, and so is
    its row, and its column. They share their digits: each is named by a letter, and ``sizes`` says how many values it
    has. The letters are in the order of their weight, the heaviest first.

    Attributes:
        type: of the elements, as PTX calls it.
        sizes: how many values each digit has.
        registers, threads, parts: digits of the register's number, of the thread's, and of the element's place in it.
        rows, columns: digits of an element's row and column.
        matrices: digits of the matrix's number, where a warp holds several.

    A digit of a register that is in no row or column counts copies of the same elements.
    """

    type: str
    sizes: dict[str, int] = field(hash=False)
    registers: str
    threads: str
    parts: str
    rows: str
    columns: str
    matrices: str = ""

    @property
    def bits(self) -> int:
        """Of an element."""
        return BITS[self.type]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return self._count(self.rows), self._count(self.columns)

    @property
    def register_count(self) -> int:
        """How many registers each thread holds."""
        return self._count(self.registers)

    @property
    def thread_count(self) -> int:
        """How many threads hold it: 32 or 128."""
        return self._count(self.threads)

    @property
    def copies(self) -> int:
        """How many times each element is held; all registers but the first ``register_count / copies`` are copies."""
        return self._count(self._copied)

    def unpack(self, registers: Sequence[NDArray[Any]]) -> Values:
        """Raw elements ``[W, rows, columns]`` that registers hold: ``[W, threads]`` each; of copies, the first counts.

        Where a warp holds several matrices they are ``[W, matrices, rows, columns]``.
        """
        distinct = np.stack(registers[: self.register_count // self.copies])
        split = split_parts(distinct.reshape(len(distinct), -1, self.thread_count), self.type)
        digits = split.reshape(*self._sizes(self._distinct), -1, *self._sizes(self.threads + self.parts))
        return np.asarray(digits.transpose(self._order).reshape(-1, *self._matrix))

    def pack(self, raw: Values) -> Registers:
        """Registers ``[W, threads]`` that hold raw elements ``[W, rows, columns]``: what ``unpack`` was given."""
        return list(join_parts(self._parts(raw), self.type))

    @cached_property
    def coordinates(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Row and column of each element, ``[registers, threads, parts]`` each; of a warp's first matrix."""
        places = np.broadcast_to(np.arange(prod(self.shape)).reshape(self.shape), (1, *self._matrix))
        row, column = np.divmod(self._parts(places)[:, 0], self.shape[1])
        return row, column

    def _parts(self, raw: Values) -> Values:
        """Elements ``[registers, W, threads, parts]`` of a matrix ``[W, rows, columns]``."""
        digits = raw.reshape(-1, *self._sizes(self.matrices + self.rows + self.columns)).transpose(self._inverse)
        parts = self._count(self.parts)
        distinct = digits.reshape(self.register_count // self.copies, -1, self.thread_count, parts)
        return np.concatenate([distinct] * self.copies) if self.copies > 1 else distinct

    def _count(self, digits: str) -> int:
        return prod(self._sizes(digits))

    def _sizes(self, digits: str) -> tuple[int, ...]:
        return tuple(self.sizes[digit] for digit in digits)

    @cached_property
    def _copied(self) -> str:
        return "".join(digit for digit in self.registers if digit not in self.rows + self.columns)

    @cached_property
    def _distinct(self) -> str:
        return self.registers.removeprefix(self._copied)

    @cached_property
    def _matrix(self) -> tuple[int, ...]:
        return (*self._sizes(self.matrices), *self.shape)

    @cached_property
    def _order(self) -> list[int]:
        held = self._distinct + "W" + self.threads + self.parts
        return [held.index(digit) for digit in "W" + self.matrices + self.rows + self.columns]

    @cached_property
    def _inverse(self) -> list[int]:
        return [self._order.index(axis) for axis in range(len(self._order))]


def split_parts(registers: Values, type: str) -> Values:
    """Raw elements ``[..., parts]`` of registers ``[...]``, the lowest bits first."""
    if BITS[type] >= 32:
        return registers[..., np.newaxis]
    raw = np.ascontiguousarray(registers)[..., np.newaxis].view(_RAW[BITS[type]])
    return np.stack([raw & 15, raw >> 4], axis=-1).reshape(*registers.shape, 8) if BITS[type] == 4 else raw


def join_parts(raw: Values, type: str) -> Values:
    """Registers ``[...]`` of raw elements ``[..., parts]``: what ``split_parts`` was given."""
    if BITS[type] == 4:
        raw = raw[..., ::2] | (raw[..., 1::2] << 4)
    whole = np.float64 if BITS[type] == 64 else np.uint32
    return np.ascontiguousarray(raw).view(whole)[..., 0]


def values(raw: Values, type: str) -> Values:
    """The exact numbers that raw elements of a type stand for: float64, or int64 for types of whole numbers."""
    if type in _FLOAT8:
        return widen(raw, _FLOAT8[type])
    if type in ("s4", "s8", "s32"):
        unused = 8 * raw.itemsize - BITS[type]
        signed = (raw << unused).view(raw.dtype.str.replace("u", "i")) >> unused
        return signed.astype(np.int64)
    if type in ("u4", "u8"):
        return raw.astype(np.int64)
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return _floats(raw, type).astype(np.float64)


def _floats(raw: Values, type: str) -> Values:
    """The same as numbers of the type itself, or of float32."""
    match type:
        case "f16":
            return raw.view(np.float16)
        case "bf16":
            return from_bfloat16(raw)
        case "tf32":  # the hardware reads no more of it
            return (raw & _TF32).view(np.float32)
        case "f32":
            return raw.view(np.float32)
        case _:
            return raw


def bits_of(numbers: Values, type: str) -> Values:
    """Raw elements of results: of float16 for "f16", float32 for "f32", int32 for "s32", float64 for "f64"."""
    return numbers if type == "f64" else np.ascontiguousarray(numbers).view(_RAW[BITS[type]])


@cache
def fragment(matrix: Matrix, shape: Shape, type: str, layout: str = "") -> Fragment:
    """The fragment of ``mma.sync`` of a shape: of A or B of a type, or of C and D.

    ``layout`` matters to A and B of ``m8n8k4`` with f16 only, Volta's four products of quarters of a warp, and is then
    "row" or "col"; everything else is held alike whichever way it is called.
    """
    m, n, k = shape
    if shape == (8, 8, 4) and type != "f64":
        return _of_quad_pairs(matrix, type, layout)
    parts = max(32 // BITS[type], 1)
    digits = {"g": 8, "t": 4, "e": parts}
    match matrix:
        case "A":
            sizes = digits | {"k": k // (4 * parts), "r": m // 8}
            return Fragment(type, sizes, "kr", "gt", "e", "rg", "kte")
        case "B":
            sizes = digits | {"k": k // (4 * parts), "j": n // 8}
            return Fragment(type, sizes, "jk", "gt", "e", "kte", "jg")
        case "C":
            return _accumulator(type, {"g": 8, "t": 4, "j": n // 8, "r": m // 8}, "jr", "gt", "rg")


def _accumulator(type: str, sizes: dict[str, int], registers: str, threads: str, rows: str) -> Fragment:
    """C, of which a thread has two neighbours in a row: in two registers, or in the halves of one."""
    wide = BITS[type] >= 32
    return Fragment(type, sizes | {"c": 2}, registers + "c" * wide, threads, "c" * (not wide), rows, "jtc")


def _of_quad_pairs(matrix: Matrix, type: str, layout: str) -> Fragment:
    """A fragment of m8n8k4 with f16: thread 16h + 4q + x is of the product q (PTX ISA 9.7.14.5.1)."""
    sizes = {"h": 2, "q": 4, "x": 4, "k": 2, "e": 2}
    if matrix == "C" and type == "f32":
        sizes = {"h": 2, "q": 4} | dict.fromkeys("yzuvw", 2)
        return Fragment(type, sizes, "uvw", "hqyz", "", "hvz", "uyw", "q")
    if matrix == "C":
        return Fragment(type, sizes | {"k": 4}, "k", "hqx", "e", "hx", "ke", "q")
    along, across = "ke", "x"
    # A thread has four neighbours, along A's rows or its columns. The halves of the warp differ in the row of A.
    rows, columns = (across, along) if layout == "row" else (along, across)
    if matrix == "A":
        return Fragment(type, sizes, "k", "hqx", "e", "h" + rows, columns, "q")
    return Fragment(type, sizes, "k", "hqx", "e", rows, "h" + columns, "q")


@dataclass(frozen=True)
class MmaKind:
    """What an ``mma.sync`` multiplies.

    Attributes:
        shape: M, N and K.
        layouts: of A and of B, "row" or "col".
        d, a, b, c: types of elements.
        satfinite: whether a sum of whole numbers stops at the limits of s32 instead of wrapping around.
        rounding: of f64: "rn", "rz", "rm" or "rp".
    """

    shape: Shape
    layouts: tuple[str, str]
    d: str
    a: str
    b: str
    c: str
    satfinite: bool = False
    rounding: str = "rn"

    def fragments(self) -> tuple[Fragment, Fragment, Fragment, Fragment]:
        """Of the operands, in the order in which they are written: D, A, B, C."""
        return (
            fragment("C", self.shape, self.d),
            fragment("A", self.shape, self.a, self.layouts[0]),
            fragment("B", self.shape, self.b, self.layouts[1]),
            fragment("C", self.shape, self.c),
        )

    @property
    def register_counts(self) -> tuple[int, int, int, int]:
        """How many registers the operands have: D, A, B, C."""
        d, a, b, c = (each.register_count for each in self.fragments())
        return d, a, b, c


_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_ROUNDINGS = frozenset({"rn", "rz", "rm", "rp"})
_INTEGERS = (frozenset({"s8", "u8"}), frozenset({"s4", "u4"}))
_FLOATS8 = frozenset({"e4m3", "e5m2"})
_SUMS: dict[str, tuple[str, ...]] = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "f64": ("f64",)}
_SUMS |= dict.fromkeys(("e4m3", "e5m2"), ("f16", "f32")) | dict.fromkeys(("s8", "u8", "s4", "u4"), ("s32",))

_MMA_SHAPES: dict[str, tuple[Shape, ...]] = {
    "f16": ((8, 8, 4), (16, 8, 8), (16, 8, 16)),
    "bf16": ((16, 8, 8), (16, 8, 16)),
    "tf32": ((16, 8, 4), (16, 8, 8)),
    "f64": ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)),
    **dict.fromkeys(("e4m3", "e5m2"), ((16, 8, 16), (16, 8, 32))),
    **dict.fromkeys(("s8", "u8"), ((8, 8, 16), (16, 8, 16), (16, 8, 32))),
    **dict.fromkeys(("s4", "u4"), ((8, 8, 32), (16, 8, 32), (16, 8, 64))),
}
"""Shapes of ``mma.sync`` for each type of A and B (PTX ISA 9.7.14.5.14, up to sm_90)."""


def shape_named(name: str) -> Shape | None:
    """M, N and K of a shape as PTX writes it, "m16n8k16"; None for anything else."""
    found = _SHAPE.fullmatch(name)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


@cache
def mma_kind(opcode: tuple[str, ...]) -> MmaKind | None:
    """What an opcode multiplies: ``("mma", "sync", "aligned", "m16n8k16", "row", "col", "f32", "f16", "f16", "f32")``.

    None for another instruction, and for what is not here: single bits, sparse and scaled matrices, ``.kind::``.
    """
    if opcode[:3] != ("mma", "sync", "aligned"):
        return None
    plain, satfinite, rounding = _without_modifiers(opcode[3:])
    shape = shape_named(plain[0]) if len(plain) == 7 else None
    if shape is None or not {plain[1], plain[2]} <= {"row", "col"}:
        return None
    d, a, b, c = plain[3:]
    kind = MmaKind(shape, (plain[1], plain[2]), d, a, b, c, satfinite, rounding)
    known = _sound_types(kind) and shape in _MMA_SHAPES[kind.a]
    volta = kind.a == "f16" and shape == (8, 8, 4)
    return kind if known and (volta or kind.layouts == ("row", "col")) else None


def _without_modifiers(parts: tuple[str, ...]) -> tuple[tuple[str, ...], bool, str]:
    """Parts of an opcode without ``.satfinite`` and rounding, and these."""
    plain = tuple(part for part in parts if part != "satfinite" and part not in _ROUNDINGS)
    return plain, "satfinite" in parts, next((part for part in parts if part in _ROUNDINGS), "rn")


def _sound_types(kind: MmaKind) -> bool:
    """Whether A and B may be multiplied, and summed in C and D."""
    alike = kind.a == kind.b or any({kind.a, kind.b} <= types for types in (*_INTEGERS, _FLOATS8))
    return alike and {kind.c, kind.d} <= set(_SUMS.get(kind.a, ()))


@dataclass(frozen=True)
class MatrixMove:
    """What an ``ldmatrix`` loads, or a ``stmatrix`` stores: matrices of 8 rows of 8 halfwords.

    Attributes:
        count: of matrices, and of registers.
        transposed: whether a thread holds neighbours in a column.
        space: "shared", or "generic" where the opcode does not say.
    """

    count: int
    transposed: bool
    space: str


@cache
def matrix_move(opcode: tuple[str, ...]) -> MatrixMove | None:
    """What an opcode moves: ``("ldmatrix", "sync", "aligned", "m8n8", "x4", "trans", "shared", "b16")``.

    None for another instruction, and for the shapes of sm_100.
    """
    if opcode[1:4] != ("sync", "aligned", "m8n8") or opcode[0] not in ("ldmatrix", "stmatrix") or opcode[-1] != "b16":
        return None
    count, *rest = opcode[4:-1]
    transposed, space = "trans" in rest, "shared" if {"shared", "shared::cta"} & set(rest) else "generic"
    known = count in ("x1", "x2", "x4") and set(rest) <= {"trans", "shared", "shared::cta"}
    return MatrixMove(int(count[1:]), transposed, space) if known else None


def row_addresses(addresses: Values, count: int) -> Values:
    """Addresses ``[W, count, 8]`` of the rows of matrices, of those ``[W, 32]`` that threads name.

    Threads 8i to 8i + 7 name the rows of matrix i; what the others name is of no account.
    """
    return addresses[:, : 8 * count].reshape(-1, count, 8)


def registers_of_rows(rows: Values, transposed: bool = False) -> Registers:
    """Registers that ``ldmatrix`` makes of loaded matrices ``[W, count, 8, 8]`` of uint16 (PTX ISA 9.7.14.5.15).

    Thread 4r + i holds elements 2i and 2i + 1 of row r, or of column r where ``transposed``.
    """
    held = np.ascontiguousarray(rows.swapaxes(2, 3) if transposed else rows).view(np.uint32)
    return list(held.reshape(len(rows), -1, 32).swapaxes(0, 1))


def rows_of_registers(registers: Sequence[NDArray[Any]], transposed: bool = False) -> Values:
    """Matrices ``[W, count, 8, 8]`` of uint16 that ``stmatrix`` stores (PTX ISA 9.7.14.5.16)."""
    rows = np.stack(registers, axis=1).view(np.uint16).reshape(-1, len(registers), 8, 8)
    return rows.swapaxes(2, 3) if transposed else rows

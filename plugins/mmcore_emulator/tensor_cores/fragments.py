"""Fragments: which thread of a warp holds which elements of a matrix, in which register.

A register operand of W warps is an array ``[W, 32]``: of uint32, or of float64 for ``.f64``. A matrix that they hold
together is an array ``[W, rows, columns]`` of raw elements, as they are stored: uint8 for 4 and 8 bits, uint16, uint32,
and float64 for ``.f64``. The layouts of ``mma``, ``ldmatrix`` and ``stmatrix`` are those of PTX ISA 9.7.14.5, of
``wgmma`` those of 9.7.15.5.1. PTX leaves those of ``wmma`` open: they are what NVRTC 13 makes of them for sm_80 and
sm_90.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.numerics.floats import Values, float8_values, from_bfloat16

Registers: TypeAlias = list[NDArray[Any]]
"""The registers of an operand, in the order in which PTX lists them: ``[W, 32]`` each."""

Matrix: TypeAlias = Literal["A", "B", "C"]
"""Which operand of D = A·B + C; D is held as C is."""

Shape: TypeAlias = tuple[int, int, int]
"""M, N and K of a product: A is M×K, B is K×N, C is M×N."""

BITS = {"s4": 4, "u4": 4} | {"s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8} | {"f16": 16, "bf16": 16}
BITS |= {"tf32": 32, "f32": 32, "s32": 32, "f64": 64}
"""Bits that an element of each type takes in a register."""

RAW: dict[int, type[np.generic]] = {4: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.float64}
"""What holds a raw element, by its bits."""

_TF32 = np.uint32(0xFFFFE000)
_FLOAT8 = {"e4m3": float8_values(exponent_bits=4), "e5m2": float8_values(exponent_bits=5)}
# Of two bytes: that at the lower address is the real part, which is the first float64 of a complex number.
_FLOAT8_PAIRS = {
    type: np.stack([np.tile(numbers, 256), np.repeat(numbers, 256)], axis=1).view(np.complex128)[:, 0]
    for type, numbers in _FLOAT8.items()
}


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
        rows, columns: digits of an element's row and column; ``parts`` are the last of one of them.
        matrices: digits of the matrix's number, where a warp holds several.

    A digit of a register that is in no row or column counts copies of the same elements; it is the first.
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
        """How many times each element is held, by the same thread."""
        return self._count(self._copied)

    @property
    def distinct(self) -> int:
        """How many registers are no copies of earlier ones: the first of them."""
        return self.register_count // self.copies

    def unpack(self, registers: Sequence[NDArray[Any]]) -> Values:
        """Raw elements ``[W, rows, columns]`` that registers hold: ``[W, threads]`` each; of copies, the first counts.

        Where a warp holds several matrices they are ``[W, matrices, rows, columns]``. The registers of a warpgroup may
        be ``[G, 4, 32]`` too.
        """
        held = np.stack(registers[: self.distinct], axis=1).reshape(-1, self.distinct * self.thread_count)
        lines = split_parts(np.take(held, self._places, axis=1), self.type).reshape(-1, *self._lines)
        return lines if self.along_rows else lines.swapaxes(-1, -2)

    def pack(self, raw: Values) -> Registers:
        """Registers ``[W, threads]`` that hold raw elements ``[W, rows, columns]``: what ``unpack`` was given."""
        lines = raw if self.along_rows else raw.swapaxes(-1, -2)
        words = join_parts(lines.reshape(-1, len(self._places), self._count(self.parts)), self.type)
        held = np.take(words, self._words, axis=1)
        return [held[:, register] for register in range(self.register_count)]

    @cached_property
    def coordinates(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Row and column of each element, ``[registers, threads, parts]`` each."""
        elements = np.arange(prod(self.shape)).reshape(self.shape)
        lines = np.broadcast_to(elements if self.along_rows else elements.T, self._lines)
        row, column = np.divmod(lines.reshape(-1, self._count(self.parts))[self._words], self.shape[1])
        return row, column

    @property
    def register_parts(self) -> int:
        """How many elements a register holds."""
        return self._count(self.parts)

    @property
    def along_rows(self) -> bool:
        """Whether the parts of a register are neighbours in a row of the matrix, not in a column."""
        return self.columns.endswith(self.parts)

    @cached_property
    def _lines(self) -> tuple[int, ...]:
        """The shape of the matrices of a warp; transposed, unless a register's parts are along rows."""
        return (*self._sizes(self.matrices), *(self.shape if self.along_rows else self.shape[::-1]))

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """For each word of the lines, its place among a warp's distinct registers."""
        held = self.registers.removeprefix(self._copied) + self.threads
        lines = self.rows + self.columns if self.along_rows else self.columns + self.rows
        order = [held.index(digit) for digit in self.matrices + lines.removesuffix(self.parts)]
        return np.arange(self.distinct * self.thread_count).reshape(self._sizes(held)).transpose(order).reshape(-1)

    @cached_property
    def _words(self) -> NDArray[np.intp]:
        """For each register ``[registers, threads]``, copies too, the word of the lines that it holds."""
        words = np.argsort(self._places).reshape(self.distinct, self.thread_count)
        return np.tile(words, (self.copies, 1))

    @property
    def _copied(self) -> str:
        return "".join(digit for digit in self.registers if digit not in self.rows + self.columns + self.matrices)

    def _count(self, digits: str) -> int:
        return prod(self._sizes(digits))

    def _sizes(self, digits: str) -> tuple[int, ...]:
        return tuple(self.sizes[digit] for digit in digits)


def split_parts(registers: Values, type: str) -> Values:
    """Raw elements ``[..., parts]`` of registers ``[...]``, the lowest bits first."""
    if BITS[type] >= 32:
        return registers[..., np.newaxis]
    raw = np.ascontiguousarray(registers)[..., np.newaxis].view(RAW[BITS[type]])
    return np.stack([raw & 15, raw >> 4], axis=-1).reshape(*registers.shape, 8) if BITS[type] == 4 else raw


def join_parts(raw: Values, type: str) -> Values:
    """Registers ``[...]`` of raw elements ``[..., parts]``: what ``split_parts`` was given."""
    if BITS[type] == 4:
        raw = raw[..., ::2] | (raw[..., 1::2] << 4)
    whole = np.float64 if BITS[type] == 64 else np.uint32
    return np.ascontiguousarray(raw).view(whole)[..., 0]


def values(raw: Values, type: str) -> Values:
    """The exact numbers that raw elements of a type stand for: float64, or int64 for types of whole numbers."""
    match type:
        case "e4m3" | "e5m2":
            return _of_float8(raw, type)
        case "s4":
            return ((raw << 4).view(np.int8) >> 4).astype(np.int64)
        case "s8" | "s32":
            return raw.view(f"i{raw.itemsize}").astype(np.int64)
        case "u4" | "u8":
            return raw.astype(np.int64)
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return _floats(raw, type).astype(np.float64)


def _of_float8(raw: Values, type: str) -> Values:
    """The same of 8-bit floats, two neighbours in memory at once, which is several times as fast."""
    contiguous = raw.flags.c_contiguous
    lines = np.ascontiguousarray(raw if contiguous else raw.swapaxes(-1, -2))
    if lines.size % 2:
        return _FLOAT8[type][raw]
    numbers = np.take(_FLOAT8_PAIRS[type], lines.reshape(-1).view(np.uint16)).view(np.float64).reshape(lines.shape)
    return numbers if contiguous else numbers.swapaxes(-1, -2)


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
        case "f64":
            return raw.view(np.float64)
        case _:
            return raw


def bits_of(numbers: Values, type: str) -> Values:
    """Return the raw elements of results: float16 for "f16", float32 for "f32", int32 for "s32", float64 for "f64".

    Results of float32 are rounded to float16.
    """
    if type == "f16":
        with np.errstate(over="ignore"):
            numbers = numbers.astype(np.float16, copy=False)
    return numbers if type == "f64" else np.ascontiguousarray(numbers).view(RAW[BITS[type]])


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
    def accumulator(self) -> str:
        """The type of the sums: float32 where C or D has it, which D is then rounded from."""
        return "f32" if "f32" in (self.c, self.d) else self.d

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


_WMMA_SHAPES: dict[str, tuple[Shape, ...]] = {
    **dict.fromkeys(("f16", "bf16", "s8", "u8"), ((16, 16, 16), (32, 8, 16), (8, 32, 16))),
    "tf32": ((16, 16, 8),),
    "f64": ((8, 8, 4),),
    **dict.fromkeys(("s4", "u4"), ((8, 8, 32),)),
}
"""Shapes of ``wmma`` for each type of A and B (PTX ISA 9.7.14.4)."""


@cache
def wmma_fragment(matrix: Matrix, shape: Shape, type: str) -> Fragment:
    """The fragment of ``wmma`` of a shape: of A or B of a type, or of C and D; the same for rows and columns in memory.

    It is what a thread holds of the ``mma`` that do the same: of m16n16k16 one fragment A of m16n8k16, two of B and
    two of C, of the left half before the right; of m32n8k16 two of A and of C, the upper before the lower; m8n32k16
    is m32n8k16 transposed, with B for A. Of f16, A and B always have eight registers: there each thread holds
    two or four copies of its elements, one behind the other.
    """
    m, n, k = shape
    if shape == (8, 32, 16):
        twin: dict[Matrix, Matrix] = {"A": "B", "B": "A", "C": "C"}
        held = wmma_fragment(twin[matrix], (32, 8, 16), type)
        return replace(held, rows=held.columns, columns=held.rows)
    sizes = {"g": 8, "t": 4, "i": max(m // 16, 1), "r": min(m // 8, 2), "j": n // 8}
    if matrix == "C":
        return _accumulator(type, sizes, "ijr", "gt", "irg")
    parts = max(32 // BITS[type], 1)
    sizes |= {"e": parts, "k": k // (4 * parts)}
    sizes["d"] = 8 * 32 * 2 // (k * (m if matrix == "A" else n)) if type == "f16" else 1
    if matrix == "A":
        return Fragment(type, sizes, "dikr", "gt", "e", "irg", "kte")
    return Fragment(type, sizes, "djk", "gt", "e", "kte", "jg")


@dataclass(frozen=True)
class WmmaKind(MmaKind):
    """What a ``wmma.mma`` multiplies: as ``MmaKind``, but held as ``wmma`` does."""

    def fragments(self) -> tuple[Fragment, Fragment, Fragment, Fragment]:
        """Of the operands, in the order in which they are written: D, A, B, C."""
        return (
            wmma_fragment("C", self.shape, self.d),
            wmma_fragment("A", self.shape, self.a),
            wmma_fragment("B", self.shape, self.b),
            wmma_fragment("C", self.shape, self.c),
        )


@cache
def wmma_mma_kind(opcode: tuple[str, ...]) -> WmmaKind | None:
    """What an opcode multiplies: ``("wmma", "mma", "sync", "aligned", "row", "col", "m16n16k16", "f32", "f32")``.

    Two types are those of D and C, and A and B are of f16; four are those of D, A, B and C. None for another
    instruction, and for single bits.
    """
    if opcode[:4] != ("wmma", "mma", "sync", "aligned"):
        return None
    plain, satfinite, rounding = _without_modifiers(opcode[4:])
    shape = shape_named(plain[2]) if len(plain) in (5, 7) else None
    if shape is None or not {plain[0], plain[1]} <= {"row", "col"}:
        return None
    d, *multiplied, c = plain[3:]
    a, b = multiplied or ("f16", "f16")
    kind = WmmaKind(shape, (plain[0], plain[1]), d, a, b, c, satfinite, rounding)
    return kind if _sound_types(kind) and a == b and shape in _WMMA_SHAPES.get(a, ()) else None


@dataclass(frozen=True)
class WmmaMove:
    """What a ``wmma.load`` loads, or a ``wmma.store`` stores.

    Attributes:
        matrix: "A", "B" or "C"; D is called "C".
        store: whether it is stored.
        layout: "row" where a row's elements lie side by side in memory, "col" where a column's do.
        shape: M, N and K of the product.
        space: "shared", "global" or "generic".
        type: of the elements.
    """

    matrix: Matrix
    store: bool
    layout: str
    shape: Shape
    space: str
    type: str

    @property
    def fragment(self) -> Fragment:
        """Of the registers that are loaded or stored."""
        return wmma_fragment(self.matrix, self.shape, self.type)

    @property
    def default_stride(self) -> int:
        """Elements from one row, or column, to the next where the instruction names no stride: none between them."""
        rows, columns = self.fragment.shape
        return columns if self.layout == "row" else rows

    @property
    def side_by_side(self) -> bool:
        """Whether the parts of each register are neighbours in memory, so that a register is a word there."""
        return bool(
            (self.offsets(self.default_stride)[..., 1:] - self.offsets(self.default_stride)[..., :-1] == 1).all()
        )

    def offsets(self, stride: int | NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Elements from the matrix's address to each of a thread's, ``[registers, W, 32, parts]``.

        ``stride``, from one row or column to the next, is one number (and then W is 1), or one for each warp ``[W]``.
        Only registers that are no copies have a place here. ``join_parts`` makes registers of what is loaded, and
        with copies they are ``[*join_parts(raw, type)] * fragment.copies``; of what is stored, ``split_parts`` makes
        elements. Of 4 bits, an element is half a byte.
        """
        row, column = (each[: self.fragment.distinct, np.newaxis] for each in self.fragment.coordinates)
        line, place = (row, column) if self.layout == "row" else (column, row)
        return np.asarray(line * np.reshape(stride, (-1, 1, 1)).astype(np.int64) + place)


@cache
def wmma_move(opcode: tuple[str, ...]) -> WmmaMove | None:
    """What an opcode moves: ``("wmma", "load", "a", "sync", "aligned", "row", "m16n16k16", "global", "f16")``.

    None for another instruction, and for single bits.
    """
    named = re.fullmatch(
        r"wmma\.(?:load\.([abc])|store\.d)\.sync\.aligned\.(row|col)\.(m\d+n\d+k\d+)"
        r"(?:\.(shared|global)(?:::cta)?)?\.(\w+)",
        ".".join(opcode),
    )
    shape = shape_named(named[3]) if named else None
    if named is None or shape is None:
        return None
    matrices: dict[str | None, Matrix] = {"a": "A", "b": "B", "c": "C", None: "C"}
    matrix, type = matrices[named[1]], named[5]
    multiplied = {a for a, sums in _SUMS.items() if type in sums} if matrix == "C" else {type}
    known = any(shape in _WMMA_SHAPES.get(a, ()) for a in multiplied)
    return WmmaMove(matrix, named[1] is None, named[2], shape, named[4] or "generic", type) if known else None


@cache
def wgmma_a(type: str) -> Fragment:
    """The fragment of A of ``wgmma`` from registers: 64 rows of 32 bytes, of which each warp has 16, as of ``mma``."""
    parts = 32 // BITS[type]
    return Fragment(type, {"w": 4, "g": 8, "t": 4, "k": 2, "r": 2, "e": parts}, "kr", "wgt", "e", "wrg", "kte")


@cache
def wgmma_d(n: int, type: str) -> Fragment:
    """The fragment of D of ``wgmma`` of N columns, of f32, f16 or s32: 64 rows, of which each warp has 16.

    Registers are N/2, or N/4 of f16. What a warpgroup holds are ``[G, 128]``, or ``[G, 4, 32]``.
    """
    return _accumulator(type, {"w": 4, "g": 8, "t": 4, "j": n // 8, "r": 2}, "jr", "wgt", "wrg")


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
    if opcode[1:3] != ("sync", "aligned") or opcode[0] not in ("ldmatrix", "stmatrix") or opcode[-1] != "b16":
        return None
    count, *rest = (each for each in opcode[3:-1] if each != "m8n8")
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

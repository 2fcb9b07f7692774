"""Fragments: the distribution of a matrix over the registers of a warp's threads.

A register operand of W warps is an array ``[W, 32]``: of uint32, or of float64 for ``.f64``. A matrix that they hold
together is an array ``[W, rows, columns]`` of raw elements, as they are stored. Their type is uint8 for 4 and 8 bits,
uint16, uint32, or float64 for ``.f64``. The layouts of ``mma``, ``ldmatrix`` and ``stmatrix`` are in PTX ISA 9.7.14.5,
those of ``wgmma`` in 9.7.15.5.1. PTX does not specify ``wmma``: its layouts are NVRTC 13's for sm_80 and sm_90.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from math import prod
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.numerics.types import Values
from mmcore_emulator.tensor_cores.elements import BITS, join_parts, split_parts

Registers: TypeAlias = list[NDArray[np.generic]]
"""The registers of an operand, in the order in which PTX lists them: ``[W, 32]`` each."""


@dataclass(frozen=True)
class Fragment:
    """The distribution of a matrix over the registers of a warp, or of a warpgroup.

    The position of an element among registers, threads and parts of a register is a number of several digits, and so is
    its row, and its column. They share their digits. A letter names each digit, and ``sizes`` has the number of its
    values. The letters are in the order of their weight, the heaviest first.

    Attributes:
        type: PTX type of the elements.
        sizes: number of values of each digit.
        registers, threads, parts: digits of the register's number, of the thread's, and of the element's place in it.
        rows, columns: digits of an element's row and column; ``parts`` are the last of one of them.
        matrices: digits of the matrix's number, if a warp holds several.

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
        """Bits of an element."""
        return BITS[self.type]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return self._count(self.rows), self._count(self.columns)

    @property
    def register_count(self) -> int:
        """Number of registers of each thread."""
        return self._count(self.registers)

    @property
    def thread_count(self) -> int:
        """Number of threads: 32 or 128."""
        return self._count(self.threads)

    @property
    def copies(self) -> int:
        """Number of copies of each element, all in the same thread."""
        return self._count(self._copied)

    @property
    def distinct(self) -> int:
        """Number of registers that are no copies; they come first."""
        return self.register_count // self.copies

    def unpack(self, registers: Sequence[NDArray[np.generic]]) -> Values:
        """Return the raw elements ``[W, rows, columns]`` of registers ``[W, threads]``; of copies, the first counts.

        If a warp holds several matrices, they are ``[W, matrices, rows, columns]``. The registers of a warpgroup may
        be ``[G, 4, 32]`` too.
        """
        held = np.stack(registers[: self.distinct], axis=1).reshape(-1, self.distinct * self.thread_count)
        lines = split_parts(np.take(held, self._places, axis=1), self.type).reshape(-1, *self._lines)
        return lines if self.along_rows else lines.swapaxes(-1, -2)

    def arranged(self, elements: Values) -> Values:
        """Return the matrices ``[W, rows, columns]`` of elements of any kind ``[W, registers, threads, parts]``."""
        held = elements[:, : self.distinct].reshape(len(elements), -1, elements.shape[-1])
        lines = np.take(held, self._places, axis=1).reshape(-1, *self._lines)
        return lines if self.along_rows else lines.swapaxes(-1, -2)

    def dealt(self, matrices: Values) -> Values:
        """Return elements of any kind ``[W, registers, threads, parts]`` of matrices: the inverse of ``arranged``."""
        lines = matrices if self.along_rows else matrices.swapaxes(-1, -2)
        words = lines.reshape(-1, len(self._places), self._count(self.parts))
        return np.take(words, self._words, axis=1)

    def pack(self, raw: Values) -> Registers:
        """Return the registers ``[W, threads]`` of raw elements ``[W, rows, columns]``: the inverse of ``unpack``."""
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
        """Number of elements in a register."""
        return self._count(self.parts)

    @property
    def along_rows(self) -> bool:
        """True if the parts of a register are neighbours in a row of the matrix, not in a column."""
        return self.columns.endswith(self.parts)

    @cached_property
    def _lines(self) -> tuple[int, ...]:
        """The shape of the matrices of a warp; transposed, unless a register's parts are along rows."""
        return (*self._sizes(self.matrices), *(self.shape if self.along_rows else self.shape[::-1]))

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """The place of each word of the lines among a warp's distinct registers."""
        held = self.registers.removeprefix(self._copied) + self.threads
        lines = self.rows + self.columns if self.along_rows else self.columns + self.rows
        order = [held.index(digit) for digit in self.matrices + lines.removesuffix(self.parts)]
        return np.arange(self.distinct * self.thread_count).reshape(self._sizes(held)).transpose(order).reshape(-1)

    @cached_property
    def _words(self) -> NDArray[np.intp]:
        """The word of the lines in each register ``[registers, threads]``, copies included."""
        words = np.argsort(self._places).reshape(self.distinct, self.thread_count)
        return np.tile(words, (self.copies, 1))

    @property
    def _copied(self) -> str:
        return "".join(digit for digit in self.registers if digit not in self.rows + self.columns + self.matrices)

    def _count(self, digits: str) -> int:
        return prod(self._sizes(digits))

    def _sizes(self, digits: str) -> tuple[int, ...]:
        return tuple(self.sizes[digit] for digit in digits)


Matrix: TypeAlias = Literal["A", "B", "C"]
"""An operand of D = A·B + C; D has the layout of C."""

Shape: TypeAlias = tuple[int, int, int]
"""M, N and K of a product: A is M×K, B is K×N, C is M×N."""


@cache
def fragment(matrix: Matrix, shape: Shape, type: str, layout: str = "") -> Fragment:
    """Return the fragment of A or B, or of C and D, of an ``mma.sync`` of a shape and type.

    ``layout``, "row" or "col", only matters to A and B of ``m8n8k4`` with f16, Volta's four products of quarters of a
    warp.
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
    """Return the fragment of C: a thread has two neighbours in a row, in two registers or in the halves of one."""
    wide = BITS[type] >= 32
    return Fragment(type, sizes | {"c": 2}, registers + "c" * wide, threads, "c" * (not wide), rows, "jtc")


def _of_quad_pairs(matrix: Matrix, type: str, layout: str) -> Fragment:
    """Return a fragment of m8n8k4 with f16: thread 16h + 4q + x belongs to product q (PTX ISA 9.7.14.5.1)."""
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


@cache
def wmma_fragment(matrix: Matrix, shape: Shape, type: str) -> Fragment:
    """Return the fragment of A or B, or of C and D, of a ``wmma`` of a shape and type, with any layout in memory.

    It consists of the fragments of equivalent ``mma``: m16n16k16 has one fragment A of m16n8k16, two of B and two of C,
    the left half first. m32n8k16 has two of A and of C, the upper half first. m8n32k16 is m32n8k16 transposed, with B
    for A. A and B of f16 always have eight registers: each thread holds two or four copies of its elements in turn.
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


@cache
def wgmma_a(type: str) -> Fragment:
    """Return the fragment of A of ``wgmma`` in registers: 64 rows of 32 bytes, 16 for each warp as in ``mma``."""
    parts = 32 // BITS[type]
    return Fragment(type, {"w": 4, "g": 8, "t": 4, "k": 2, "r": 2, "e": parts}, "kr", "wgt", "e", "wrg", "kte")


@cache
def wgmma_d(n: int, type: str) -> Fragment:
    """Return the fragment of D of ``wgmma`` of N columns, of f32, f16 or s32: 64 rows, 16 for each warp.

    There are N/2 registers, or N/4 of f16. A warpgroup's registers are ``[G, 128]``, or ``[G, 4, 32]``.
    """
    return _accumulator(type, {"w": 4, "g": 8, "t": 4, "j": n // 8, "r": 2}, "jr", "wgt", "wrg")

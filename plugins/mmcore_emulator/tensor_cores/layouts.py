"""Layouts of fragments: those of ``mma``, ``wmma`` and ``wgmma`` for each matrix, shape and type.

``mma`` is as in PTX ISA 9.7.14.5, ``wgmma`` as in 9.7.15.5.1. PTX leaves those of ``wmma`` open: they are what NVRTC 13
makes of them for sm_80 and sm_90.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Literal, TypeAlias

from mmcore_emulator.tensor_cores.elements import BITS
from mmcore_emulator.tensor_cores.fragments import Fragment

Matrix: TypeAlias = Literal["A", "B", "C"]
"""Which operand of D = A·B + C; D is held as C is."""

Shape: TypeAlias = tuple[int, int, int]
"""M, N and K of a product: A is M×K, B is K×N, C is M×N."""


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

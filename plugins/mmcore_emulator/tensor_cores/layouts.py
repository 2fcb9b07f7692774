"""Layouts of the fragments of ``mma``, ``wmma`` and ``wgmma`` for each matrix, shape and type.

``mma`` is as in PTX ISA 9.7.14.5, ``wgmma`` as in 9.7.15.5.1. PTX does not specify ``wmma``; its
layouts are the ones that NVRTC 13 uses for sm_80 and sm_90.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Literal, TypeAlias

from mmcore_emulator.tensor_cores.elements import BITS
from mmcore_emulator.tensor_cores.fragments import Fragment

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

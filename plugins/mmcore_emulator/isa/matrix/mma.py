"""``mma.sync``: products of matrices that a warp holds in registers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeAlias

import numpy as np

from mmcore_emulator.isa.entries import (
    Capability,
    Effect,
    Entry,
    Execute,
    Family,
    MatrixProduct,
    Opcode,
    OperandSpec,
    Run,
)
from mmcore_emulator.machine.machine import Execution
from mmcore_emulator.machine.warps import PerWarp
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.tensor_cores.arithmetic import Arithmetic, arithmetic_of
from mmcore_emulator.tensor_cores.elements import bits_of, values
from mmcore_emulator.tensor_cores.fragments import Fragment, Matrix, Shape, fragment
from mmcore_emulator.tensor_cores.summation import multiply_add

Multiply: TypeAlias = Callable[[Values, Values, Values], Values]
"""Maps the numbers of A ``[W, M, K]``, B ``[W, K, N]`` and C ``[W, M, N]`` to those of D."""


@dataclass(frozen=True)
class MmaKind:
    """One form of ``mma.sync``."""

    shape: Shape  # M, N and K
    layouts: tuple[str, str]  # of A and of B, "row" or "col"
    # Types of elements.
    d: str
    a: str
    b: str
    c: str
    satfinite: bool = False  # whether a sum of whole numbers stops at the limits of s32 instead of wrapping around
    rounding: str = "rn"  # of f64: "rn", "rz", "rm" or "rp"

    def fragments(self) -> tuple[Fragment, Fragment, Fragment, Fragment]:
        """Return the fragments of the operands in the order in which they are written: D, A, B, C."""
        row, col = self.layouts
        return self.held("C", self.d), self.held("A", self.a, row), self.held("B", self.b, col), self.held("C", self.c)

    def held(self, matrix: Matrix, type: str, layout: str = "") -> Fragment:
        """Return the fragment of one operand."""
        return fragment(matrix, self.shape, type, layout)

    @property
    def accumulator(self) -> str:
        """The type of the sums: float32 if C or D has it; D is rounded from that."""
        return "f32" if "f32" in (self.c, self.d) else self.d


_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)")
_SUMS = (2,)  # of the operands A, B and C
_ROUNDINGS = frozenset({"rn", "rz", "rm", "rp"})
_INTEGERS = (frozenset({"s8", "u8"}), frozenset({"s4", "u4"}))
_FLOATS8 = frozenset({"e4m3", "e5m2"})
SUMS: dict[str, tuple[str, ...]] = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "f64": ("f64",)}
SUMS |= dict.fromkeys(("e4m3", "e5m2"), ("f16", "f32")) | dict.fromkeys(("s8", "u8", "s4", "u4"), ("s32",))

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
    """Return M, N and K of a shape as PTX writes it, "m16n8k16"; None for any other text."""
    match = _SHAPE.fullmatch(name)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


@cache
def mma_kind(opcode: tuple[str, ...]) -> MmaKind | None:
    """Return the form of ``("mma", "sync", "aligned", "m16n8k16", "row", "col", "f32", "f16", "f16", "f32")``.

    None for another instruction, and for unsupported ones: single bits, sparse and scaled matrices, ``.kind::``.
    """
    if opcode[:3] != ("mma", "sync", "aligned"):
        return None
    plain, satfinite, rounding = without_modifiers(opcode[3:])
    shape = shape_named(plain[0]) if len(plain) == 7 else None
    if shape is None or not {plain[1], plain[2]} <= {"row", "col"}:
        return None
    d, a, b, c = plain[3:]
    kind = MmaKind(shape, (plain[1], plain[2]), d, a, b, c, satfinite, rounding)
    known = sound_types(kind) and shape in _MMA_SHAPES[kind.a]
    volta = kind.a == "f16" and shape == (8, 8, 4)
    return kind if known and (volta or kind.layouts == ("row", "col")) else None


def without_modifiers(parts: tuple[str, ...]) -> tuple[tuple[str, ...], bool, str]:
    """Return the parts of an opcode without ``.satfinite`` and rounding, and these two."""
    plain = tuple(part for part in parts if part != "satfinite" and part not in _ROUNDINGS)
    return plain, "satfinite" in parts, next((part for part in parts if part in _ROUNDINGS), "rn")


def sound_types(kind: MmaKind) -> bool:
    """Return True if A and B may be multiplied, and summed in C and D."""
    alike = kind.a == kind.b or any({kind.a, kind.b} <= types for types in (*_INTEGERS, _FLOATS8))
    return alike and {kind.c, kind.d} <= set(SUMS.get(kind.a, ()))


def product(kind: MmaKind, k: int) -> Execute:
    """Return the semantics of a product whose sums have at most ``k`` terms in one step."""

    def arithmetic(capability: Capability) -> Arithmetic:
        types = kind.a, kind.b, kind.accumulator
        return arithmetic_of(capability, "mma", *types, k, c_type=kind.c, saturate=kind.satfinite)

    def bound(capability: Capability) -> Run:
        return partial(_multiplied, kind, partial(multiply_add, arithmetic=arithmetic(capability)))

    return Execute(None, _operands(kind), bound=bound, product=MatrixProduct(kind, arithmetic), sums=_SUMS)


def exact_product(kind: MmaKind, multiply: Multiply) -> Execute:
    """Return the semantics of a product that ``multiply`` computes on every compute capability."""
    return Execute(partial(_multiplied, kind, multiply), _operands(kind), sums=_SUMS)


def _operands(kind: MmaKind) -> tuple[OperandSpec, ...]:
    """Return the operands of a product: D, A, B, C."""
    roles = ("result", "source", "source", "source")
    return tuple(
        OperandSpec(role, register_type(held), held.register_count)
        for role, held in zip(roles, kind.fragments(), strict=True)
    )


def register_type(fragment: Fragment) -> str:
    """Return the PTX type of the registers that hold a fragment."""
    return "f64" if fragment.bits == 64 else "b32"


def _multiplied(kind: MmaKind, multiply: Multiply, execution: Execution, *operands: list[Values]) -> list[Values]:
    machine, mask, _ = execution
    d, *fragments = kind.fragments()
    ends = np.cumsum([len(each) for each in operands])

    def compute(taking: PerWarp, *rows: PerWarp) -> list[PerWarp]:
        active = np.asarray(taking.any(axis=1))
        active_rows = rows if active.all() else [each[active] for each in rows]
        a, b, c = (
            values(fragment.unpack(active_rows[end - len(each) : end]), type)
            for fragment, each, end, type in zip(fragments, operands, ends, (kind.a, kind.b, kind.c), strict=True)
        )
        made = d.pack(bits_of(multiply(a, b, c), kind.d))
        return made if active.all() else [_spread(each, active) for each in made]

    together: list[Values] = machine.warps.together(compute, [each for operand in operands for each in operand], mask)
    return together


def _spread(rows: PerWarp, active: PerWarp) -> PerWarp:
    """Return the rows of some warps among the rows of all warps, with zeros elsewhere."""
    every = np.zeros((len(active), rows.shape[1]), rows.dtype)
    every[active] = rows
    return every


def _build(opcode: Opcode) -> Execute | None:
    kind = mma_kind(opcode)
    return product(kind, kind.shape[2]) if kind else None


PRODUCT = Effect("product", members="all")
FAMILY = Family(
    "Products of matrices of a warp",
    (Entry("mma", _build, effect=PRODUCT),),
    since=(
        ((9, 0), r"mma\..*\.m16n8k\d+\..*f64.*"),
        ((8, 9), r"mma\..*\.e[45]m[23]\..*"),
        ((8, 0), r"mma\..*\.(bf16|tf32|f64)(\..*)?|mma\..*\.(m16n8k16\..*|m16n8k(32|64|128|256)\..*)"),
    ),
    proof="product",
)

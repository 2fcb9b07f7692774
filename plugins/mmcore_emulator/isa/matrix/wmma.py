"""``wmma``: fragments that a warp loads, multiplies and stores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from mmcore_emulator.isa.entries import CLUSTER_SPACE, Effect, Entry, Execute, Family, Opcode, OperandSpec
from mmcore_emulator.isa.matrix.mma import (
    PRODUCT,
    SUMS,
    MmaKind,
    exact_product,
    product,
    register_type,
    shape_named,
    sound_types,
    without_modifiers,
)
from mmcore_emulator.machine.machine import Execution, Machine
from mmcore_emulator.numerics.types import DType, Integers, Values
from mmcore_emulator.tensor_cores.arithmetic import Arithmetic
from mmcore_emulator.tensor_cores.elements import BITS, join_parts, split_parts
from mmcore_emulator.tensor_cores.fragments import Fragment, Matrix, Shape, wmma_fragment
from mmcore_emulator.tensor_cores.summation import multiply_add

_WMMA_SHAPES: dict[str, tuple[Shape, ...]] = {
    **dict.fromkeys(("f16", "bf16", "s8", "u8"), ((16, 16, 16), (32, 8, 16), (8, 32, 16))),
    "tf32": ((16, 16, 8),),
    "f64": ((8, 8, 4),),
    **dict.fromkeys(("s4", "u4"), ((8, 8, 32),)),
    "b1": ((8, 8, 128),),
}
"""Shapes of ``wmma`` for each type of A and B (PTX ISA 9.7.14.4)."""
_SUMS = SUMS | {"b1": ("s32",)}
_BIT_PRODUCT = re.compile(r"wmma\.mma\.(and|xor)\.popc\.sync\.aligned\.row\.col\.m8n8k128\.s32\.b1\.b1\.s32")


@dataclass(frozen=True)
class WmmaKind(MmaKind):
    """One form of ``wmma.mma``: an ``MmaKind`` with the fragments of ``wmma``."""

    def held(self, matrix: Matrix, type: str, layout: str = "") -> Fragment:
        """Return the fragment of one operand, which is the same for every layout."""
        return wmma_fragment(matrix, self.shape, type)


@cache
def wmma_mma_kind(opcode: tuple[str, ...]) -> WmmaKind | None:
    """Return the form of ``("wmma", "mma", "sync", "aligned", "row", "col", "m16n16k16", "f32", "f32")``.

    Two types are the types of D and C, with A and B of f16; four are the types of D, A, B and C. None for another
    instruction.
    """
    if _BIT_PRODUCT.fullmatch(".".join(opcode)):
        return WmmaKind((8, 8, 128), ("row", "col"), "s32", "b1", "b1", "s32")
    if opcode[:4] != ("wmma", "mma", "sync", "aligned"):
        return None
    plain, satfinite, rounding = without_modifiers(opcode[4:])
    shape = shape_named(plain[2]) if len(plain) in (5, 7) else None
    if shape is None or not {plain[0], plain[1]} <= {"row", "col"}:
        return None
    d, *multiplied, c = plain[3:]
    a, b = multiplied or ("f16", "f16")
    kind = WmmaKind(shape, (plain[0], plain[1]), d, a, b, c, satfinite, rounding)
    return kind if sound_types(kind) and a == b and shape in _WMMA_SHAPES.get(a, ()) else None


@dataclass(frozen=True)
class WmmaMove:
    """The matrix of a ``wmma.load`` or ``wmma.store``."""

    matrix: Matrix  # "A", "B" or "C"; D is called "C"
    store: bool  # true for a store
    layout: str  # "row" if a row's elements are consecutive in memory, "col" if a column's are
    shape: Shape  # M, N and K of the product
    space: str  # "shared", "global" or "generic"
    type: str  # of the elements

    @property
    def fragment(self) -> Fragment:
        """The fragment of the registers."""
        return wmma_fragment(self.matrix, self.shape, self.type)

    @property
    def default_stride(self) -> int:
        """The stride, in elements, of an instruction that names none: rows or columns without gaps."""
        rows, columns = self.fragment.shape
        return columns if self.layout == "row" else rows

    @property
    def side_by_side(self) -> bool:
        """True if the parts of each register are neighbours in memory, so that a register is a word there."""
        return bool((np.diff(self.offsets(self.default_stride)) == 1).all())

    def offsets(self, stride: int | Integers) -> Integers:
        """Return the offset in elements of each of a thread's elements, ``[registers, W, 32, parts]``.

        ``stride``, from one row or column to the next, is one number (and then W is 1), or one for each warp ``[W]``.
        Registers that are copies of others are left out.
        """
        row, column = (each[: self.fragment.distinct, np.newaxis] for each in self.fragment.coordinates)
        line, place = (row, column) if self.layout == "row" else (column, row)
        return np.asarray(line * np.reshape(stride, (-1, 1, 1)).astype(np.int64) + place)


@cache
def wmma_move(opcode: tuple[str, ...]) -> WmmaMove | None:
    """Return the matrix of ``("wmma", "load", "a", "sync", "aligned", "row", "m16n16k16", "global", "f16")``.

    None for another instruction.
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
    if BITS.get(type, 0) < 8 and named[2] != {"A": "row", "B": "col"}.get(matrix):
        return None
    return WmmaMove(matrix, named[1] is None, named[2], shape, named[4] or "generic", type) if known else None


def _fragment_move(opcode: Opcode) -> Execute | None:
    """Return the semantics of ``wmma.load`` or ``wmma.store``."""
    move = wmma_move(opcode)
    if move is None:
        return None
    fragment = move.fragment
    registers = OperandSpec("source" if move.store else "result", register_type(fragment), fragment.register_count)
    address, stride = OperandSpec("address"), OperandSpec("source", "u32")
    run, order = (_store_fragment, (address, registers)) if move.store else (_load_fragment, (registers, address))
    moves, stores = ((1,), move.space) if move.store else ((), "")
    return Execute(partial(run, move), (*order, stride), required=2, moves=moves, stores=stores)


def _element(move: WmmaMove) -> tuple[DType, int]:
    """Return the type of one access, and the number of accesses for a register."""
    bits, parts = move.fragment.bits, max(1, 32 // move.fragment.bits)
    if move.side_by_side:
        return np.dtype(np.float64 if bits == 64 else np.uint32), 1
    return np.dtype(f"u{bits // 8}"), parts


def _addresses(move: WmmaMove, machine: Machine, address: Values, stride: list[Values]) -> list[Values]:
    """Return the address of every access, register by register."""
    varies = bool(stride) and stride[0].size > 1
    one = int(stride[0].flat[0]) if stride else move.default_stride
    offsets = move.offsets(machine.warps.rows(stride[0])[:, 0] if varies else one)
    _, parts = _element(move)
    addresses = []
    for register in offsets * move.fragment.bits // 8:
        for part in range(parts):
            rows = np.broadcast_to(register[:, :, part], (machine.warps.count, register.shape[1]))
            addresses.append(address + machine.warps.lanes(rows).astype(np.uint64))
    return addresses


def _load_fragment(move: WmmaMove, execution: Execution, address: list[Values], *stride: list[Values]) -> list[Values]:
    machine, mask, at = execution
    dtype, parts = _element(move)
    given_stride = stride[0] if stride else []
    loaded = [
        machine.memory.load(move.space, each, dtype, 1, mask, at)[0]
        for each in _addresses(move, machine, address[0], given_stride)
    ]
    if parts > 1:
        grouped = [loaded[start : start + parts] for start in range(0, len(loaded), parts)]
        loaded = [join_parts(np.stack(np.broadcast_arrays(*each), axis=-1), move.type) for each in grouped]
    return loaded * move.fragment.copies


def _store_fragment(
    move: WmmaMove, execution: Execution, address: list[Values], registers: list[Values], *stride: list[Values]
) -> Sequence[Values]:
    machine, mask, at = execution
    dtype, parts = _element(move)
    held = registers[: move.fragment.distinct]
    if parts > 1:
        split = [split_parts(np.broadcast_to(each, machine.warps.place.shape), move.type) for each in held]
        held = [each[..., part] for each in split for part in range(parts)]
    for each, value in zip(_addresses(move, machine, address[0], stride[0] if stride else []), held, strict=True):
        machine.memory.store(move.space, each, [value], dtype, mask, at)
    return ()


def _product(opcode: Opcode) -> Execute | None:
    kind = wmma_mma_kind(opcode)
    if kind and kind.a == "b1":
        return exact_product(kind, _and_popc if opcode[2] == "and" else _xor_popc)
    # Products of tf32 are two steps each, found on an H200.
    return product(kind, 4 if kind.a == "tf32" else kind.shape[2]) if kind else None


def _and_popc(a: Values, b: Values, c: Values) -> Values:
    return multiply_add(a, b, c, Arithmetic("s32"))


def _xor_popc(a: Values, b: Values, c: Values) -> Values:
    """Count the bits that differ between A and B."""
    return _and_popc(np.concatenate((a, 1 - a), axis=-1), np.concatenate((1 - b, b), axis=-2), c)


_LOADS, _STORES = (Effect("fragment move", verb, verb == "writes", members="all") for verb in ("reads", "writes"))
FAMILY = Family(
    "Fragments of a warp",
    (
        Entry("wmma.mma", _product, r"wmma\.mma\..*", PRODUCT),
        Entry("wmma.load", _fragment_move, r"wmma\.load\..*", _LOADS),
        Entry("wmma.store", _fragment_move, r"wmma\.store\..*", _STORES),
    ),
    since=(((8, 0), r"wmma\..*\.(bf16|tf32|f64)(\..*)?|wmma\.mma\.and\..*"), CLUSTER_SPACE),
    proof="product; moves: loads and stores",
)

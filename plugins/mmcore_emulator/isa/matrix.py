"""Instructions with which a warp moves and multiplies matrices: mma, ldmatrix, stmatrix and wmma."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mmcore_emulator.isa.entries import (
    CLUSTER_SPACE,
    Capability,
    Effect,
    Entry,
    Execute,
    Family,
    Opcode,
    OperandSpec,
    Run,
    of_opcode,
)
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Machine
from mmcore_emulator.machine.warps import PerWarp
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.tensor_cores.arithmetic import Arithmetic, arithmetic_of, multiply_add
from mmcore_emulator.tensor_cores.fragments import (
    Fragment,
    MatrixMove,
    MmaKind,
    WmmaKind,
    WmmaMove,
    bits_of,
    join_parts,
    matrix_move,
    mma_kind,
    registers_of_rows,
    rows_of_registers,
    split_parts,
    values,
    wmma_mma_kind,
    wmma_move,
)

_WORD = np.dtype(np.uint32)


def _product(opcode: Opcode) -> Execute | None:
    """``mma.sync`` and ``wmma.mma``."""
    kind = mma_kind(opcode) or wmma_mma_kind(opcode)
    if kind is None:
        return None
    d, *fragments = kind.fragments()
    sources = [OperandSpec("source", _register(each), each.register_count) for each in fragments]
    result = OperandSpec("result", _register(d), d.register_count)
    return Execute(None, (result, *sources), bound=partial(_multiply, kind))


def _multiply(kind: MmaKind | WmmaKind, capability: Capability) -> Run:
    # Products of tf32 with wmma are two steps each, found on an H200.
    k = 4 if isinstance(kind, WmmaKind) and kind.a == "tf32" else kind.shape[2]
    arithmetic = arithmetic_of(
        capability, "mma", kind.a, kind.b, kind.accumulator, k, c_type=kind.c, saturate=kind.satfinite
    )
    return partial(_multiplied, kind, arithmetic)


def _transposed(machine: Machine, mask: Mask | None, at: Instruction, register: list[Values]) -> list[Values]:
    """A matrix of 8×8 in the registers of a warp, and the same with rows for columns."""

    def transpose(taking: PerWarp, *rows: PerWarp) -> list[PerWarp]:
        return registers_of_rows(np.ascontiguousarray(rows_of_registers(rows)), transposed=True)

    transposed: list[Values] = machine.warps.together(transpose, register, mask)
    return transposed


def _register(fragment: Fragment) -> str:
    return "f64" if fragment.bits == 64 else "b32"


def _multiplied(
    kind: MmaKind, arithmetic: Arithmetic, machine: Machine, mask: Mask | None, at: Instruction, *operands: list[Values]
) -> list[Values]:
    d, *fragments = kind.fragments()
    ends = np.cumsum([len(each) for each in operands])

    def compute(taking: PerWarp, *rows: PerWarp) -> list[PerWarp]:
        here = np.asarray(taking.any(axis=1))
        own = rows if here.all() else [each[here] for each in rows]
        a, b, c = (
            values(fragment.unpack(own[end - len(each) : end]), type)
            for fragment, each, end, type in zip(fragments, operands, ends, (kind.a, kind.b, kind.c), strict=True)
        )
        made = d.pack(bits_of(multiply_add(a, b, c, arithmetic), kind.d))
        return made if here.all() else [_spread(each, here) for each in made]

    together: list[Values] = machine.warps.together(compute, [each for operand in operands for each in operand], mask)
    return together


def _spread(rows: PerWarp, here: PerWarp) -> PerWarp:
    """Rows of some warps among those of all, zeros elsewhere."""
    every = np.zeros((len(here), rows.shape[1]), rows.dtype)
    every[here] = rows
    return every


def _matrices(opcode: Opcode) -> Execute | None:
    """``ldmatrix`` and ``stmatrix``."""
    move, store = matrix_move(opcode), opcode[0] == "stmatrix"
    if move is None:
        return None
    address, registers = OperandSpec("address"), OperandSpec("source" if store else "result", count=move.count)
    if store:
        return Execute(partial(_store_matrices, move), (address, registers))
    return Execute(partial(_load_matrices, move), (registers, address))


def _load_matrices(
    move: MatrixMove, machine: Machine, mask: Mask | None, at: Instruction, address: list[Values]
) -> Sequence[Values]:
    """Each thread of those that name rows loads 16 bytes, which are then dealt out."""
    naming = machine.batch.narrow(mask, machine.special("%laneid") < np.uint32(8 * move.count))
    words = machine.memory.load(move.space, address[0], _WORD, 4, naming, at)

    def deal(taking: PerWarp, *rows: PerWarp) -> list[PerWarp]:
        lines = np.stack(rows, axis=2)[:, : 8 * move.count].reshape(len(taking), move.count, 8, 4)
        return registers_of_rows(lines.view(np.uint16), move.transposed)

    dealt: Sequence[Values] = machine.warps.together(deal, words, mask)
    return dealt


def _store_matrices(
    move: MatrixMove,
    machine: Machine,
    mask: Mask | None,
    at: Instruction,
    address: list[Values],
    registers: list[Values],
) -> Sequence[Values]:
    def collect(taking: PerWarp, *rows: PerWarp) -> list[PerWarp]:
        lines = np.ascontiguousarray(rows_of_registers(rows, move.transposed)).view(np.uint32)
        every = np.zeros((len(taking), 32, 4), np.uint32)
        every[:, : 8 * move.count] = lines.reshape(len(taking), -1, 4)
        return [every[:, :, word] for word in range(4)]

    words = machine.warps.together(collect, registers, mask)
    naming = machine.batch.narrow(mask, machine.special("%laneid") < np.uint32(8 * move.count))
    machine.memory.store(move.space, address[0], words, _WORD, naming, at)
    return ()


def _fragment_move(opcode: Opcode) -> Execute | None:
    """``wmma.load`` and ``wmma.store``."""
    move = wmma_move(opcode)
    if move is None:
        return None
    fragment = move.fragment
    registers = OperandSpec("source" if move.store else "result", _register(fragment), fragment.register_count)
    address, stride = OperandSpec("address"), OperandSpec("source", "u32")
    if move.store:
        return Execute(partial(_store_fragment, move), (address, registers, stride), required=2)
    return Execute(partial(_load_fragment, move), (registers, address, stride), required=2)


def _element(move: WmmaMove) -> tuple[np.dtype[Any], int]:
    """What is moved at a time, and how many of these a register is made of."""
    bits, parts = move.fragment.bits, max(1, 32 // move.fragment.bits)
    if move.side_by_side:
        return np.dtype(np.float64) if bits == 64 else _WORD, 1
    return np.dtype(f"u{bits // 8}"), parts


def _addresses(move: WmmaMove, machine: Machine, address: Values, stride: list[Values]) -> list[Values]:
    """Of every element that is moved, register by register."""
    if stride and stride[0].size > 1:
        offsets = move.offsets(machine.warps.rows(stride[0])[:, 0])
    else:
        offsets = move.offsets(int(stride[0].item()) if stride else move.default_stride)
    _, parts = _element(move)
    found = []
    for register in offsets * move.fragment.bits // 8:
        for part in range(parts):
            rows = np.broadcast_to(register[:, :, part], (machine.warps.count, register.shape[1]))
            found.append(address + machine.warps.lanes(rows).astype(np.uint64))
    return found


def _load_fragment(
    move: WmmaMove, machine: Machine, mask: Mask | None, at: Instruction, address: list[Values], *stride: list[Values]
) -> list[Values]:
    dtype, parts = _element(move)
    given = stride[0] if stride else []
    loaded = [
        machine.memory.load(move.space, each, dtype, 1, mask, at)[0]
        for each in _addresses(move, machine, address[0], given)
    ]
    if parts > 1:
        grouped = [loaded[start : start + parts] for start in range(0, len(loaded), parts)]
        loaded = [join_parts(np.stack(np.broadcast_arrays(*each), axis=-1), move.type) for each in grouped]
    return loaded * move.fragment.copies


def _store_fragment(
    move: WmmaMove,
    machine: Machine,
    mask: Mask | None,
    at: Instruction,
    address: list[Values],
    registers: list[Values],
    *stride: list[Values],
) -> Sequence[Values]:
    dtype, parts = _element(move)
    held = registers[: move.fragment.distinct]
    if parts > 1:
        split = [split_parts(np.broadcast_to(each, machine.warps.place.shape), move.type) for each in held]
        held = [each[..., part] for each in split for part in range(parts)]
    for each, value in zip(_addresses(move, machine, address[0], stride[0] if stride else []), held, strict=True):
        machine.memory.store(move.space, each, [value], dtype, mask, at)
    return ()


_WARP = Effect("product", members="all")
FAMILY = Family(
    "Matrices of a warp",
    (
        Entry("mma", of_opcode(_product), effect=_WARP),
        Entry("wmma.mma", of_opcode(_product), r"wmma\.mma\..*", _WARP),
        Entry(
            "wmma.load", of_opcode(_fragment_move), r"wmma\.load\..*", Effect("fragment move", "reads", members="all")
        ),
        Entry(
            "wmma.store",
            of_opcode(_fragment_move),
            r"wmma\.store\..*",
            Effect("fragment move", "writes", True, members="all"),
        ),
        Entry("ldmatrix", of_opcode(_matrices), effect=Effect("matrix move", "reads", members="all", step="ldmatrix")),
        Entry(
            "stmatrix",
            of_opcode(_matrices),
            effect=Effect("matrix move", "writes", True, members="all", step="stmatrix"),
        ),
        Entry(
            "movmatrix",
            of_opcode(lambda opcode: Execute(_transposed, (OperandSpec("result"), OperandSpec("source")))),
            r"movmatrix\.sync\.aligned\.m8n8\.trans\.b16",
            Effect(members="all"),
        ),
    ),
    since=(
        ((9, 0), r"stmatrix\..*|mma\..*\.m16n8k\d+\..*f64.*"),
        ((8, 9), r"mma\..*\.e[45]m[23]\..*"),
        ((8, 0), r"(mma|wmma)\..*\.(bf16|tf32|f64)(\..*)?|mma\..*\.(m16n8k16\..*|m16n8k(32|64|128|256)\..*)"),
        CLUSTER_SPACE,
    ),
)

"""``ldmatrix``, ``stmatrix`` and ``movmatrix``: matrices of 8×8 that a warp moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.isa.entries import CLUSTER_SPACE, Effect, Entry, Execute, Family, Opcode, OperandSpec
from mmcore_emulator.machine.machine import Execution
from mmcore_emulator.machine.warps import PerWarp
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.tensor_cores.fragments import Registers

_WORD = np.dtype(np.uint32)


@dataclass(frozen=True)
class MatrixMove:
    """The matrices of an ``ldmatrix`` or ``stmatrix``, each of 8 rows of 8 halfwords."""

    count: int  # of matrices, and of registers
    transposed: bool  # whether a thread holds neighbours in a column
    space: str  # "shared", or "generic" where the opcode does not say


@cache
def matrix_move(opcode: tuple[str, ...]) -> MatrixMove | None:
    """Return the matrices of ``("ldmatrix", "sync", "aligned", "m8n8", "x4", "trans", "shared", "b16")``.

    None for another instruction, and for the shapes of sm_100.
    """
    if opcode[1:3] != ("sync", "aligned") or opcode[0] not in ("ldmatrix", "stmatrix") or opcode[-1] != "b16":
        return None
    count, *rest = (each for each in opcode[3:-1] if each != "m8n8")
    transposed, space = "trans" in rest, "shared" if {"shared", "shared::cta"} & set(rest) else "generic"
    known = count in ("x1", "x2", "x4") and set(rest) <= {"trans", "shared", "shared::cta"}
    return MatrixMove(int(count[1:]), transposed, space) if known else None


def registers_of_rows(rows: Values, transposed: bool = False) -> Registers:
    """Return the registers of matrices ``[W, count, 8, 8]`` of uint16 that ``ldmatrix`` loads (PTX ISA 9.7.14.5.15).

    Thread 4r + i holds elements 2i and 2i + 1 of row r, or of column r if ``transposed``.
    """
    held = np.ascontiguousarray(rows.swapaxes(2, 3) if transposed else rows).view(np.uint32)
    return list(held.reshape(len(rows), -1, 32).swapaxes(0, 1))


def rows_of_registers(registers: Sequence[NDArray[np.generic]], transposed: bool = False) -> Values:
    """Return the matrices ``[W, count, 8, 8]`` of uint16 that ``stmatrix`` stores (PTX ISA 9.7.14.5.16)."""
    rows = np.stack(registers, axis=1).view(np.uint16).reshape(-1, len(registers), 8, 8)
    return rows.swapaxes(2, 3) if transposed else rows


def _matrices(opcode: Opcode) -> Execute | None:
    """Return the semantics of ``ldmatrix`` or ``stmatrix``."""
    move, store = matrix_move(opcode), opcode[0] == "stmatrix"
    if move is None:
        return None
    address, registers = OperandSpec("address"), OperandSpec("source" if store else "result", count=move.count)
    if store:
        return Execute(partial(_store_matrices, move), (address, registers), moves=(1,))
    return Execute(partial(_load_matrices, move), (registers, address), moves=())


def _load_matrices(move: MatrixMove, execution: Execution, address: list[Values]) -> Sequence[Values]:
    """Load 16 bytes by each thread that names a row, and distribute them over the warp."""
    machine, mask, at = execution
    naming = machine.batch.narrow(mask, machine.special("%laneid") < np.uint32(8 * move.count))
    words = machine.memory.load(move.space, address[0], _WORD, 4, naming, at)

    def deal(taking: PerWarp, *rows: PerWarp) -> list[PerWarp]:
        lines = np.stack(rows, axis=2)[:, : 8 * move.count].reshape(len(taking), move.count, 8, 4)
        return registers_of_rows(lines.view(np.uint16), move.transposed)

    dealt: Sequence[Values] = machine.warps.together(deal, words, mask)
    return dealt


def _store_matrices(
    move: MatrixMove, execution: Execution, address: list[Values], registers: list[Values]
) -> Sequence[Values]:
    machine, mask, at = execution

    def collect(taking: PerWarp, *rows: PerWarp) -> list[PerWarp]:
        lines = np.ascontiguousarray(rows_of_registers(rows, move.transposed)).view(np.uint32)
        every = np.zeros((len(taking), 32, 4), np.uint32)
        every[:, : 8 * move.count] = lines.reshape(len(taking), -1, 4)
        return [every[:, :, word] for word in range(4)]

    words = machine.warps.together(collect, registers, mask)
    naming = machine.batch.narrow(mask, machine.special("%laneid") < np.uint32(8 * move.count))
    machine.memory.store(move.space, address[0], words, _WORD, naming, at)
    return ()


def _transpose(execution: Execution, register: list[Values]) -> list[Values]:
    """Transpose a matrix of 8×8 in the registers of a warp."""
    machine, mask, _ = execution

    def transpose(taking: PerWarp, *rows: PerWarp) -> list[PerWarp]:
        return registers_of_rows(np.ascontiguousarray(rows_of_registers(rows)), transposed=True)

    transposed: list[Values] = machine.warps.together(transpose, register, mask)
    return transposed


def _move_effect(name: str, verb: str) -> Effect:
    return Effect("matrix move", verb, verb == "writes", members="all", step=name)


_TRANSPOSED = Execute(_transpose, (OperandSpec("result"), OperandSpec("source")), moves=(0,))
FAMILY = Family(
    "Matrices that a warp moves",
    (
        Entry("ldmatrix", _matrices, effect=_move_effect("ldmatrix", "reads")),
        Entry("stmatrix", _matrices, effect=_move_effect("stmatrix", "writes")),
        Entry("movmatrix", _TRANSPOSED, r"movmatrix\.sync\.aligned\.m8n8\.trans\.b16", Effect(members="all")),
    ),
    since=(((9, 0), r"stmatrix\..*"), CLUSTER_SPACE),
    proof="moves",
)

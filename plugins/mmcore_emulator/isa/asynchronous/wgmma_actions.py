"""Products of a warpgroup, with matrices in shared memory: wgmma."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.isa.asynchronous.wgmma_operands import WgmmaKind, chunk_addresses, decode, parse_wgmma
from mmcore_emulator.isa.entries import Capability, Effect, Entry, Execute, Family, Opcode, OperandSpec, Run, nothing
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, Committed, Issued, Transfer, Waited
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Execution, Machine
from mmcore_emulator.machine.observer import Access, LaneViolation
from mmcore_emulator.numerics.types import Flags, Integers, Values
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.tensor_cores.arithmetic import Arithmetic, arithmetic_of
from mmcore_emulator.tensor_cores.elements import BITS, RAW, bits_of, values
from mmcore_emulator.tensor_cores.fragments import wgmma_a, wgmma_d
from mmcore_emulator.tensor_cores.summation import multiply_add

_ROWS = 64
_WARPS = 4


def _product(opcode: Opcode) -> Execute | None:
    """Return the semantics of ``wgmma.mma_async``: products are computed at once, so waits for them end at once."""
    kind = parse_wgmma(opcode)
    if kind is None or kind.a == "b1":
        return None
    registers = OperandSpec("both", count=kind.registers)
    # A is a descriptor, or in registers; the constants after B depend on it.
    a, b = OperandSpec("source", "", 0), OperandSpec("source", "b64")
    constants = (OperandSpec("source", "s32"),) * (4 if kind.transposable else 2)
    operands = (registers, a, b, OperandSpec("source", "pred"), *constants)

    def bound(capability: Capability) -> Run:
        types = kind.a, kind.b, kind.accumulator
        return partial(_multiplied, kind, arithmetic_of(capability, "wgmma", *types, kind.k, saturate=kind.saturates))

    return Execute(None, operands, required=4, bound=bound)


def _commit(execution: Execution) -> None:
    execution.machine.observers.event(Committed("wgmma", execution.mask))


def _wait(execution: Execution, most: list[Values]) -> None:
    execution.machine.observers.event(Waited("wgmma", int(most[0].item()), execution.mask))


def _multiplied(
    kind: WgmmaKind,
    arithmetic: Arithmetic,
    execution: Execution,
    d: list[Values],
    a: list[Values],
    b: list[Values],
    scale_d: list[Values],
    *constants: list[Values],
) -> Sequence[Values]:
    machine, mask, at = execution
    in_registers = len(a) > 1
    settings = dict(
        zip(
            kind.operands(in_registers)[4:],
            (int(constant[0].view(np.int32).item()) for constant in constants),
            strict=True,
        )
    )
    left = wgmma_a(kind.a)

    def compute(taking: Flags, *rows: NDArray[np.generic]) -> list[NDArray[np.generic]]:
        """Compute the products of warpgroups: four warps each."""
        per_block = machine.warps.per_block
        padded = -(-per_block // _WARPS) * _WARPS

        def grouped(warps: NDArray[np.generic]) -> NDArray[np.generic]:
            padded_warps = warps.reshape(-1, per_block, 32)
            if padded != per_block:
                padded_warps = np.pad(padded_warps, ((0, 0), (0, padded - per_block), (0, 0)))
            return padded_warps.reshape(-1, _WARPS * 32)

        active = np.logical_or.reduce(grouped(taking), axis=1)
        # All executing threads have the same descriptors.
        one = np.arange(np.count_nonzero(active)), grouped(taking)[active].argmax(axis=1)
        count = kind.registers
        operands = [grouped(warps)[active] for warps in rows]
        sums = values(wgmma_d(kind.n, kind.accumulator).unpack(operands[:count]), kind.accumulator)
        first = operands[count:]
        blocks = np.repeat(np.arange(len(active) * _WARPS // padded), padded // _WARPS)[active]
        lanes = grouped(machine.warps.lane_numbers)[active] if machine.observers else None
        if in_registers:
            matrix_a = left.unpack(first[: len(a)])
        else:
            matrix_a = _matrix(
                machine, at, mask, kind, first[0][one], blocks, _ROWS, kind.a, settings.get("trans_a", 0), lanes
            )
        descriptor, added = first[len(a)][one], first[len(a) + 1][one]
        matrix_b = _matrix(
            machine, at, mask, kind, descriptor, blocks, kind.n, kind.b, settings.get("trans_b", 0), lanes
        )
        numbers_a = values(matrix_a, kind.a) * settings.get("scale_a", 1)
        numbers_b = values(matrix_b, kind.b).swapaxes(1, 2) * settings.get("scale_b", 1)
        c = np.where(added[:, np.newaxis, np.newaxis], sums, 0)
        product = multiply_add(numbers_a, numbers_b, c, arithmetic)
        packed = wgmma_d(kind.n, kind.accumulator).pack(bits_of(product, kind.accumulator))
        results = []
        for register in packed:
            every = np.zeros((len(active), _WARPS * 32), register.dtype)
            every[active] = register
            results.append(every.reshape(-1, padded, 32)[:, :per_block].reshape(-1, 32))
        return results

    products: Sequence[Values] = machine.warps.together(compute, [*d, *a, *b, *scale_d], mask)
    return products


def _report_fetches(machine: Machine, at: Instruction, lanes: Integers, chunks: Integers) -> None:
    """Report the 16-byte reads to observers, distributed over the threads of each group."""
    count = lanes.shape[1]
    for first in range(0, chunks.shape[1], count):
        part = chunks[:, first : first + count]
        address, taking = np.zeros(machine.batch.shape, np.uint64), np.zeros(machine.batch.shape, np.bool_)
        # Addresses of arrays have more upper bits than a descriptor keeps.
        address.reshape(-1)[lanes[:, : part.shape[1]]] = machine.memory.shared_addresses(part)
        taking.reshape(-1)[lanes[:, : part.shape[1]]] = True
        machine.observers.access(
            Access(
                "fetch", "shared", machine.memory.spaces["shared"], address, 16, machine.batch.narrow(None, taking), at
            )
        )


def _matrix(
    machine: Machine,
    at: Instruction,
    mask: Mask | None,
    kind: WgmmaKind,
    descriptors: NDArray[np.generic],
    blocks: Integers,
    rows: int,
    type: str,
    transposed: int,
    lanes: NDArray[np.generic] | None,
) -> NDArray[np.generic]:
    """Return the raw elements [groups, rows, k] of the matrices of descriptors, each in the shared memory of a block.

    ``lanes`` are the lanes of each group, if there are observers.
    """
    size, parts = BITS[type] // 8, decode(descriptors.astype(np.uint64))
    addresses = chunk_addresses(parts, rows, kind.k, size, "MN" if transposed else "K")
    if lanes is not None:
        places = (addresses.astype(np.int64) & (BLOCK_BYTES - 1)) + (blocks * BLOCK_BYTES)[:, np.newaxis, np.newaxis]
        words = (places[..., np.newaxis] // 4 + np.arange(4)).reshape(len(places), -1)
        description = f"swizzle {parts.swizzle[0]}, offsets {parts.leading[0]} and {parts.stride[0]} bytes"
        reading = Transfer(at, lanes.astype(np.int64), words, False, shape=addresses.shape[1:], layout=description)
        machine.observers.event(Issued(reading))
        _report_fetches(machine, at, lanes.astype(np.int64), words[:, ::4] * 4 & (BLOCK_BYTES - 1))
    chunks = np.zeros(addresses.shape, np.complex128)
    covered = np.zeros(addresses.shape, np.bool_)
    for array in machine.memory.shared.arrays:
        begin = array.base & 0x3FFFF
        inside = (addresses >= begin) & (addresses + np.uint64(16) <= begin + array.readable)
        if inside.any():
            places = addresses.astype(np.int64) - begin + (blocks * array.stride)[:, np.newaxis, np.newaxis]
            chunks = np.where(inside, array.view(np.dtype(np.complex128))[np.where(inside, places // 16, 0)], chunks)
            covered |= inside
    if not covered.all():
        text = f"reads a matrix that is not all in shared memory, for {at.mnemonic}"
        machine.observers.report(
            LaneViolation("out-of-bounds-read", "shared", at, machine.batch.spread(mask), lambda _: text)
        )
    raw = chunks.view(RAW[BITS[type]])
    if transposed:
        return raw.reshape(len(raw), kind.k, rows).swapaxes(1, 2)
    return raw.reshape(len(raw), rows, kind.k)


def _effect(step: str) -> Effect:
    return Effect("warpgroup", "reads", members="all", step=step)


FAMILY = Family(
    "Matrices of a warpgroup",
    (
        Entry("wgmma.mma_async", _product, r"wgmma\.mma_async\..*", _effect("product")),
        Entry("wgmma.fence", Execute(nothing), r"wgmma\.fence\.sync\.aligned", _effect("fence")),
        Entry("wgmma.commit_group", Execute(_commit), r"wgmma\.commit_group\.sync\.aligned", _effect("commit")),
        Entry(
            "wgmma.wait_group",
            Execute(_wait, (OperandSpec("source", "s32"),)),
            r"wgmma\.wait_group\.sync\.aligned",
            _effect("wait"),
        ),
    ),
    since=(((9, 0), r"wgmma\..*"),),
)

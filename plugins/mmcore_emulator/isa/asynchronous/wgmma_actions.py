"""Products of a warpgroup, with matrices in shared memory: wgmma."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.isa.asynchronous.descriptor_changes import Matrices
from mmcore_emulator.isa.asynchronous.wgmma_operands import WgmmaKind, chunk_addresses, decode, parse_wgmma
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
    nothing,
)
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
_CONSTANTS = {"trans_a": ("imm-trans-a", "the last but one"), "trans_b": ("imm-trans-b", "the last one")}
"""The names in PTX, and the places among the operands, of the constants that say the order of a matrix."""


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

    def arithmetic(capability: Capability) -> Arithmetic:
        types = kind.a, kind.b, kind.accumulator
        return arithmetic_of(capability, "wgmma", *types, kind.k, saturate=kind.saturates)

    def bound(capability: Capability) -> Run:
        return partial(_multiplied, kind, arithmetic(capability))

    made = MatrixProduct(kind, arithmetic)
    return Execute(None, operands, required=4, bound=bound, product=made, sums=(0, 3))


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
    groups, settings = WarpGroups(execution), scales(kind, len(a) > 1, constants)
    held = wgmma_d(kind.n, kind.accumulator)
    sums = values(held.unpack([groups.rows(each) for each in d]), kind.accumulator)
    if len(a) > 1:
        matrix_a = wgmma_a(kind.a).unpack([groups.rows(each) for each in a])
    else:
        matrix_a = groups.matrix(kind, a[0], _ROWS, kind.a, "trans_a", settings)
    matrix_b = groups.matrix(kind, b[0], kind.n, kind.b, "trans_b", settings)
    numbers_a = values(matrix_a, kind.a) * settings.get("scale_a", 1)
    numbers_b = values(matrix_b, kind.b).swapaxes(1, 2) * settings.get("scale_b", 1)
    c = np.where(groups.one(scale_d[0])[:, np.newaxis, np.newaxis], sums, 0)
    product = multiply_add(numbers_a, numbers_b, c, arithmetic)
    return [groups.lanes(register) for register in held.pack(bits_of(product, kind.accumulator))]


def scales(kind: WgmmaKind, in_registers: bool, constants: Sequence[Sequence[Values]]) -> dict[str, int]:
    """Return the constants of a product by their names: "scale_a", "scale_b", "trans_a", "trans_b"."""
    numbers = (int(constant[0].view(np.int32).item()) for constant in constants)
    return dict(zip(kind.operands(in_registers)[4:], numbers, strict=True))


class WarpGroups:
    """The warpgroups that execute an instruction: four warps each."""

    def __init__(self, execution: Execution) -> None:
        self._execution, machine = execution, execution.machine
        self._per_block = machine.warps.per_block
        self._padded = -(-self._per_block // _WARPS) * _WARPS
        taking = self._grouped(machine.batch.spread(execution.mask))
        self.active: Flags = np.logical_or.reduce(taking, axis=1)
        self._first = np.arange(np.count_nonzero(self.active)), taking[self.active].argmax(axis=1)
        blocks = np.arange(len(self.active) * _WARPS // self._padded)
        self._blocks = np.repeat(blocks, self._padded // _WARPS)[self.active]

    def _grouped(self, values: Values) -> NDArray[np.generic]:
        warps = self._execution.machine.warps.rows(values).reshape(-1, self._per_block, 32)
        if self._padded != self._per_block:
            warps = np.pad(warps, ((0, 0), (0, self._padded - self._per_block), (0, 0)))
        return warps.reshape(-1, _WARPS * 32)

    def on(self, machine: Machine) -> WarpGroups:
        """Return the same groups on another machine of the same lanes, which is not observed."""
        other = copy(self)
        other._execution = self._execution._replace(machine=machine)
        return other

    def rows(self, values: Values) -> Values:
        """Return values of lanes as rows of the groups that execute the instruction, ``[G, 128]``."""
        return self._grouped(values)[self.active]

    def one(self, values: Values) -> Values:
        """Return the value of one thread of each group, for values that all its threads share, ``[G]``."""
        return np.asarray(self.rows(values)[self._first])

    def lanes(self, rows: Values) -> Values:
        """Return rows ``[G, 128]`` as values of lanes, with zeros in other lanes: the inverse of :meth:`rows`."""
        every = np.zeros((len(self.active), _WARPS * 32), rows.dtype)
        every[self.active] = rows
        warps = every.reshape(-1, self._padded, 32)[:, : self._per_block].reshape(-1, 32)
        return self._execution.machine.warps.lanes(warps)

    def matrix(
        self, kind: WgmmaKind, descriptor: Values, rows: int, type: str, name: str, constants: Mapping[str, int]
    ) -> NDArray[np.generic]:
        """Return the raw elements ``[G, rows, k]`` of matrices in shared memory, by their descriptors as lanes.

        ``name`` is that of the constant that says their order, if the instruction has one.
        """
        order = constants.get(name, 0), _CONSTANTS[name] if name in constants else None
        machine, mask, at = self._execution
        lanes = self.rows(np.arange(machine.batch.lanes).reshape(machine.batch.shape)) if machine.observers else None
        return _matrix(machine, at, mask, kind, self.one(descriptor), self._blocks, rows, type, *order, lanes)


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
    constant: tuple[str, str] | None,
    lanes: NDArray[np.generic] | None,
) -> NDArray[np.generic]:
    """Return the raw elements [groups, rows, k] of the matrices of descriptors, each in the shared memory of a block.

    ``lanes`` are the lanes of each group, if there are observers.
    """
    size, parts = BITS[type] // 8, decode(descriptors.astype(np.uint64))
    major = "MN" if transposed else "K"
    addresses = chunk_addresses(parts, rows, kind.k, size, major)
    if lanes is not None:
        places = (addresses.astype(np.int64) & (BLOCK_BYTES - 1)) + (blocks * BLOCK_BYTES)[:, np.newaxis, np.newaxis]
        words = (places[..., np.newaxis] // 4 + np.arange(4)).reshape(len(places), -1)
        description = f"swizzle {parts.swizzle[0]}, offsets {parts.leading[0]} and {parts.stride[0]} bytes"
        changes = Matrices(parts, blocks, rows, kind.k, size, major, constant).changes
        reading = Transfer(
            at,
            lanes.astype(np.int64),
            words,
            False,
            shape=addresses.shape[1:],
            layout=description,
            major=major,
            changes=changes,
        )
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
        last = machine.memory.shared.arrays[-1]
        past = int(addresses.max()) + 16 - (last.base & 0x3FFFF) - last.readable
        where = f": it ends {last.behind(past)}" if past > 0 else ""
        text = f"reads a matrix that is not all in shared memory, for {at.mnemonic}{where}"
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
    proof="product",
)

"""Stores and reductions in shared memory of the cluster that an mbarrier counts: st.async and red.async.

They arrive when a thread waits for the mbarrier, as bulk copies do. Reference: PTX ISA, "st.async" and "red.async".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from mmcore_emulator.isa.asynchronous.bulk.placement import each_of, issued, landed, sent_by
from mmcore_emulator.isa.asynchronous.mbarrier_actions import change
from mmcore_emulator.isa.asynchronous.mbarriers import MbarrierKind, contents
from mmcore_emulator.isa.atomics import atomic_operation
from mmcore_emulator.isa.entries import Effect, Entry, Execute, Family, MemoryAccess, Opcode, OperandSpec
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, Transfer
from mmcore_emulator.machine.machine import Execution, Machine
from mmcore_emulator.machine.memory.arrays import RANK_BEGIN, RANK_SHIFT, SHARED_WINDOW
from mmcore_emulator.machine.memory.operations import Combine
from mmcore_emulator.machine.observer import LaneViolation, always
from mmcore_emulator.numerics.types import NUMPY, DType, Values

_STORE = re.compile(
    r"st\.async(\.weak)?(?P<space>\.shared::cluster)?\.mbarrier::complete_tx::bytes(\.v(?P<count>[24]))?"
    r"\.(?P<kind>[bus](32|64)|f32|f64|b128)"
)
_REDUCTION = re.compile(
    r"red\.async\.relaxed\.cluster(?P<space>\.shared::cluster)?\.mbarrier::complete_tx::bytes"
    r"\.(?P<name>inc|dec|min|max|add|and|or|xor)\.(?P<kind>[bus]32|u64)"
)
_LARGEST = 16
_LATE = "sends to an mbarrier whose phase is over before this has come: it expects fewer bytes"


def _remote(opcode: Opcode) -> Execute | None:
    """Return the semantics of ``st.async`` or ``red.async``; None for another instruction."""
    name = ".".join(opcode)
    if match := _STORE.fullmatch(name):
        count, dtype = int(match["count"] or 1), NUMPY[match["kind"]]
        if count * dtype.itemsize > _LARGEST:
            return None
        operands = (OperandSpec("address"), OperandSpec("source", match["kind"], count), OperandSpec("address"))
        return Execute(partial(_send, _space(match), dtype, None), operands, moves=(1,))
    if match := _REDUCTION.fullmatch(name):
        kind, operation = match["kind"], atomic_operation(frozenset((match["name"], match["kind"])))
        if operation is None or (kind == "u64" and match["name"] != "add"):
            return None
        operands = (OperandSpec("address"), OperandSpec("source", kind), OperandSpec("address"))
        access = MemoryAccess("change", _space(match), NUMPY[kind])
        return Execute(partial(_send, access.space, access.dtype, operation.combine), operands, changes=access)
    return None


def _space(match: re.Match[str]) -> str:
    return "cluster" if match["space"] else "generic"


def block_at(machine: Machine, address: Values) -> Values:
    """Return the number in the batch of the block whose shared memory contains an address of the cluster."""
    rank = (address & np.uint64(SHARED_WINDOW - 1)) >> np.uint64(RANK_SHIFT)
    if not rank.any():
        return np.asarray(machine.batch.block_index())
    others = machine.batch.block_of_rank(np.maximum(rank.astype(np.int64) - 1, 0))
    return np.asarray(np.where(rank == 0, machine.batch.block_index(), others))


def _send(
    space: str,
    dtype: DType,
    combine: Combine | None,
    execution: Execution,
    address: list[Values],
    values: list[Values],
    mbarrier: list[Values],
) -> None:
    execution = execution.in_cluster(address[0]).in_cluster(mbarrier[0])
    machine, mask, at = execution
    if execution.idle:
        return
    nbytes = len(values) * dtype.itemsize
    completes = MbarrierKind("complete_tx", space=space, scope="cluster")

    def land() -> None:
        if combine is None:
            machine.memory.store(space, address[0], values, dtype, mask, at)
        else:
            machine.memory.atomic(space, address[0], values, dtype, combine, mask, at)
        before = machine.memory.peek(space, mbarrier[0], np.dtype(np.uint64), mask)
        (previous,) = change(completes, execution, mbarrier, [np.full((1,) * 6, nbytes, np.uint32)])
        late = machine.batch.spread(machine.batch.narrow(mask, contents(previous).parity != contents(before).parity))
        if late.any():
            machine.observers.report(LaneViolation("mbarrier-misuse", "shared", at, late, always(_LATE)))

    inside = mbarrier[0] & np.uint64(RANK_BEGIN - 1)
    lands: Callable[[], None] = land
    for transfer in _transfers(execution, address[0], nbytes, mbarrier[0]) if machine.observers else ():
        lands = partial(landed, lands, transfer, machine)
    machine.in_flight.send(inside, mask, lands, block_at(machine, mbarrier[0]))


def _transfers(execution: Execution, address: Values, nbytes: int, mbarrier: Values) -> Iterator[Transfer]:
    """Yield the stores as transfers for observers, one for each offset of an mbarrier in its block."""
    machine, sent = execution.machine, sent_by(execution, address, nbytes)
    blocks, objects = (
        each_of(machine, sent.lanes, values) for values in (block_at(machine, address), machine.memory.places(mbarrier))
    )
    for place in np.unique(objects % BLOCK_BYTES).tolist():
        which = objects % BLOCK_BYTES == place
        yield issued(sent, which, blocks, sent.transfer(which, blocks, writes=True, mbarriers=objects[which]))


FAMILY = Family(
    "Stores to other blocks of a cluster",
    (
        Entry("st.async", _remote, r"st\.async\..*", Effect("remote store", "writes", writes=True)),
        Entry("red.async", _remote, r"red\.async\..*\.add\..*", Effect("remote store", "adds to", True, step="reduce")),
        Entry("red.async", _remote, r"red\.async\..*", Effect("remote store", "changes", True, step="reduce")),
    ),
    since=(((9, 0), r"(st|red)\.async\..*"),),
    proof="moves: `st.async`; `red.async` opaque",
)

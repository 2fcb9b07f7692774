"""Bulk copies between global and shared memory, of boxes of tensors and of plain bytes, and waits for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.errors import UnsupportedInstruction
from mmcore_emulator.isa.asynchronous.bulk.copies import (
    OPERANDS,
    BulkCopy,
    Merge,
    merge_of,
    merge_of_tensor,
    parse_copy,
)
from mmcore_emulator.isa.asynchronous.bulk.loads import to_shared
from mmcore_emulator.isa.asynchronous.bulk.placement import (
    Placement,
    Sent,
    issue,
    read_shared_elements,
    tell_fetched,
    write_global,
)
from mmcore_emulator.isa.entries import CACHE_HINT, CLUSTER_SPACE, Effect, Entry, Execute, Family, Opcode, nothing
from mmcore_emulator.machine.asynchronous.events import Committed, Issued, Waited
from mmcore_emulator.machine.machine import Execution
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.machine.observer import Access, BulkTransfer
from mmcore_emulator.numerics.types import Integers, Values


def to_global(copy: BulkCopy, merge: Merge | None, execution: Execution, *operands: list[Values]) -> None:
    """Copy from shared to global memory, or reduce there."""
    machine, mask, at = execution
    copies = None if execution.idle else issue(copy, execution, copy.named(operands))
    if copies is None:
        return
    sent, placed = copies
    if copy.reduction and placed.layout:
        merge = merge_of_tensor(copy.reduction, placed.layout.kind)
        if merge is None:
            what = f"{at.mnemonic} of elements of type {placed.layout.kind}"
            raise UnsupportedInstruction(f"there is no instruction {what}")
    transfer = placed.transfer("store", sent, int(placed.nbytes.sum()))
    machine.observers.bulk_copy(transfer)
    if machine.observers:
        machine.observers.event(Issued(sent.transfer(np.ones(len(sent.lanes), np.bool_), sent.block, writes=False)))
        tell_fetched(sent, mask, placed)
    for number, lane in enumerate(sent.lanes):
        machine.bulk_groups.send(tuple(lane.tolist()), partial(_read, sent, number, placed, merge, transfer))


def _read(
    sent: Sent, number: int, placed: Placement, merge: Merge | None, transfer: BulkTransfer
) -> Callable[[], None]:
    """Read the data of one thread's copy from shared memory; return a function that writes it to global memory."""
    content = read_shared_elements(sent, number, placed)
    return partial(_write, sent, number, placed, content, merge, transfer)


def _write(
    sent: Sent,
    number: int,
    placed: Placement,
    content: NDArray[np.generic] | None,
    merge: Merge | None,
    transfer: BulkTransfer,
) -> None:
    written = None if content is None else write_global(sent, number, placed, content, merge)
    if written and sent.machine.observers:
        _report_written(sent, number, transfer, *written, placed.itemsize)


def _report_written(
    sent: Sent, number: int, transfer: BulkTransfer, target: Array, places: Integers, itemsize: int
) -> None:
    """Report to observers each run of bytes that a thread's copy has written to global memory."""
    mask, places = sent.mask([number]), np.sort(places, axis=None)
    for run in np.split(places, np.flatnonzero(np.diff(places) != itemsize) + 1):
        if run.size:
            address, nbytes = np.full((1,) * 6, target.base + run[0], np.uint64), run.size * itemsize
            memory = sent.machine.memory.spaces["global"]
            sent.machine.memory.changed()
            sent.machine.observers.access(Access("copy", "global", memory, address, nbytes, mask, sent.at, transfer))


def _bulk(opcode: Opcode) -> Execute | None:
    """Return the semantics of a bulk copy, or of a wait for some; None for another or an unsupported instruction."""
    copy = parse_copy(opcode)
    if copy is None or not set(copy.operands) <= OPERANDS.keys():
        return None
    if copy.action in ("prefetch", "prefetch_map"):
        return Execute(nothing, copy.specs)
    if copy.action == "commit_group":
        return Execute(_commit)
    if copy.action == "wait_group":
        return Execute(partial(_wait, copy.read), copy.specs)
    merge = merge_of(copy.reduction, copy.kind, copy.target) if copy.kind else None
    if copy.kind and merge is None:
        return None
    run = partial(to_global if copy.target == "global" else to_shared, copy, merge)
    return Execute(run, copy.specs, moves=None if copy.reduction else (), reduces=copy if copy.reduction else None)


def _commit(execution: Execution) -> None:
    machine, mask, _ = execution
    machine.bulk_groups.commit(mask)
    machine.observers.event(Committed("bulk", mask))


def _wait(read: bool, execution: Execution, most: list[Values]) -> None:
    machine, mask, _ = execution
    (machine.bulk_groups.read if read else machine.bulk_groups.land)(int(most[0].item()), mask)
    machine.observers.event(Waited("bulk", int(most[0].item()), mask))


_WRITES = Effect("bulk copy", "writes", writes=True)
FAMILY = Family(
    "Bulk copies (TMA)",
    (
        Entry("cp.async.bulk", _bulk, r"cp\.async\.bulk\..*", _WRITES),
        Entry(
            "cp.reduce.async.bulk",
            _bulk,
            r"cp\.reduce\.async\.bulk\..*\.add\b.*",
            replace(_WRITES, verb="adds to", step="reduce"),
        ),
        Entry(
            "cp.reduce.async.bulk",
            _bulk,
            r"cp\.reduce\.async\.bulk\..*",
            replace(_WRITES, verb="changes", step="reduce"),
        ),
        Entry("prefetch.tensormap", _bulk, r"prefetch\..*tensormap"),
    ),
    since=(((9, 0), r"cp\.(reduce\.)?async\.bulk.*"), CLUSTER_SPACE, CACHE_HINT),
    proof="moves; adds to global memory; other reductions opaque",
)

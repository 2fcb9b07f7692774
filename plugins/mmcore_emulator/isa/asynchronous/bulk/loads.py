"""Bulk copies to shared memory, which complete bytes of an mbarrier.

They land as late as possible, when a thread waits for their mbarrier, and read their source only then.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.isa.asynchronous.bulk.copies import BulkCopy, Merge, bulk_problems
from mmcore_emulator.isa.asynchronous.bulk.placement import (
    Placement,
    Sent,
    each_of,
    issue,
    issued,
    landed,
    read_global,
    read_shared,
    write_shared,
)
from mmcore_emulator.isa.asynchronous.mbarriers import complete_tx, contents, initialised
from mmcore_emulator.isa.asynchronous.remote_stores import block_at
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES
from mmcore_emulator.machine.machine import Execution
from mmcore_emulator.machine.memory.arrays import RANK_BEGIN
from mmcore_emulator.numerics.types import Flags, Integers, Values

_NO_BLOCK = "copies to the block of rank {} of its cluster, which has fewer"
_LATE = "copies in bulk to an mbarrier whose phase is over before this has come: it expects fewer bytes"


def to_shared(copy: BulkCopy, merge: Merge | None, execution: Execution, *operands: list[Values]) -> None:
    """Copy from global or shared memory to blocks of the cluster."""
    named = copy.named(operands)
    target, mbarrier = named["target"][0], named["mbarrier"][0]
    execution = execution.in_cluster(target).in_cluster(mbarrier)
    copies = None if execution.idle else issue(copy, execution, named)
    if copies is None:
        return
    machine, (sent, placed) = execution.machine, copies
    _report_misaligned(sent, placed)
    masks = each_of(machine, sent.lanes, named["mask"][0]) if "mask" in named else None
    if masks is not None:
        senders = machine.special("%cluster_ctarank")
        objects, ranks = (each_of(machine, sent.lanes, each).tolist() for each in (mbarrier, senders))
        machine.mbarriers.multicast(objects, masks.tolist(), ranks, sent.at)
    layout = f"swizzle {placed.layout.swizzle}" if placed.layout else "bytes in order"
    source = machine.memory.spaces["global"].at(placed.base) if placed.layout else None
    tensor = {"tensor": placed.layout} | ({"tensor_name": source.label, "major": source.major} if source else {})
    read = partial(read_global if copy.source == "global" else read_shared, sent, placed)
    delivered = 0
    for rank in (None,) if masks is None else range(16):
        which = np.ones(len(sent.lanes), np.bool_) if masks is None or rank is None else (masks >> rank) & 1 != 0
        if not which.any():
            continue
        block = block_at(machine, target) if rank is None else machine.batch.block_of_rank(rank)
        if rank is not None and (block < 0).any():
            sent.report("out-of-bounds-write", "shared", _NO_BLOCK.format(rank), which)
            continue
        delivered += int(sent.nbytes[which].sum())
        blocks, objects = each_of(machine, sent.lanes, block), each_of(machine, sent.lanes, mbarrier)
        land: Callable[[], None] = partial(_land, sent, which, placed, read, merge, blocks, objects)
        if machine.observers:
            at_objects = blocks * BLOCK_BYTES + (objects & np.uint64(BLOCK_BYTES - 1)).astype(np.int64)
            origin = placed.origins(sent)[which] if copy.source == "global" else None
            begun = (at_objects[which], sent.nbytes[which], sent.shared[which])
            machine.mbarriers.send(sent.at, *(each.tolist() for each in begun))
            transfer = sent.transfer(
                which, blocks, writes=True, origin=origin, mbarriers=at_objects[which], layout=layout, **tensor
            )
            land = partial(landed, land, issued(sent, which, blocks, transfer), machine)
        machine.in_flight.send(mbarrier & np.uint64(RANK_BEGIN - 1), sent.mask(which), land, block)
    if copy.source == "global":
        machine.observers.bulk_copy(placed.transfer("load", sent, delivered))


def _report_misaligned(sent: Sent, placed: Placement) -> None:
    if placed.layout:
        misuses, what = placed.layout.destination_problems(sent.shared), "copies a box to a place that cannot be: "
    else:
        sources = placed.begin[:, 0].astype(np.uint64)
        misuses, what = bulk_problems(sent.shared, sources, sent.nbytes), "copies in bulk, and "
    for problem in misuses:
        sent.report("misaligned", "shared", what + problem.clause, problem.lanes)


def _land(
    sent: Sent,
    which: Flags,
    placed: Placement,
    read: Callable[[], NDArray[np.generic]],
    merge: Merge | None,
    block: Integers,
    mbarrier: NDArray[np.uint64],
) -> None:
    """Write the copied data into shared memory, and complete its bytes."""
    content = read()
    for number in np.flatnonzero(which).tolist():
        write_shared(sent, number, placed, content, merge, int(block[number]))
    sent.machine.memory.changed()
    ended = set()
    for number in np.flatnonzero(which).tolist():
        word = _shared_words(sent, mbarrier[number], block[number])
        if word is None or not initialised(word).all():
            sent.report("mbarrier-misuse", "shared", "copies in bulk to an mbarrier that is not initialised", [number])
            continue
        place, before = (int(block[number]), int(mbarrier[number])), word.copy()
        word[:] = complete_tx(word, sent.nbytes[number : number + 1])
        if place in ended:
            sent.report("mbarrier-misuse", "shared", _LATE, [number])
        elif (contents(word).parity != contents(before).parity).any():
            ended.add(place)
            inside = int(mbarrier[number]) & (BLOCK_BYTES - 1)
            if early := sent.machine.mbarriers.end_bytes(int(block[number]) * BLOCK_BYTES + inside):
                sent.machine.observers.event(early)


def _shared_words(sent: Sent, address: np.uint64, block: np.int64) -> NDArray[np.uint64] | None:
    """Return the mbarrier object at an address of a block's shared memory, as an array of one word."""
    inside = int(address) & (RANK_BEGIN - 1)
    array = sent.machine.memory.spaces["shared"].at(inside)
    if array is None or not 0 <= inside - array.base <= array.writable - 8:
        return None
    first = (inside - array.base + int(block) * array.stride) // 8
    words: NDArray[np.uint64] = array.view(np.dtype(np.uint64))[first : first + 1]
    return words

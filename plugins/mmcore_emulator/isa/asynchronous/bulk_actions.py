"""Bulk copies between global and shared memory, of boxes of tensors and of plain bytes.

Those to shared memory land when somebody waits for their mbarrier, those to global memory when their thread waits for
their group, or at the kernel's end: as late as they may. What they read, they read then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.errors import UnsupportedInstruction
from mmcore_emulator.isa.asynchronous.bulk_copies import BulkCopy, bulk_problems, parse_copy
from mmcore_emulator.isa.asynchronous.bulk_issue import (
    Sent,
    each_of,
    issued,
    landed,
    origins,
    plain_origins,
    sent_by,
    tell_fetched,
)
from mmcore_emulator.isa.asynchronous.bulk_reductions import Merge, merge_of, merge_of_tensor
from mmcore_emulator.isa.asynchronous.mbarriers import complete_tx, contents, initialised
from mmcore_emulator.isa.asynchronous.remote_stores import block_at
from mmcore_emulator.isa.entries import (
    CACHE_HINT,
    CLUSTER_SPACE,
    Effect,
    Entry,
    Execute,
    Family,
    Opcode,
    OperandSpec,
    nothing,
    of_opcode,
)
from mmcore_emulator.machine.accesses import Access, BulkTransfer, LaneViolation
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, Committed, Issued, Waited
from mmcore_emulator.machine.asynchronous.tensor_maps import (
    MAP_BYTES,
    TensorLayout,
    box_elements,
    box_rows,
    decode,
    widened,
)
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Machine
from mmcore_emulator.machine.memory.addresses import RANK_BEGIN
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction

_PARTS = {
    **{name: OperandSpec("address") for name in ("target", "source", "mbarrier")},
    "tensor": OperandSpec("tensor"),
    "size": OperandSpec("source", "u32"),
    "mask": OperandSpec("source", "u16"),
    "policy": OperandSpec("source", "b64"),
    "count": OperandSpec("source", "s32"),
}

_NO_BLOCK = "copies to the block of rank {} of its cluster, which has fewer"
_LATE = "copies in bulk to an mbarrier whose phase is over before this has come: it was told of fewer bytes"


def _bulk(opcode: Opcode) -> Execute | None:
    """What runs a bulk copy, or waits for some; None for another instruction, and for what is not known."""
    copy = parse_copy(opcode)
    if copy is None or not set(copy.operands) <= _PARTS.keys():
        return None
    parts = tuple(_PARTS[name] for name in copy.operands)
    if copy.action in ("prefetch", "prefetch_map"):
        return Execute(nothing, parts)
    if copy.action == "commit_group":
        return Execute(_commit)
    if copy.action == "wait_group":
        return Execute(partial(_wait, copy.read), parts)
    merge = merge_of(copy.reduction, copy.kind, copy.target) if copy.kind else None
    if copy.kind and merge is None:
        return None
    return Execute(partial(_to_global if copy.target == "global" else _to_shared, copy, merge), parts)


def _commit(machine: Machine, mask: Mask | None, at: Instruction) -> Sequence[Any]:
    machine.bulk_groups.commit(mask)
    machine.observers.event(Committed("bulk", mask))
    return ()


def _wait(read: bool, machine: Machine, mask: Mask | None, at: Instruction, most: list[Values]) -> Sequence[Any]:
    groups = machine.bulk_groups
    (groups.read if read else groups.land)(int(most[0].item()), mask)
    machine.observers.event(Waited("bulk", int(most[0].item()), mask))
    return ()


def _layout(machine: Machine, mask: Mask | None, at: Instruction, address: Values) -> TensorLayout | None:
    """The tensor map at the address that these lanes name; None, and a violation, where there is none."""
    lanes = np.argwhere(machine.batch.spread(mask))
    (named,) = np.unique(each_of(machine, lanes, address))[:1]
    content = machine.memory.content("generic", int(named), MAP_BYTES)
    layout = decode(content.tobytes()) if content is not None else None
    if layout is None:
        text = f"finds no tensor map at address {int(named):#x}"
        machine.observers.report(LaneViolation("illegal-address", None, at, machine.batch.spread(mask), lambda _: text))
    return layout


def _boxes(
    machine: Machine, mask: Mask | None, at: Instruction, shared: Values, base: Values, *coordinates: Values
) -> tuple[Sent, TensorLayout, NDArray[Any]] | None:
    """Copies of boxes, the tensor and the boxes' coordinates in it; None where there is no tensor map."""
    layout = _layout(machine, mask, at, base)
    if layout is None:
        return None
    sent = sent_by(machine, mask, at, shared, layout.nbytes)
    return sent, layout, np.stack([each_of(machine, sent.lanes, each) for each in coordinates], axis=-1)


def _to_shared(
    copy: BulkCopy, merge: Merge | None, machine: Machine, mask: Mask | None, at: Instruction, *operands: list[Values]
) -> Sequence[Any]:
    given = dict(zip(copy.operands, operands, strict=True))
    target, mbarrier = given["target"][0], given["mbarrier"][0]
    for each in (target, mbarrier):
        mask = machine.memory.in_cluster(each, mask, at)
    if mask is not None and not mask.count:
        return ()
    layout: TensorLayout | None
    read: Callable[[], tuple[NDArray[Any], NDArray[Any]]]
    if "tensor" in given:
        boxes = _boxes(machine, mask, at, target, *given["tensor"])
        if boxes is None:
            return ()
        sent, layout, places = boxes
        for problem in layout.destination_problems(sent.shared):
            sent.report(
                "misaligned", "shared", f"copies a box to a place that cannot be: {problem.clause}", problem.lanes
            )
        read = partial(_read_boxes, sent, layout, places)
        origin, said = partial(origins, sent, layout, places), f"swizzle {layout.swizzle}"
        runs = box_rows(layout, places)
    else:
        sent = sent_by(machine, mask, at, target, given["size"][0])
        sources = each_of(machine, sent.lanes, given["source"][0])
        for problem in bulk_problems(sent.shared, sources, sent.nbytes):
            sent.report("misaligned", "shared", f"copies in bulk, and {problem.clause}", problem.lanes)
        read = partial(_read_bytes if copy.source == "global" else _read_shared, sent, sources)
        origin, said = partial(plain_origins, sent, sources), "bytes in order"
        layout, runs = None, (sources[:, np.newaxis].astype(np.int64), sent.nbytes[:, np.newaxis])
    masks = each_of(machine, sent.lanes, given["mask"][0]) if "mask" in given else None
    ranks = range(16) if masks is not None else (None,)
    delivered = 0
    for rank in ranks:
        which = np.ones(len(sent.lanes), np.bool_) if masks is None or rank is None else (masks >> rank) & 1 != 0
        if which.any():
            block = block_at(machine, target) if rank is None else machine.batch.block_of_rank(rank)
            if rank is not None and (block < 0).any():
                sent.report("out-of-bounds-write", "shared", _NO_BLOCK.format(rank), which)
                continue
            delivered += int(sent.nbytes[which].sum())
            blocks, objects = each_of(machine, sent.lanes, block), each_of(machine, sent.lanes, mbarrier)
            land: Callable[[], None] = partial(_land, sent, which, read, merge, blocks, objects)
            if machine.observers:
                at_objects = blocks * BLOCK_BYTES + (objects & np.uint64(BLOCK_BYTES - 1)).astype(np.int64)
                from_global = origin()[which] if copy.source == "global" else None
                told = sent.transfer(
                    which, blocks, writes=True, origin=from_global, mbarriers=at_objects[which], layout=said
                )
                land = partial(landed, land, issued(sent, which, blocks, told), machine)
            machine.in_flight.send(mbarrier & np.uint64(RANK_BEGIN - 1), sent.mask(which), land, block)
    if copy.source == "global":
        machine.observers.bulk_copy(
            BulkTransfer("load", at, machine.memory.spaces["global"], sent.lanes, sent.shared, *runs, delivered, layout)
        )
    return ()


def _land(
    sent: Sent,
    which: NDArray[np.bool_],
    read: Callable[[], tuple[NDArray[Any], NDArray[Any]]],
    merge: Merge | None,
    block: NDArray[np.int64],
    mbarrier: NDArray[np.uint64],
) -> None:
    """Write what was copied into shared memory, and complete its bytes."""
    content, places = read()
    _write_shared(sent, which, content, places, merge, block)
    ended = set()
    for number in np.flatnonzero(which):
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


def _shared_words(sent: Sent, address: np.uint64, block: np.int64) -> NDArray[np.uint64] | None:
    """The mbarrier object at an address of a block's shared memory, as an array of one word."""
    inside = int(address) & (RANK_BEGIN - 1)
    array = sent.machine.memory.spaces["shared"].at(inside)
    if array is None or not 0 <= inside - array.base <= array.writable - 8:
        return None
    first = (inside - array.base + int(block) * array.stride) // 8
    words: NDArray[np.uint64] = array.view(np.dtype(np.uint64))[first : first + 1]
    return words


def _read_boxes(sent: Sent, layout: TensorLayout, places: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The elements of boxes [copies, elements], and where in shared memory each is to lie."""
    wide, coordinates = widened(layout, places)
    offsets, inside, shared = box_elements(wide, coordinates, sent.shared)
    return _global(sent, layout.address, offsets, inside, wide.itemsize), shared


def _read_bytes(sent: Sent, sources: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[Any]]:
    size = int(sent.nbytes.max(initial=0))
    steps = np.arange(0, size, 16)
    base = int(sources.min(initial=2**63))
    offsets = (sources - np.uint64(base)).astype(np.int64)[:, np.newaxis] + steps
    inside = steps < sent.nbytes[:, np.newaxis]
    return _global(sent, base, offsets, inside, 16), np.where(inside, steps, -1)


def _read_shared(sent: Sent, sources: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Bytes of the shared memory of the threads' own blocks."""
    steps, dtype = np.arange(0, int(sent.nbytes.max(initial=0)), 16), _dtype(16)
    content = np.zeros((len(sources), len(steps)), dtype)
    inside = steps < sent.nbytes[:, np.newaxis]
    for number, source in enumerate(sources):
        address = int(source) & (RANK_BEGIN - 1)
        array = sent.machine.memory.spaces["shared"].at(address)
        if _fits(sent, np.intp(number), array, address, "read") and array is not None:
            first = address - array.base + int(sent.block[number]) * array.stride
            content[number, inside[number]] = array.view(dtype)[(first + steps[inside[number]]) // 16]
    return content, np.where(inside, steps, -1)


def _dtype(itemsize: int) -> np.dtype[Any]:
    return np.dtype(np.complex128) if itemsize == 16 else np.dtype(f"u{itemsize}")


def _global(
    sent: Sent, base: int, offsets: NDArray[np.int64], inside: NDArray[np.bool_], itemsize: int
) -> NDArray[Any]:
    """Elements of global memory; zeros for those that are not inside."""
    array, dtype = sent.machine.memory.spaces["global"].at(base), _dtype(itemsize)
    if array is None:
        sent.report("out-of-bounds-read", None, f"copies from address {base:#x}, far from every array")
        return np.zeros(offsets.shape, dtype)
    places = base - array.base + offsets
    stray = inside & ((places < 0) | (places + itemsize > array.readable))
    if stray.any():
        which = stray.any(axis=1)
        past = int(np.max(places[stray])) + itemsize - array.readable
        sent.report("out-of-bounds-read", array.label, f"copies {past} bytes past the end of {array}", which)
        inside = inside & ~stray
    found = array.view(dtype)[np.where(inside, places // itemsize, 0)]
    return np.asarray(np.where(inside, found, dtype.type(0)))


def _write_shared(
    sent: Sent,
    which: NDArray[np.bool_],
    content: NDArray[Any],
    places: NDArray[np.int64],
    merge: Merge | None,
    block: NDArray[np.int64],
) -> None:
    itemsize = content.dtype.itemsize
    machine = sent.machine
    for number in np.flatnonzero(which):
        address = int(sent.shared[number]) & (RANK_BEGIN - 1)
        array = machine.memory.spaces["shared"].at(address)
        if not _fits(sent, number, array, address, "write") or array is None:
            continue
        offsets = places[number] if places.ndim > 1 else places
        there = offsets >= 0
        first = address - array.base + int(block[number]) * array.stride
        view, index, coming = array.view(content.dtype), (first + offsets[there]) // itemsize, content[number][there]
        view[index] = coming if merge is None else merge(view[index], coming)
    machine.memory.changed()


def _fits(sent: Sent, number: np.intp, array: Array | None, address: int, access: str) -> bool:
    """Whether a copy's bytes in shared memory are all in one array."""
    if array is None:
        sent.report(
            f"out-of-bounds-{access}", "shared", f"copies at address {address:#x}, far from every array", [number]
        )
        return False
    past = address - array.base + int(sent.nbytes[number]) - array.writable
    if past > 0 or address < array.base:
        sent.report(f"out-of-bounds-{access}", array.label, f"copies {past} bytes past the end of {array}", [number])
        return False
    return True


def _to_global(
    copy: BulkCopy, merge: Merge | None, machine: Machine, mask: Mask | None, at: Instruction, *operands: list[Values]
) -> Sequence[Any]:
    given = dict(zip(copy.operands, operands, strict=True))
    if mask is not None and not mask.count:
        return ()
    layout: TensorLayout | None
    source = given["source"][0]
    if "tensor" in given:
        boxes = _boxes(machine, mask, at, source, *given["tensor"])
        if boxes is None:
            return ()
        sent, layout, places = boxes
        if copy.reduction:
            merge = merge_of_tensor(copy.reduction, layout.kind)
            if merge is None:
                what = f"{at.mnemonic} of elements of type {layout.kind}"
                raise UnsupportedInstruction(f"there is no instruction {what}")
        wide, wide_places = widened(layout, places)
        offsets, inside, shared = box_elements(wide, wide_places, sent.shared)
        base_address, itemsize = layout.address, wide.itemsize
        runs = box_rows(layout, places)
    else:
        sent = sent_by(machine, mask, at, source, given["size"][0])
        targets = each_of(machine, sent.lanes, given["target"][0])
        steps = np.arange(0, int(sent.nbytes.max(initial=0)), 16)
        base_address, itemsize = int(targets.min()), 16
        offsets = (targets - np.uint64(base_address)).astype(np.int64)[:, np.newaxis] + steps
        inside, shared = steps < sent.nbytes[:, np.newaxis], np.broadcast_to(steps, offsets.shape)
        layout, runs = None, (targets[:, np.newaxis].astype(np.int64), sent.nbytes[:, np.newaxis])
    transfer = BulkTransfer(
        "store", at, machine.memory.spaces["global"], sent.lanes, sent.shared, *runs, int(runs[1].sum()), layout
    )
    machine.observers.bulk_copy(transfer)
    if machine.observers:
        machine.observers.event(Issued(sent.transfer(np.ones(len(sent.lanes), np.bool_), sent.block, writes=False)))
        tell_fetched(sent, mask)
    for number, lane in enumerate(sent.lanes):
        write = partial(_write_global, sent, number, transfer, merge, base_address, offsets[number][inside[number]])
        reads = partial(_read_for_global, sent, number, shared[number][inside[number]], itemsize, write)
        machine.bulk_groups.send(tuple(lane.tolist()), reads)
    return ()


def _read_for_global(
    sent: Sent, number: int, shared: NDArray[np.int64], itemsize: int, write: Callable[[NDArray[Any]], None]
) -> Callable[[], None]:
    """Read what one thread copies from shared memory, elements at offsets; what is to ``write`` that."""
    address = int(sent.shared[number]) & (RANK_BEGIN - 1)
    source = sent.machine.memory.spaces["shared"].at(address)
    if not _fits(sent, np.intp(number), source, address, "read") or source is None:
        return lambda: None
    first = address - source.base + int(sent.block[number]) * source.stride
    content = source.view(_dtype(itemsize))[(first + shared) // itemsize]
    return partial(write, content)


def _write_global(
    sent: Sent,
    number: int,
    transfer: BulkTransfer,
    merge: Merge | None,
    base: int,
    offsets: NDArray[np.int64],
    content: NDArray[Any],
) -> None:
    """Write what one thread copies, elements at offsets from a base."""
    machine, itemsize = sent.machine, content.dtype.itemsize
    target = machine.memory.spaces["global"].at(base)
    if target is None:
        sent.report("out-of-bounds-write", None, f"copies to address {base:#x}, far from every array", [number])
        return
    places = base - target.base + offsets
    stray = (places < 0) | (places + itemsize > target.permits("write"))
    if stray.any():
        past = int(places[stray].max()) + itemsize - target.writable
        sent.report("out-of-bounds-write", target.label, f"copies {past} bytes past the end of {target}", [number])
    going = ~stray
    view, index = target.view(content.dtype), places[going] // itemsize
    view[index] = content[going] if merge is None else merge(view[index], content[going])
    machine.memory.changed()
    if machine.observers:
        _tell_written(sent, number, transfer, target, places[going], itemsize)


def _tell_written(
    sent: Sent, number: int, transfer: BulkTransfer, target: Array, places: NDArray[np.int64], itemsize: int
) -> None:
    """Tell observers of each run of bytes that a thread's copy has written to global memory."""
    mask, places = sent.mask([number]), np.sort(places, axis=None)
    for run in np.split(places, np.flatnonzero(np.diff(places) != itemsize) + 1):
        if run.size:
            address, nbytes = np.full((1,) * 6, target.base + run[0], np.uint64), run.size * itemsize
            memory = sent.machine.memory.spaces["global"]
            sent.machine.observers.access(Access("copy", "global", memory, address, nbytes, mask, sent.at, transfer))


_WRITES = Effect("bulk copy", "writes", writes=True)
FAMILY = Family(
    "Bulk copies (TMA)",
    (
        Entry("cp.async.bulk", of_opcode(_bulk), r"cp\.async\.bulk\..*", _WRITES),
        Entry(
            "cp.reduce.async.bulk",
            of_opcode(_bulk),
            r"cp\.reduce\.async\.bulk\..*\.add\b.*",
            replace(_WRITES, verb="adds to", step="reduce"),
        ),
        Entry(
            "cp.reduce.async.bulk",
            of_opcode(_bulk),
            r"cp\.reduce\.async\.bulk\..*",
            replace(_WRITES, verb="changes", step="reduce"),
        ),
        Entry("prefetch.tensormap", of_opcode(_bulk), r"prefetch\..*tensormap"),
    ),
    since=(((9, 0), r"cp\.(reduce\.)?async\.bulk.*"), CLUSTER_SPACE, CACHE_HINT),
)

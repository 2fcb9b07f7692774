"""Bulk copies that threads issue: reports to observers, the places of their elements, and their memory accesses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.isa.asynchronous.bulk.copies import BulkCopy, Merge
from mmcore_emulator.machine.asynchronous.boxes import box_elements, box_rows, widened
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, Issued, Landed, Transfer, words_of
from mmcore_emulator.machine.asynchronous.tensor_maps import MAP_BYTES, TensorLayout, decode
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Execution, Machine
from mmcore_emulator.machine.memory.arrays import RANK_BEGIN, Array, memory_of
from mmcore_emulator.machine.observer import Access, BulkTransfer, LaneViolation, always
from mmcore_emulator.numerics.types import DType, Flags, Integers, Values
from mmcore_emulator.ptx.instructions import Instruction

_COPIED_MAP = ", which is in local memory: without __grid_constant__, a parameter's address is that of a thread's copy"
_GRID_CONSTANT = "const __grid_constant__ CUtensorMap as the parameter's type"


@dataclass(frozen=True)
class Sent:
    """The copies of one instruction; arrays have an element for each issuing thread."""

    machine: Machine
    at: Instruction
    lanes: Integers  # index of each thread along the six axes
    block: Integers  # number of its block in the batch
    shared: NDArray[np.uint64]  # address in shared memory
    nbytes: Integers  # bytes of each copy
    span: Integers  # bytes of shared memory from the first to the last of each copy

    def among_lanes(self, which: Any) -> Flags:
        """Return some of the threads, among all lanes of the batch."""
        lanes = np.zeros(self.machine.batch.shape, np.bool_)
        lanes[tuple(self.lanes[which].T)] = True
        return lanes

    def mask(self, which: Any) -> Mask | None:
        """Return some of the threads as a mask."""
        return self.machine.batch.narrow(None, self.among_lanes(which))

    def transfer(self, which: Any, block: Integers, **further: Any) -> Transfer:
        """Return some of the copies as a transfer for observers, in the shared memory of given blocks."""
        numbers = np.ravel_multi_index(tuple(self.lanes[which].T), self.machine.batch.shape)
        inside = (self.shared[which] & np.uint64(BLOCK_BYTES - 1)).astype(np.int64)
        words = words_of(block[which] * BLOCK_BYTES + inside, self.span[which])
        return Transfer(self.at, numbers[:, np.newaxis], words, **further)

    def report(self, kind: str, array: str | None, text: str, which: Any = slice(None)) -> None:
        """Report a violation by some of the threads."""
        self.machine.observers.report(LaneViolation(kind, array, self.at, self.among_lanes(which), lambda _: text))


def each_of(machine: Machine, lanes: Integers, values: Values) -> Values:
    """Return the values of some lanes."""
    return np.asarray(np.broadcast_to(values, machine.batch.shape)[tuple(lanes.T)])


def sent_by(execution: Execution, shared: Values, nbytes: Values | int, span: int | None = None) -> Sent:
    """Return the copies that the lanes of a mask issue, of addresses in shared memory and bytes as lanes."""
    machine, mask, at = execution
    lanes = np.argwhere(machine.batch.spread(mask))
    every = np.broadcast_to(np.asarray(nbytes, np.int64), machine.batch.shape)
    block = each_of(machine, lanes, machine.batch.block_index())
    counts = each_of(machine, lanes, every)
    spans = counts if span is None else np.full_like(counts, span)
    return Sent(machine, at, lanes, block, each_of(machine, lanes, shared), counts, spans)


def issued(sent: Sent, which: Flags, blocks: Integers, transfer: Transfer) -> Transfer:
    """Report to observers that copies to shared memory begin."""
    machine = sent.machine
    address, owner = np.zeros(machine.batch.shape, np.uint64), np.zeros(machine.batch.shape, np.int64)
    address[tuple(sent.lanes.T)] = sent.shared & np.uint64(RANK_BEGIN - 1)
    owner[tuple(sent.lanes.T)] = blocks
    nbytes = int(sent.span.max(initial=0))
    machine.observers.access(
        Access("copy", "shared", machine.memory.shared_of(owner), address, nbytes, sent.mask(which), sent.at)
    )
    machine.observers.event(Issued(transfer))
    return transfer


def landed(land: Callable[[], None], transfer: Transfer, machine: Machine) -> None:
    """Complete copies, and report that to observers."""
    machine.observers.event(Landed(transfer))
    land()


@dataclass(frozen=True)
class Placement:
    """The places of the elements of copies; an element of plain bytes is 16 bytes."""

    base: int  # address that offsets in global memory start at
    itemsize: int  # bytes of an element
    offsets: Integers  # bytes from the base to each element in the memory outside, [copies, elements]
    inside: Flags  # elements that exist in the memory outside, [copies, elements]
    shared: Integers  # bytes from the copy's address in shared memory to each element, [copies, elements]
    # Address and bytes of each run of neighbouring bytes outside, [copies, runs].
    begin: Integers
    nbytes: Integers
    layout: TensorLayout | None = None  # layout of the tensor; None for plain bytes
    coordinates: Integers | None = None  # coordinates of each box in elements, [copies, axes]

    def transfer(self, action: str, sent: Sent, delivered: int) -> BulkTransfer:
        """Return what observers see of the copies as they are sent."""
        space = sent.machine.memory.spaces["global"]
        runs = self.begin, self.nbytes
        return BulkTransfer(
            action, sent.at, space, sent.lanes, sent.shared, *runs, delivered, self.layout, self.coordinates
        )

    def reach(self, sent: Sent, number: int) -> int:
        """Return the bytes of shared memory that one copy spans; a swizzle may move chunks past its own."""
        swizzled = int(self.shared[number].max(initial=0)) + self.itemsize if self.layout else 0
        return max(int(sent.nbytes[number]), swizzled)

    def origins(self, sent: Sent) -> Integers:
        """Return the address in global memory of each 16 bytes in shared memory, [copies, chunks]; 0 for none."""
        origins = np.zeros((len(sent.lanes), -(-int(sent.span.max(initial=0)) // 16)), np.int64)
        chunks = self.inside & (self.shared % 16 == 0) & (self.shared < sent.span[:, np.newaxis])
        origins[np.nonzero(chunks)[0], self.shared[chunks] // 16] = self.base + self.offsets[chunks]
        return origins


def tell_fetched(sent: Sent, mask: Mask | None, placed: Placement) -> None:
    """Report to observers the reads by copies from shared memory, without elements that the tensor does not have."""
    if placed.layout is None or placed.inside.all():
        _tell_read(sent, mask, np.zeros(len(sent.lanes), np.int64), int(sent.span.max(initial=0)))
        return
    for number in range(len(sent.lanes)):
        places = np.sort(placed.shared[number][placed.inside[number]])
        for run in np.split(places, np.flatnonzero(np.diff(places) != placed.itemsize) + 1):
            if run.size:
                _tell_read(sent, sent.mask([number]), run[:1], run.size * placed.itemsize)


def _tell_read(sent: Sent, mask: Mask | None, first: Integers, nbytes: int) -> None:
    """Report the read of as many bytes by each thread, ``first`` bytes after the copy's address in shared memory."""
    machine, address = sent.machine, np.zeros(sent.machine.batch.shape, np.uint64)
    address[tuple(sent.lanes.T)] = (sent.shared & np.uint64(RANK_BEGIN - 1)) + first.astype(np.uint64)
    machine.observers.access(Access("fetch", "shared", machine.memory.spaces["shared"], address, nbytes, mask, sent.at))


def issue(copy: BulkCopy, execution: Execution, named: dict[str, list[Values]]) -> tuple[Sent, Placement] | None:
    """Return the copies that the lanes of a mask issue; None, and a violation, where no tensor map fits."""
    machine = execution.machine
    inside, outside = ("source", "target") if copy.target == "global" else ("target", "source")
    if not copy.axes:
        sent = sent_by(execution, named[inside][0], named["size"][0])
        return sent, _of_bytes(sent, each_of(machine, sent.lanes, named[outside][0]))
    address, *places = named["tensor"]
    layout = _layout(execution, address)
    if layout is None:
        machine.mbarriers.lost = True
        return None
    sent = sent_by(execution, named[inside][0], layout.nbytes, layout.span)
    coordinates = np.stack([each_of(machine, sent.lanes, each) for each in places], axis=-1)
    problems = layout.copy_problems(copy.axes, coordinates)
    for problem in problems:
        sent.report("illegal-address", None, problem.clause, problem.lanes)
    machine.mbarriers.lost |= bool(problems)
    return None if problems else (sent, _of_boxes(sent, layout, coordinates))


def _layout(execution: Execution, address: Values) -> TensorLayout | None:
    machine, mask, at = execution
    lanes = machine.batch.spread(mask)
    (named,) = np.unique(each_of(machine, np.argwhere(lanes), address))[:1]
    content = machine.memory.content("generic", int(named), MAP_BYTES)
    layout = decode(content.tobytes()) if content is not None else None
    if layout is None:
        text, hint = f"finds no tensor map at address {int(named):#x}", ""
        if memory_of(int(named)) == "local":
            text, hint = text + _COPIED_MAP, _GRID_CONSTANT
        machine.observers.report(LaneViolation("illegal-address", None, at, lanes, always(text), hint=always(hint)))
    return layout


def _of_boxes(sent: Sent, layout: TensorLayout, coordinates: Values) -> Placement:
    wide, places = widened(layout, coordinates)
    offsets, inside, shared = box_elements(wide, places, sent.shared)
    elements = offsets, np.broadcast_to(inside, offsets.shape), np.broadcast_to(shared, offsets.shape)
    signed = coordinates.astype(np.int32).astype(np.int64)
    rows = box_rows(layout, coordinates)
    return Placement(layout.address, wide.itemsize, *elements, *rows, layout, signed)


def _of_bytes(sent: Sent, addresses: NDArray[np.uint64]) -> Placement:
    steps, base = np.arange(0, int(sent.nbytes.max(initial=0)), 16), int(addresses.min(initial=2**63))
    begin, nbytes = addresses.astype(np.int64)[:, np.newaxis], sent.nbytes[:, np.newaxis]
    offsets, inside = begin - base + steps, steps < nbytes
    return Placement(base, 16, offsets, inside, np.broadcast_to(steps, inside.shape), begin, nbytes)


def read_global(sent: Sent, placed: Placement) -> NDArray[np.generic]:
    """Return the elements of copies from global memory, [copies, elements]; the map's fill for those not inside."""
    array, itemsize, dtype = sent.machine.memory.spaces["global"].at(placed.base), placed.itemsize, _dtype(placed)
    if array is None:
        sent.report("out-of-bounds-read", None, f"copies from address {placed.base:#x}, far from every array")
        return np.zeros(placed.offsets.shape, dtype)
    places = placed.base - array.base + placed.offsets
    inside = placed.inside
    stray = inside & ((places < 0) | (places + itemsize > array.readable))
    if stray.any():
        past = int(np.max(places[stray])) + itemsize - array.readable
        text = f"copies {past} bytes past the end of {array}"
        sent.report("out-of-bounds-read", array.label, text, stray.any(axis=1))
        inside = inside & ~stray
    elements = array.view(dtype)[np.where(inside, places // itemsize, 0)]
    holds_numbers = sent.machine.memory.holds_numbers
    nan = holds_numbers and placed.layout is not None and placed.layout.nan
    fill = np.frombuffer(placed.layout.fill, dtype)[0] if placed.layout and nan else dtype.type(0)
    return np.asarray(np.where(inside, elements, fill))


def read_shared(sent: Sent, placed: Placement) -> NDArray[np.generic]:
    """Return plain bytes of the shared memory of the threads' own blocks, [copies, elements]."""
    content = np.zeros(placed.inside.shape, _dtype(placed))
    for number, source in enumerate(placed.begin[:, 0]):
        inside = placed.inside[number]
        place = _shared(sent, number, placed, int(source), int(sent.block[number]), "read")
        if place is not None:
            array, first = place
            content[number, inside] = array.view(content.dtype)[(first + placed.shared[number][inside]) // 16]
    return content


def read_shared_elements(sent: Sent, number: int, placed: Placement) -> NDArray[np.generic] | None:
    """Return what one thread copies from shared memory, the elements that the tensor has; None out of bounds."""
    place = _shared(sent, number, placed, int(sent.shared[number]), int(sent.block[number]), "read")
    if place is None:
        return None
    array, first = place
    places = first + placed.shared[number][placed.inside[number]]
    return np.asarray(array.view(_dtype(placed))[places // placed.itemsize])


def write_shared(
    sent: Sent, number: int, placed: Placement, content: NDArray[np.generic], merge: Merge | None, block: int
) -> None:
    """Write what one thread copies into the shared memory of a block."""
    place = _shared(sent, number, placed, int(sent.shared[number]), block, "write")
    if place is None:
        return
    array, first = place
    places, coming = placed.shared[number], content[number]
    if placed.layout is None:
        places, coming = places[placed.inside[number]], coming[placed.inside[number]]
    view, index = array.view(content.dtype), (first + places) // placed.itemsize
    view[index] = coming if merge is None else merge(view[index], coming)


def _shared(
    sent: Sent, number: int, placed: Placement, address: int, block: int, access: str
) -> tuple[Array, int] | None:
    """Return an array of shared memory and a block's place in it; None, and a violation, past its end."""
    address &= RANK_BEGIN - 1
    kind, array = f"out-of-bounds-{access}", sent.machine.memory.spaces["shared"].at(address)
    if array is None:
        sent.report(kind, "shared", f"copies at address {address:#x}, far from every array", [number])
        return None
    past = address - array.base + placed.reach(sent, number) - array.writable
    if past > 0 or address < array.base:
        sent.report(kind, array.label, f"copies {array.behind(past)}", [number])
        return None
    return array, address - array.base + block * array.stride


def write_global(
    sent: Sent, number: int, placed: Placement, content: NDArray[np.generic], merge: Merge | None
) -> tuple[Array, Integers] | None:
    """Write what one thread copies; return the array and the places of the elements in it, None far from every one."""
    target, itemsize = sent.machine.memory.spaces["global"].at(placed.base), placed.itemsize
    if target is None:
        text = f"copies to address {placed.base:#x}, far from every array"
        sent.report("out-of-bounds-write", None, text, [number])
        return None
    places = placed.base - target.base + placed.offsets[number][placed.inside[number]]
    stray = (places < 0) | (places + itemsize > target.permits("write"))
    if stray.any():
        past = int(places[stray].max()) + itemsize - target.writable
        sent.report("out-of-bounds-write", target.label, f"copies {past} bytes past the end of {target}", [number])
    places, content = places[~stray], content[~stray]
    view, index = target.view(content.dtype), places // itemsize
    view[index] = content if merge is None else merge(view[index], content)
    sent.machine.memory.changed()
    return target, places


def _dtype(placed: Placement) -> DType:
    return np.dtype(np.complex128 if placed.itemsize == 16 else f"u{placed.itemsize}")

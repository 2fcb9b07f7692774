"""Bulk copies between global and shared memory, of boxes of tensors and of plain bytes.

Those to shared memory land when somebody waits for their mbarrier, those to global memory when their thread waits for
their group, or at the kernel's end: as late as they may. What they read, they read then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.actions import Action, Part
from mmcore_emulator.asynchronous.bulk_copies import BulkCopy, bulk_problems, parse_copy
from mmcore_emulator.asynchronous.mbarriers import complete_tx, initialised
from mmcore_emulator.asynchronous.tensor_maps import MAP_BYTES, TensorLayout, box_elements, decode, widened
from mmcore_emulator.floats import Values
from mmcore_emulator.lanes import Mask
from mmcore_emulator.memory import Array
from mmcore_emulator.observer import Access, LaneViolation
from mmcore_emulator.ptx import Instruction
from mmcore_emulator.step import RANK_BEGIN, Ports

_PARTS = {
    **{name: Part("address") for name in ("target", "source", "mbarrier")},
    "tensor": Part("tensor"),
    "size": Part("source", "u32"),
    "mask": Part("source", "u16"),
    "policy": Part("source", "b64"),
    "count": Part("source", "s32"),
}


def bulk_action(opcode: tuple[str, ...]) -> Action | None:
    """What runs a bulk copy, or waits for some; None for another instruction, and for what is not known."""
    copy = parse_copy(opcode)
    if copy is None or not set(copy.operands) <= _PARTS.keys():
        return None
    parts = tuple(_PARTS[name] for name in copy.operands)
    if copy.action in ("prefetch", "prefetch_map"):
        return Action(lambda *_: (), parts)
    if copy.action == "commit_group":
        return Action(lambda ports, mask, at: ports.bulk_groups.commit(mask) or ())
    if copy.action == "wait_group":
        return Action(lambda ports, mask, at, most: ports.bulk_groups.land(int(most[0].item()), mask) or (), parts)
    if copy.action == "copy" and copy.source != "cta":
        return Action(partial(_to_shared, copy), parts)
    if copy.action == "copy" and copy.target == "global":
        return Action(partial(_to_global, copy), parts)
    return None


@dataclass(frozen=True)
class _Sent:
    """What some threads have sent with one instruction; arrays have an element for each of them.

    Attributes:
        lanes: index of each along the six axes.
        block: number of its block in the batch.
        shared: address in shared memory of what is copied.
        nbytes: of each copy.
    """

    ports: Ports
    at: Instruction
    lanes: NDArray[np.int64]
    block: NDArray[np.int64]
    shared: NDArray[np.uint64]
    nbytes: NDArray[np.int64]

    def among_lanes(self, which: Any) -> NDArray[np.bool_]:
        """Some of them, among all lanes of the batch."""
        lanes = np.zeros(self.ports.shape, np.bool_)
        lanes[tuple(self.lanes[which].T)] = True
        return lanes

    def mask(self, which: Any) -> Mask | None:
        """The same as a mask."""
        found: Mask | None = self.ports.narrow(None, self.among_lanes(which))
        return found

    def report(self, kind: str, array: str | None, text: str, which: Any = slice(None)) -> None:
        """Report what some of them do wrong."""
        self.ports.report(LaneViolation(kind, array, self.at, self.among_lanes(which), lambda _: text))


def _each(ports: Ports, lanes: NDArray[np.int64], values: Values) -> Values:
    """The values of some lanes."""
    return np.asarray(np.broadcast_to(values, ports.shape)[tuple(lanes.T)])


def _sent(ports: Ports, mask: Mask | None, at: Instruction, shared: Values, nbytes: Values | int) -> _Sent:
    lanes = np.argwhere(ports.spread(mask))
    every = np.broadcast_to(np.asarray(nbytes, np.int64), ports.shape)
    block = _each(ports, lanes, ports.block_index)
    return _Sent(ports, at, lanes, block, _each(ports, lanes, shared), _each(ports, lanes, every))


def _layout(ports: Ports, mask: Mask | None, at: Instruction, address: Values) -> TensorLayout | None:
    """The tensor map at the address that these lanes name; None, and a violation, where there is none."""
    lanes = np.argwhere(ports.spread(mask))
    (named,) = np.unique(_each(ports, lanes, address))[:1]
    content = ports.content("generic", int(named), MAP_BYTES)
    layout = decode(content.tobytes()) if content is not None else None
    if layout is None:
        text = f"finds no tensor map at address {int(named):#x}"
        ports.report(LaneViolation("illegal-address", None, at, ports.spread(mask), lambda _: text))
    return layout


def _boxes(
    ports: Ports, mask: Mask | None, at: Instruction, shared: Values, base: Values, *coordinates: Values
) -> tuple[_Sent, TensorLayout, NDArray[Any]] | None:
    """Copies of boxes, the tensor and the boxes' coordinates in it; None where there is no tensor map."""
    layout = _layout(ports, mask, at, base)
    if layout is None:
        return None
    sent = _sent(ports, mask, at, shared, layout.nbytes)
    return sent, layout, np.stack([_each(ports, sent.lanes, each) for each in coordinates], axis=-1)


def _to_shared(
    copy: BulkCopy, ports: Ports, mask: Mask | None, at: Instruction, *operands: list[Values]
) -> Sequence[Any]:
    given = dict(zip(copy.operands, operands, strict=True))
    if mask is not None and not mask.count:
        return ()
    target, mbarrier = given["target"][0], given["mbarrier"][0]
    read: Callable[[], tuple[NDArray[Any], NDArray[Any]]]
    if "tensor" in given:
        boxes = _boxes(ports, mask, at, target, *given["tensor"])
        if boxes is None:
            return ()
        sent, layout, places = boxes
        for problem in layout.destination_problems(sent.shared):
            sent.report(
                "misaligned", "shared", f"copies a box to a place that cannot be: {problem.clause}", problem.lanes
            )
        read = partial(_read_boxes, sent, layout, places)
    else:
        sent = _sent(ports, mask, at, target, given["size"][0])
        sources = _each(ports, sent.lanes, given["source"][0])
        for problem in bulk_problems(sent.shared, sources, sent.nbytes):
            sent.report("misaligned", "shared", f"copies in bulk, and {problem.clause}", problem.lanes)
        read = partial(_read_bytes, sent, sources)
    masks = _each(ports, sent.lanes, given["mask"][0]) if "mask" in given else None
    ranks = range(16) if masks is not None else (None,)
    for rank in ranks:
        which = np.ones(len(sent.lanes), np.bool_) if masks is None or rank is None else (masks >> rank) & 1 != 0
        if which.any():
            block = ports.block_index if rank is None else ports.block_of_rank(rank)
            land = partial(
                _land, sent, which, read, _each(ports, sent.lanes, block), _each(ports, sent.lanes, mbarrier)
            )
            ports.in_flight.send(mbarrier, sent.mask(which), land, block)
    return ()


def _land(
    sent: _Sent,
    which: NDArray[np.bool_],
    read: Callable[[], tuple[NDArray[Any], NDArray[Any]]],
    block: NDArray[np.int64],
    mbarrier: NDArray[np.uint64],
) -> None:
    """Write what was copied into shared memory, and complete its bytes."""
    content, places = read()
    _write_shared(sent, which, content, places, block)
    for number in np.flatnonzero(which):
        word = _shared_words(sent, mbarrier[number], block[number])
        if word is None or not initialised(word).all():
            sent.report("mbarrier-misuse", "shared", "copies in bulk to an mbarrier that is not initialised", [number])
        else:
            word[:] = complete_tx(word, sent.nbytes[number : number + 1])


def _shared_words(sent: _Sent, address: np.uint64, block: np.int64) -> NDArray[np.uint64] | None:
    """The mbarrier object at an address of a block's shared memory, as an array of one word."""
    inside = int(address) & (RANK_BEGIN - 1)
    array = sent.ports.spaces["shared"].at(inside)
    if array is None or not 0 <= inside - array.base <= array.writable - 8:
        return None
    first = (inside - array.base + int(block) * array.stride) // 8
    words: NDArray[np.uint64] = array.view(np.dtype(np.uint64))[first : first + 1]
    return words


def _read_boxes(sent: _Sent, layout: TensorLayout, places: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The elements of boxes [copies, elements], and where in shared memory each is to lie."""
    wide, coordinates = widened(layout, places)
    offsets, inside, shared = box_elements(wide, coordinates, sent.shared)
    return _global(sent, layout.address, offsets, inside, wide.itemsize), shared


def _read_bytes(sent: _Sent, sources: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[Any]]:
    size = int(sent.nbytes.max(initial=0))
    steps = np.arange(0, size, 16)
    base = int(sources.min(initial=2**63))
    offsets = (sources - np.uint64(base)).astype(np.int64)[:, np.newaxis] + steps
    inside = steps < sent.nbytes[:, np.newaxis]
    return _global(sent, base, offsets, inside, 16), np.where(inside, steps, -1)


def _dtype(itemsize: int) -> np.dtype[Any]:
    return np.dtype(np.complex128) if itemsize == 16 else np.dtype(f"u{itemsize}")


def _global(
    sent: _Sent, base: int, offsets: NDArray[np.int64], inside: NDArray[np.bool_], itemsize: int
) -> NDArray[Any]:
    """Elements of global memory; zeros for those that are not inside."""
    array, dtype = sent.ports.spaces["global"].at(base), _dtype(itemsize)
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
    sent: _Sent, which: NDArray[np.bool_], content: NDArray[Any], places: NDArray[np.int64], block: NDArray[np.int64]
) -> None:
    itemsize = content.dtype.itemsize
    ports = sent.ports
    for number in np.flatnonzero(which):
        address = int(sent.shared[number]) & (RANK_BEGIN - 1)
        array = ports.spaces["shared"].at(address)
        if not _fits(sent, number, array, address, "write"):
            continue
        offsets = places[number] if places.ndim > 1 else places
        there = offsets >= 0
        first = address - array.base + int(block[number]) * array.stride
        array.view(content.dtype)[(first + offsets[there]) // itemsize] = content[number][there]
    ports.changed()
    if (block == sent.block).all():
        every = np.zeros(ports.shape, np.uint64)
        every[tuple(sent.lanes.T)] = sent.shared
        nbytes = int(sent.nbytes.max(initial=0))
        ports.tell(Access("copy", "shared", ports.spaces["shared"], every, nbytes, sent.mask(which), sent.at))


def _fits(sent: _Sent, number: np.intp, array: Array | None, address: int, access: str) -> bool:
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
    copy: BulkCopy, ports: Ports, mask: Mask | None, at: Instruction, *operands: list[Values]
) -> Sequence[Any]:
    given = dict(zip(copy.operands, operands, strict=True))
    if mask is not None and not mask.count:
        return ()
    source = given["source"][0]
    if "tensor" in given:
        boxes = _boxes(ports, mask, at, source, *given["tensor"])
        if boxes is None:
            return ()
        sent, layout, places = boxes
        wide, wide_places = widened(layout, places)
        offsets, inside, shared = box_elements(wide, wide_places, sent.shared)
        base_address, itemsize = layout.address, wide.itemsize
    else:
        sent = _sent(ports, mask, at, source, given["size"][0])
        targets = _each(ports, sent.lanes, given["target"][0])
        steps = np.arange(0, int(sent.nbytes.max(initial=0)), 16)
        base_address, itemsize = int(targets.min()), 16
        offsets = (targets - np.uint64(base_address)).astype(np.int64)[:, np.newaxis] + steps
        inside, shared = steps < sent.nbytes[:, np.newaxis], np.broadcast_to(steps, offsets.shape)
    for number, lane in enumerate(sent.lanes):
        lands = partial(
            _write_global, sent, number, base_address, offsets[number], inside[number], shared[number], itemsize
        )
        ports.bulk_groups.send(tuple(lane.tolist()), lands)
    return ()


def _write_global(
    sent: _Sent,
    number: int,
    base: int,
    offsets: NDArray[np.int64],
    inside: NDArray[np.bool_],
    shared: NDArray[np.int64],
    itemsize: int,
) -> None:
    """Read what one thread copies from shared memory, and write it."""
    ports, dtype = sent.ports, _dtype(itemsize)
    address = int(sent.shared[number]) & (RANK_BEGIN - 1)
    source, target = ports.spaces["shared"].at(address), ports.spaces["global"].at(base)
    if not _fits(sent, np.intp(number), source, address, "read"):
        return
    if target is None:
        sent.report("out-of-bounds-write", None, f"copies to address {base:#x}, far from every array", [number])
        return
    places = base - target.base + offsets
    stray = inside & ((places < 0) | (places + itemsize > target.permits("write")))
    if stray.any():
        past = int(places[stray].max()) + itemsize - target.writable
        sent.report("out-of-bounds-write", target.label, f"copies {past} bytes past the end of {target}", [number])
    going = inside & ~stray
    first = address - source.base + int(sent.block[number]) * source.stride
    content = source.view(dtype)[(first + shared[going]) // itemsize]
    target.view(dtype)[places[going] // itemsize] = content
    ports.changed()
    if ports.watched:
        _tell_written(sent, number, target, places[going], itemsize)


def _tell_written(sent: _Sent, number: int, target: Array, places: NDArray[np.int64], itemsize: int) -> None:
    """Tell observers of each run of bytes that a thread's copy has written to global memory."""
    mask = sent.mask([number])
    for place in places.tolist():
        address = np.full((1,) * 6, target.base + place, np.uint64)
        sent.ports.tell(Access("copy", "global", sent.ports.spaces["global"], address, itemsize, mask, sent.at))

"""Memory as bulk copies read and write it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.isa.asynchronous.bulk.issue import Sent
from mmcore_emulator.isa.asynchronous.bulk.placement import Placement
from mmcore_emulator.isa.asynchronous.bulk.reductions import Merge
from mmcore_emulator.machine.memory.addresses import RANK_BEGIN
from mmcore_emulator.machine.memory.arrays import Array


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
    found = array.view(dtype)[np.where(inside, places // itemsize, 0)]
    fill = np.frombuffer(placed.layout.fill, dtype)[0] if placed.layout and placed.layout.nan else dtype.type(0)
    return np.asarray(np.where(inside, found, fill))


def read_shared(sent: Sent, placed: Placement) -> NDArray[np.generic]:
    """Return plain bytes of the shared memory of the threads' own blocks, [copies, elements]."""
    content = np.zeros(placed.inside.shape, _dtype(placed))
    for number, source in enumerate(placed.begin[:, 0]):
        inside = placed.inside[number]
        found = _shared(sent, number, placed, int(source), int(sent.block[number]), "read")
        if found is not None:
            array, first = found
            content[number, inside] = array.view(content.dtype)[(first + placed.shared[number][inside]) // 16]
    return content


def read_shared_elements(sent: Sent, number: int, placed: Placement) -> NDArray[np.generic] | None:
    """Return what one thread copies from shared memory, the elements that the tensor has; None out of bounds."""
    found = _shared(sent, number, placed, int(sent.shared[number]), int(sent.block[number]), "read")
    if found is None:
        return None
    array, first = found
    places = first + placed.shared[number][placed.inside[number]]
    return np.asarray(array.view(_dtype(placed))[places // placed.itemsize])


def write_shared(
    sent: Sent, number: int, placed: Placement, content: NDArray[np.generic], merge: Merge | None, block: int
) -> None:
    """Write what one thread copies into the shared memory of a block."""
    found = _shared(sent, number, placed, int(sent.shared[number]), block, "write")
    if found is None:
        return
    array, first = found
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
        sent.report(kind, array.label, f"copies {past} bytes past the end of {array}", [number])
        return None
    return array, address - array.base + block * array.stride


def write_global(
    sent: Sent, number: int, placed: Placement, content: NDArray[np.generic], merge: Merge | None
) -> tuple[Array, NDArray[np.int64]] | None:
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


def _dtype(placed: Placement) -> np.dtype[np.generic]:
    return np.dtype(np.complex128 if placed.itemsize == 16 else f"u{placed.itemsize}")

"""Threads as array elements.

The threads of a batch of blocks are the elements of a six-dimensional array with axes
(block z, thread z, block y, thread y, block x, thread x). A value that depends on some of these indices only, such as
a row number, has extent 1 along the others. numpy broadcasts it when it is combined with a value that varies along
them. So most address arithmetic of a matrix product handles a few dozen numbers instead of one per thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.limits import WARP, Dim3
from mmcore_emulator.numerics.types import Flags, Integers, Values

# A batch's arrays should fit the processor's second-level cache, but be long enough to hide Python's overhead.
LANES_PER_BATCH = 20480
# The most bytes of shared and local memory in one batch; with more, fewer blocks run together.
COPIED_BYTES_PER_BATCH = 128 << 20

SPECIAL_REGISTERS = frozenset(
    [f"%{name}.{axis}" for name in ("tid", "ctaid", "ntid", "nctaid") for axis in "xyz"]
    + [f"%{name}.{axis}" for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for axis in "xyz"]
    + [f"%lanemask_{order}" for order in ("eq", "lt", "le", "gt", "ge")]
    + ["%laneid", "%warpid", "%nwarpid", "WARP_SZ", "%cluster_ctarank", "%cluster_nctarank", "%smid", "%nsmid"]
    + ["%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size"]
)
ONE_BLOCK = Dim3(1, 1, 1)
CLOCKS = {"%clock": "u32", "%clock_hi": "u32", "%clock64": "u64"}
CLOCKS |= {"%globaltimer": "u64", "%globaltimer_lo": "u32", "%globaltimer_hi": "u32"}
"""Registers that contain the time, and their types; here they count instructions."""

Shape6 = tuple[int, ...]
THREAD_AXES = (1, 3, 5)
_BLOCK_AXES = {"x": 4, "y": 2, "z": 0}
_THREAD_AXES = {"x": 5, "y": 3, "z": 1}


def along(axis: int, values: Values) -> Values:
    """Return one-dimensional ``values`` as lanes that vary along one axis."""
    shape = [1] * 6
    shape[axis] = len(values)
    return values.reshape(shape)


@dataclass(frozen=True)
class Batch:
    """A box of blocks that run together."""

    grid: Dim3  # the whole grid
    block: Dim3  # threads of each block
    first: Dim3  # index of the box's first block
    extent: Dim3  # blocks of the box along x, y, z
    cluster: Dim3 = ONE_BLOCK  # blocks of a cluster
    multiprocessors: int = 132  # of the device
    shape: Shape6 = field(init=False)

    def __post_init__(self) -> None:
        shape = (self.extent.z, self.block.z, self.extent.y, self.block.y, self.extent.x, self.block.x)
        object.__setattr__(self, "shape", shape)

    @property
    def lanes(self) -> int:
        """Number of threads."""
        return self.extent.size * self.block.size

    def spread(self, mask: Mask | None) -> Flags:
        """Return the lanes of a mask (None for all) along all axes in full."""
        return np.broadcast_to(np.True_ if mask is None else mask.lanes, self.shape)

    def narrow(self, mask: Mask | None, predicate: Values) -> Mask | None:
        """Return the lanes of ``mask`` whose predicate is true; None for all lanes of the batch."""
        return self.mask(predicate if mask is None else mask.lanes & predicate)

    def mask(self, lanes: Flags) -> Mask | None:
        """Return lanes as a mask; None for all lanes of the batch."""
        return None if lanes.all() else Mask(lanes, self)

    def special(self, name: str) -> NDArray[np.uint32]:
        """Return one of the SPECIAL_REGISTERS, as lanes."""
        register, _, axis = name.removeprefix("%").partition(".")
        if register == "tid":
            return along(_THREAD_AXES[axis], np.arange(getattr(self.block, axis), dtype=np.uint32))
        if register == "ctaid":
            first, extent = getattr(self.first, axis), getattr(self.extent, axis)
            return along(_BLOCK_AXES[axis], np.arange(first, first + extent, dtype=np.uint32))
        if register in ("ntid", "nctaid"):
            return uniform(getattr(self.block if register == "ntid" else self.grid, axis))
        if axis and "cluster" in register:
            return self._of_cluster(register, axis)
        of_blocks: dict[str, Callable[[], NDArray[np.uint32]]] = {
            "WARP_SZ": lambda: uniform(WARP),
            "nwarpid": lambda: uniform(-(-self.block.size // WARP)),
            "cluster_nctarank": lambda: uniform(self.cluster.size),
            "cluster_ctarank": self._rank,
            "nsmid": lambda: uniform(self.multiprocessors),
            "smid": lambda: self.number_in_grid().astype(np.uint32) % np.uint32(self.multiprocessors),
        }
        if register in of_blocks:
            return of_blocks[register]()
        if register.startswith("lanemask"):
            lane = np.uint32(1) << (self.thread_index().astype(np.uint32) % np.uint32(WARP))
            below = lane - np.uint32(1)
            masks = {"eq": lane, "lt": below, "le": lane | below, "gt": ~(lane | below), "ge": ~below}
            return masks[register.rpartition("_")[2]]
        thread = self.thread_index().astype(np.uint32)
        return thread % np.uint32(WARP) if register == "laneid" else thread // np.uint32(WARP)

    def _of_cluster(self, register: str, axis: str) -> NDArray[np.uint32]:
        """Return a special register of clusters along an axis."""
        extent, block = np.uint32(getattr(self.cluster, axis)), self.special(f"%ctaid.{axis}")
        registers: dict[str, Callable[[], NDArray[np.uint32]]] = {
            "clusterid": lambda: block // extent,
            "nclusterid": lambda: uniform(getattr(self.grid, axis) // int(extent)),
            "cluster_ctaid": lambda: block % extent,
            "cluster_nctaid": lambda: uniform(int(extent)),
        }
        return registers[register]()

    def _rank(self) -> NDArray[np.uint32]:
        """Return the number of each block in its cluster, x fastest."""
        x, y, z = (self._of_cluster("cluster_ctaid", axis) for axis in "xyz")
        return np.asarray(x + np.uint32(self.cluster.x) * (y + np.uint32(self.cluster.y) * z))

    def block_of_rank(self, rank: Values | int) -> Integers:
        """Return the number in the batch of the block of a rank in each lane's cluster; -1 for a missing rank."""
        numbers, place = np.asarray(rank).astype(np.int64), np.zeros((1,) * 6, np.int64)
        rest, step = numbers, 1
        for axis in "xyz":
            extent, index = getattr(self.cluster, axis), self.special(f"%ctaid.{axis}").astype(np.int64)
            inside = index - getattr(self.first, axis)
            place = place + (inside // extent * extent + rest % extent) * step
            rest, step = rest // extent, step * getattr(self.extent, axis)
        return np.where(rest == 0, place, -1)

    def by_cluster(self, reduce: Callable[..., Values], values: Values) -> Values:
        """Reduce values, given along all axes in full, over each lane's cluster."""
        shape: list[int] = []
        axes: list[int] = []
        for blocks, threads, inside in zip(self.shape[::2], self.shape[1::2], self.cluster[::-1], strict=True):
            axes += [len(shape) + 1, len(shape) + 2]
            shape += [blocks // inside, inside, threads]
        reduced = reduce(values.reshape(shape), axis=tuple(axes), keepdims=True)
        return np.broadcast_to(reduced, shape).reshape(self.shape)

    def thread_index(self) -> Integers:
        """Return the number of each thread in its block, x fastest; extent 1 along the block axes."""
        x, y, z = (along(_THREAD_AXES[axis], np.arange(getattr(self.block, axis))) for axis in "xyz")
        return np.asarray(x + self.block.x * (y + self.block.y * z))

    def block_index(self) -> Integers:
        """Return the number of each block in the batch, x fastest; extent 1 along the thread axes."""
        x, y, z = (along(_BLOCK_AXES[axis], np.arange(getattr(self.extent, axis))) for axis in "xyz")
        return np.asarray(x + self.extent.x * (y + self.extent.y * z))

    def number_in_grid(self) -> Integers:
        """Return the number of each block in the grid, x fastest; extent 1 along the thread axes."""
        x, y, z = (self.special(f"%ctaid.{axis}").astype(np.int64) for axis in "xyz")
        return np.asarray(x + self.grid.x * (y + self.grid.y * z))

    def of_number(self, number: int) -> tuple[Dim3, Dim3]:
        """Return (block, thread) for a thread's number in the grid, blocks before threads, x fastest."""
        block, thread = divmod(number, self.block.size)
        return _index_of(block, self.grid), _index_of(thread, self.block)

    def position(self, lane: tuple[int, ...]) -> tuple[Dim3, Dim3]:
        """Return (block, thread) for a lane's index along the six axes."""
        block = Dim3(self.first.x + lane[4], self.first.y + lane[2], self.first.z + lane[0])
        return block, Dim3(lane[5], lane[3], lane[1])

    def first_of(self, lanes: Flags) -> tuple[int, ...]:
        """Return the index along the six axes of the first true lane, blocks before threads, x fastest."""
        indices = np.argwhere(np.broadcast_to(lanes, self.shape))
        order = np.lexsort((indices[:, 5], indices[:, 3], indices[:, 1], indices[:, 4], indices[:, 2], indices[:, 0]))
        return tuple(indices[order[0]].tolist())


def _index_of(number: int, extent: Dim3) -> Dim3:
    return Dim3(number % extent.x, number // extent.x % extent.y, number // extent.x // extent.y)


def uniform(value: int) -> NDArray[np.uint32]:
    """Return the same 32-bit number in every lane."""
    return np.full((1,) * 6, value, dtype=np.uint32)


def batches(
    grid: Dim3,
    block: Dim3,
    copied_bytes: int = 0,
    lanes: int = LANES_PER_BATCH,
    cluster: Dim3 = ONE_BLOCK,
    multiprocessors: int = 132,
) -> Iterator[Batch]:
    """Yield the grid in boxes of whole clusters, of about ``lanes`` lanes each, in launch order.

    A block has ``copied_bytes`` of shared and local memory.
    """
    blocks = max(1, min(lanes // block.size, COPIED_BYTES_PER_BATCH // max(1, copied_bytes)))
    together = max(1, blocks // cluster.size)
    wide = min(grid.x // cluster.x, together)
    high = min(grid.y // cluster.y, together // wide) if wide == grid.x // cluster.x else 1
    wide, high = wide * cluster.x, high * cluster.y
    for z in range(0, grid.z, cluster.z):
        for y in range(0, grid.y, high):
            for x in range(0, grid.x, wide):
                extent = Dim3(min(wide, grid.x - x), min(high, grid.y - y), cluster.z)
                yield Batch(grid, block, Dim3(x, y, z), extent, cluster, multiprocessors)


class Mask:
    """The lanes that execute an instruction, if not all do."""

    def __init__(self, lanes: Flags, batch: Batch) -> None:
        self.lanes = lanes
        self._batch = batch
        self._reduced: dict[Shape6, Flags] = {}
        self._count: int | None = None
        self._key: tuple[Shape6, bytes] | None = None

    def merge(self, new: Values, old: Values) -> Values:
        """Return ``new`` in these lanes, ``old`` elsewhere."""
        return np.where(self.lanes, new, old)

    @property
    def count(self) -> int:
        """Number of lanes."""
        if self._count is None:
            self._count = int(self.lanes.sum()) * (self._batch.lanes // self.lanes.size)
        return self._count

    @property
    def key(self) -> tuple[Shape6, bytes]:
        """A value that two masks of the batch share if and only if their lanes are equal."""
        if self._key is None:
            self._key = self.lanes.shape, np.packbits(self.lanes).tobytes()
        return self._key

    def over(self, shape: Shape6) -> Flags:
        """Return, for values of ``shape``, the elements that belong to any of these lanes."""
        if shape not in self._reduced:
            axes = tuple(axis for axis in range(6) if shape[axis] == 1 and self.lanes.shape[axis] > 1)
            reduced = self.lanes.any(axis=axes, keepdims=True) if axes else self.lanes
            self._reduced[shape] = np.broadcast_to(reduced, np.broadcast_shapes(reduced.shape, shape))
        return self._reduced[shape]


def add_waiting(waiting: dict[int, Mask | None], index: int, mask: Mask | None, batch: Batch) -> None:
    """Add lanes to the lanes that wait at the place of a number; an empty mask adds none."""
    if mask is not None and not mask.count:
        return
    if index in waiting:
        already = waiting[index]
        mask = None if already is None or mask is None else batch.mask(already.lanes | mask.lanes)
    waiting[index] = mask

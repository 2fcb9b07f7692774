"""The counters of a launch, as the emulator or a GPU's profiler reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from mmcore_emulator.isa.matrix.products import Product

SECTOR_BYTES = 32


@dataclass(frozen=True)
class Counters:
    """Counters of one or several launches, once per thread, or, where a comment says so, once per warp.

    A *request* is one access instruction executed by one warp, however many of its threads are active. *Sectors* are
    the distinct aligned 32-byte pieces of global or local memory that a request touches. *Wavefronts* are the passes
    that it takes over shared memory's 32 banks of 4 bytes. *Bytes* are the bytes that threads ask for.
    """

    thread_instructions: int = 0
    warp_instructions: int = 0  # once per warp that has a thread in the instruction
    fmas: int = 0  # fused multiply-adds, two of a pair of halves, without those of tensor cores
    flops: int = 0  # floating-point operations, without those of tensor cores; a fused multiply-add is two
    tensor_instructions: int = 0  # mma.sync, wmma.mma and wgmma.mma_async, once per warp
    tensor_flops: int = 0  # their floating-point or integer operations, 2·m·n·k of each product
    global_loads: int = 0  # once per thread; a vector is one
    global_load_bytes: int = 0
    global_load_requests: int = 0
    global_load_sectors: int = 0
    # Transactions of compute capability 1.2: distinct aligned segments of each half-warp, of 128 bytes, or of 64 and 32
    # for elements of 2 bytes and 1.
    global_load_transactions_cc1x: int = 0
    global_stores: int = 0
    global_store_bytes: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_atomics: int = 0
    global_atomic_requests: int = 0
    global_atomic_sectors: int = 0
    local_loads: int = 0  # of arrays in local memory, once per thread; PTX has no spilled registers
    local_load_bytes: int = 0
    local_load_requests: int = 0
    local_load_sectors: int = 0  # words of neighbouring threads are neighbours: 4 for a word at one offset of a warp
    local_stores: int = 0
    local_store_bytes: int = 0
    local_store_requests: int = 0
    local_store_sectors: int = 0
    async_copies: int = 0  # cp.async from global to shared memory, once per thread; neither loads nor stores
    async_copy_bytes: int = 0  # written, with the zeros that fill up
    async_copy_requests: int = 0
    async_copy_sectors: int = 0  # read
    async_copy_wavefronts: int = 0  # written
    bulk_loads: int = 0  # cp.async.bulk to shared memory, of boxes by TMA or of plain bytes, once per sending thread
    bulk_load_bytes: int = 0  # of global memory, a multicast's once, without bytes outside a tensor
    bulk_load_sectors: int = 0  # of each row of a box, or of plain bytes
    bulk_delivered_bytes: int = 0  # written to shared memory of every block, with zeros for elements outside a tensor
    bulk_stores: int = 0  # cp.async.bulk from shared memory, once per sending thread
    bulk_store_bytes: int = 0
    bulk_store_sectors: int = 0
    shared_loads: int = 0  # once per thread; a vector is one
    shared_load_bytes: int = 0
    shared_load_requests: int = 0  # without those of mbarriers
    shared_load_wavefronts: int = 0
    shared_stores: int = 0
    shared_store_bytes: int = 0
    shared_store_requests: int = 0
    shared_store_wavefronts: int = 0
    shared_atomic_requests: int = 0
    ldmatrix_requests: int = 0  # neither loads nor stores
    ldmatrix_wavefronts: int = 0  # one for each 8×8 matrix, and more if rows of one matrix are in the same banks
    stmatrix_requests: int = 0
    stmatrix_wavefronts: int = 0
    wgmma_wavefronts: int = 0  # of reading operands: one for eight rows of 16 bytes, which are always in all banks
    shared_bank_conflicts: int = 0  # wavefronts of all of these beyond what they need without conflicts
    barriers: int = 0  # of a whole block (__syncthreads()), once per block
    products: Mapping[Product, int] = field(default_factory=dict)  # tensor instructions by what they multiply

    def __add__(self, other: Counters) -> Counters:
        sums = {name: getattr(self, name) + getattr(other, name) for name in NAMES}
        return Counters(**sums, products=Counter(self.products) + Counter(other.products))

    def __mul__(self, times: int) -> Counters:
        products = {product: count * times for product, count in self.products.items()}
        return Counters(**{name: getattr(self, name) * times for name in NAMES}, products=products)

    def _sum(self, names: Iterable[str]) -> int:
        return sum(getattr(self, name) for name in names)

    @property
    def global_accesses(self) -> int:
        """Accesses to global memory, once per thread."""
        return self._sum(ACCESSES)

    @property
    def global_sectors(self) -> int:
        """Sectors that were read, written and added to."""
        return self._sum(SECTORS)

    @property
    def shared_wavefronts(self) -> int:
        """Wavefronts of all accesses to shared memory."""
        return self._sum(name for name in NAMES if name.endswith("_wavefronts"))

    @property
    def tensor_flops_by_type(self) -> dict[str, int]:
        """The tensor cores' operations by the types of D, A and B, "f32.f16.f16"."""
        flops: Counter[str] = Counter()
        for product, count in self.products.items():
            flops[".".join(product.types)] += product.flops * count
        return dict(flops)


NAMES = tuple(counter.name for counter in fields(Counters) if counter.name != "products")
"""Every counter that is a number."""
SECTORS = tuple(name for name in NAMES if name.endswith("_sectors") and not name.startswith("local_"))
"""Counters of the sectors of global memory that are read, written and added to."""
ACCESSES = ("global_loads", "global_stores", "global_atomics", "async_copies", "bulk_loads", "bulk_stores")
"""Counters of the accesses to it."""


class Line(NamedTuple):
    """A line of source code: the file's name and the number from 1, or 0 for what belongs to no line."""

    source: str
    number: int


@dataclass(frozen=True)
class Measured:
    """A GPU's measurements of a launch while it was counted, from cold caches."""

    seconds: float  # the launch's duration
    occupancy: float  # achieved occupancy: warps active on average, as a fraction of the warps that fit
    memory_bytes: int  # moved between device memory and the chip
    metrics: Mapping[str, float]  # all that its profiler read, by the profiler's names


@dataclass(frozen=True)
class LaunchCounts:
    """The counts of one launch."""

    counters: Counters  # of the whole grid
    measured: Measured | None = None  # a GPU's measurements; None from an emulator


def total(counters: Iterable[Counters]) -> Counters:
    """Return the sum."""
    return sum(counters, Counters())


def ratio(numerator: float, denominator: float) -> float | None:
    """Return the quotient; None over nothing."""
    return numerator / denominator if denominator else None

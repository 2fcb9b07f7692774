"""The counters of a launch, as the emulator or a GPU's profiler reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import NamedTuple

from mmcore_emulator.isa.products import Product

SECTOR_BYTES = 32


@dataclass(frozen=True)
class Counters:
    """What was executed. An instruction is counted once per thread, or, where a unit says so, once per warp.

    A *request* is one access instruction executed by one warp, however many of its threads take part; *sectors* are the
    distinct aligned 32-byte pieces that a request touches; *wavefronts* are the passes that it takes over shared
    memory's 32 banks of 4 bytes.

    Attributes:
        thread_instructions: instructions, once per thread.
        warp_instructions: instructions, once per warp that has a thread in them.
        fmas: fused multiply-adds, without those of tensor cores.
        flops: floating-point operations, without those of tensor cores; a fused multiply-add is two.
        tensor_instructions: ``mma.sync``, ``wmma.mma`` and ``wgmma.mma_async``, once per warp.
        tensor_flops: their floating-point or integer operations, 2·m·n·k of each product.
        global_loads, global_stores, global_atomics: accesses to global memory, once per thread; a vector is one.
        global_load_bytes, global_store_bytes: bytes that threads asked for.
        global_load_requests, global_store_requests, global_atomic_requests: warps' accesses to global memory.
        global_load_sectors, global_store_sectors, global_atomic_sectors: sectors of those requests.
        global_load_transactions_cc1x: what the loads would cost compute capability 1.2: distinct aligned 128-byte
            segments (64 bytes for elements of 2, 32 for elements of 1) of each half-warp.
        async_copies: copies from global to shared memory by ``cp.async``, once per thread; they are neither loads nor
            stores.
        async_copy_bytes: bytes that these write, the zeros that fill them up too.
        async_copy_requests, async_copy_sectors: warps' copies, and the sectors of global memory that they read.
        async_copy_wavefronts: wavefronts in which they write to shared memory.
        bulk_loads, bulk_stores: bulk copies (``cp.async.bulk``, of boxes by TMA or of plain bytes) to shared memory and
            from it, once per thread that sends one.
        bulk_load_bytes, bulk_store_bytes: bytes of global memory that they read and write, a multicast's once; none of
            what lies outside a tensor.
        bulk_load_sectors, bulk_store_sectors: sectors of each row of a box, or of plain bytes.
        bulk_delivered_bytes: bytes that loads write to shared memory, at every block that a multicast goes to, with the
            zeros for what lies outside.
        shared_loads, shared_stores: accesses to shared memory, once per thread; a vector is one.
        shared_load_bytes, shared_store_bytes: bytes that threads asked for.
        shared_load_requests, shared_store_requests, shared_atomic_requests: warps' accesses to shared memory, but for
            those of mbarriers.
        shared_load_wavefronts, shared_store_wavefronts: wavefronts of those requests.
        ldmatrix_requests, stmatrix_requests: warps' ``ldmatrix`` and ``stmatrix``, which are neither loads nor stores.
        ldmatrix_wavefronts, stmatrix_wavefronts: their wavefronts: one for each 8×8 matrix of 16-byte rows, and more
            where rows of one matrix lie in the same banks.
        wgmma_wavefronts: wavefronts in which ``wgmma`` reads its operands: one for eight rows of 16 bytes, which in
            each of its layouts lie in all banks.
        shared_bank_conflicts: wavefronts of all of these beyond what they would need without conflicts.
        barriers: barriers of a whole block (``__syncthreads()``), once per block that comes to one.
        products: the tensor instructions by what they multiply.
    """

    thread_instructions: int = 0
    warp_instructions: int = 0
    fmas: int = 0
    flops: int = 0
    tensor_instructions: int = 0
    tensor_flops: int = 0
    global_loads: int = 0
    global_load_bytes: int = 0
    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_load_transactions_cc1x: int = 0
    global_stores: int = 0
    global_store_bytes: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_atomics: int = 0
    global_atomic_requests: int = 0
    global_atomic_sectors: int = 0
    async_copies: int = 0
    async_copy_bytes: int = 0
    async_copy_requests: int = 0
    async_copy_sectors: int = 0
    async_copy_wavefronts: int = 0
    bulk_loads: int = 0
    bulk_load_bytes: int = 0
    bulk_load_sectors: int = 0
    bulk_delivered_bytes: int = 0
    bulk_stores: int = 0
    bulk_store_bytes: int = 0
    bulk_store_sectors: int = 0
    shared_loads: int = 0
    shared_load_bytes: int = 0
    shared_load_requests: int = 0
    shared_load_wavefronts: int = 0
    shared_stores: int = 0
    shared_store_bytes: int = 0
    shared_store_requests: int = 0
    shared_store_wavefronts: int = 0
    shared_atomic_requests: int = 0
    ldmatrix_requests: int = 0
    ldmatrix_wavefronts: int = 0
    stmatrix_requests: int = 0
    stmatrix_wavefronts: int = 0
    wgmma_wavefronts: int = 0
    shared_bank_conflicts: int = 0
    barriers: int = 0
    products: Mapping[Product, int] = field(default_factory=dict)

    def __add__(self, other: Counters) -> Counters:
        sums = {name: getattr(self, name) + getattr(other, name) for name in NAMES}
        return Counters(**sums, products=Counter(self.products) + Counter(other.products))

    def __mul__(self, times: int) -> Counters:
        products = {product: count * times for product, count in self.products.items()}
        return Counters(**{name: getattr(self, name) * times for name in NAMES}, products=products)

    @property
    def global_accesses(self) -> int:
        """Accesses to global memory, once per thread."""
        return sum(getattr(self, name) for name in ACCESSES)

    @property
    def global_sectors(self) -> int:
        """Sectors that were read, written and added to."""
        return sum(getattr(self, name) for name in SECTORS)

    @property
    def shared_wavefronts(self) -> int:
        """Passes over the banks of shared memory by all who access it."""
        return sum(getattr(self, name) for name in NAMES if name.endswith("_wavefronts"))

    @property
    def tensor_flops_by_type(self) -> dict[str, int]:
        """The tensor cores' operations by the types of D, A and B, "f32.f16.f16"."""
        found: Counter[str] = Counter()
        for product, count in self.products.items():
            found[".".join(product.types)] += product.flops * count
        return dict(found)


NAMES = tuple(each.name for each in fields(Counters) if each.name != "products")
"""Every counter that is a number."""
SECTORS = tuple(name for name in NAMES if name.endswith("_sectors"))
"""Counters of the sectors of global memory that are read, written and added to."""
ACCESSES = ("global_loads", "global_stores", "global_atomics", "async_copies", "bulk_loads", "bulk_stores")
"""Counters of the accesses to it."""


class Line(NamedTuple):
    """A line of source code: the file's name and the number from 1, or 0 for what belongs to no line."""

    source: str
    number: int


@dataclass(frozen=True)
class Measured:
    """What a GPU measured of a launch while it was counted, from cold caches."""

    seconds: float  # the launch's duration
    occupancy: float  # achieved occupancy, warps active on average, as a fraction of those that fit
    memory_bytes: int  # moved between device memory and the chip
    metrics: Mapping[str, float]  # all that its profiler read, by the names that these metrics have there


@dataclass(frozen=True)
class LaunchCounts:
    """What one launch was counted to do."""

    counters: Counters  # of the whole grid
    measured: Measured | None = None  # what else a GPU tells; None from an emulator


def total(counters: Iterable[Counters]) -> Counters:
    """The sum."""
    return sum(counters, Counters())


def ratio(numerator: int, denominator: int) -> float | None:
    """The quotient; None over nothing."""
    return numerator / denominator if denominator else None

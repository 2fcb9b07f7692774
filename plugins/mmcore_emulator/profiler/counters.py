"""The counters of a launch, as the emulator or a GPU's profiler reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import NamedTuple

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
        fmas: fused multiply-adds.
        flops: floating-point operations; a fused multiply-add is two.
        global_loads, global_stores, global_atomics: accesses to global memory, once per thread; a vector is one.
        global_load_bytes, global_store_bytes: bytes that threads asked for.
        global_load_requests, global_store_requests, global_atomic_requests: warps' accesses to global memory.
        global_load_sectors, global_store_sectors, global_atomic_sectors: sectors of those requests.
        global_load_transactions_cc1x: what the loads would cost compute capability 1.2: distinct aligned 128-byte
            segments (64 bytes for elements of 2, 32 for elements of 1) of each half-warp.
        shared_loads, shared_stores: accesses to shared memory, once per thread; a vector is one.
        shared_load_bytes, shared_store_bytes: bytes that threads asked for.
        shared_load_requests, shared_store_requests, shared_atomic_requests: warps' accesses to shared memory.
        shared_load_wavefronts, shared_store_wavefronts: wavefronts of those requests.
        shared_bank_conflicts: wavefronts beyond what the same requests would need without conflicts.
        barriers: barriers of a whole block (``__syncthreads()``), once per block that comes to one.
    """

    thread_instructions: int = 0
    warp_instructions: int = 0
    fmas: int = 0
    flops: int = 0
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
    shared_loads: int = 0
    shared_load_bytes: int = 0
    shared_load_requests: int = 0
    shared_load_wavefronts: int = 0
    shared_stores: int = 0
    shared_store_bytes: int = 0
    shared_store_requests: int = 0
    shared_store_wavefronts: int = 0
    shared_atomic_requests: int = 0
    shared_bank_conflicts: int = 0
    barriers: int = 0

    def __add__(self, other: Counters) -> Counters:
        return Counters(*(getattr(self, name) + getattr(other, name) for name in NAMES))

    def __mul__(self, times: int) -> Counters:
        return Counters(*(getattr(self, name) * times for name in NAMES))

    @property
    def global_accesses(self) -> int:
        """Accesses to global memory, once per thread."""
        return self.global_loads + self.global_stores + self.global_atomics

    @property
    def global_sectors(self) -> int:
        """Sectors that were loaded, stored and added to."""
        return self.global_load_sectors + self.global_store_sectors + self.global_atomic_sectors


NAMES = tuple(field.name for field in fields(Counters))
"""Every counter."""


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

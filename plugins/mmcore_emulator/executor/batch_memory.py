"""What translated code asks of the batch that it runs in: memory, special registers, and masks of lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore.errors import UnsupportedInstruction
from mmcore_emulator.executor.kernel_launch import Run
from mmcore_emulator.isa.asynchronous.thread_copies import ThreadCopies
from mmcore_emulator.isa.atomics import Combine
from mmcore_emulator.isa.register_pool import RegisterPool
from mmcore_emulator.machine import memory
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, Event
from mmcore_emulator.machine.asynchronous.in_flight import BulkGroups, InFlight
from mmcore_emulator.machine.compiled_block import (
    LOCAL_WINDOW,
    MOST_RANK,
    PARAMETER_WINDOW,
    RANK_BEGIN,
    RANK_SHIFT,
    SHARED_WINDOW,
)
from mmcore_emulator.machine.formatted_output import Format
from mmcore_emulator.machine.lanes import Batch, Mask, uniform
from mmcore_emulator.machine.memory import Array, CopiedMemory, Space, StrayAccess, copied_base
from mmcore_emulator.machine.observer import Access, BulkTransfer, LaneViolation, Observer
from mmcore_emulator.machine.warps import BIT, PerWarp, Warps
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction

_WINDOWS = (("global", 0), ("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW), ("param", PARAMETER_WINDOW))
_MEMORIES = frozenset(("global", "const", "shared", "local", "param", "generic"))
Collectively: TypeAlias = Callable[..., Sequence[PerWarp]]
_SHARED_UNIT = 128  # bytes that shared memory is allocated in
_VERBS = {"out-of-bounds-read": "reads", "out-of-bounds-write": "writes"}


class Ports:
    """The memories of one batch of blocks, with every access checked, and told to those who observe."""

    def __init__(self, run: Run, batch: Batch, observers: Sequence[Observer]) -> None:
        self._run = run
        self._observers = observers
        self._ignored = frozenset.intersection(*(observer.ignores for observer in observers), _MEMORIES)
        self._batch = batch
        layout = run.translation.layout
        thread_number = batch.thread_index() + batch.block.size * batch.block_index()
        parameters = Array("parameters", 0, layout.parameter_bytes, 0, run.parameters)
        self.spaces: dict[str, Space] = {
            "global": run.device_memory,
            # Constants have addresses among the device's arrays, so that generic ones need no window.
            "const": run.device_memory,
            "shared": CopiedMemory(
                "shared",
                (*layout.shared, (layout.dynamic_shared, run.shared_bytes)),
                batch.block_index(),
                run.fresh,
                layout.shared_name,
            ),
            "local": CopiedMemory("local", ((copied_base(0), layout.local_bytes),), thread_number, run.fresh),
            "param": _Whole(parameters),
        }
        declared = layout.shared_bytes + run.shared_bytes
        total = -(-declared // _SHARED_UNIT) * _SHARED_UNIT
        self._specials: dict[str, Values] = {
            "%dynamic_smem_size": uniform(run.shared_bytes),
            "%total_smem_size": uniform(total),
            "%aggr_smem_size": uniform(total + layout.shared_begin),
        }
        #: Of each wait for an mbarrier, by the instruction's identity: the address, and what was found there, as lanes.
        self.asked: dict[int, tuple[Values, Values]] = {}
        #: What has initialised the mbarriers, by where they lie in a block's shared memory.
        self.initialised_at: dict[int, Instruction] = {}
        #: How often each lane has come to the barrier of its cluster.
        self.arrived_in_cluster: Values = np.zeros((1,) * 6, np.int64)
        #: Which lanes have said, the last time, that this orders nothing.
        self.relaxed_in_cluster: Values = np.zeros((1,) * 6, np.bool_)

    def load(
        self, space: str, address: Values, dtype: np.dtype[Any], count: int, mask: Mask | None, at: Instruction
    ) -> list[Values]:
        """The ``count`` elements from the lanes' addresses on, in one access that must be aligned to all of them."""
        self._tell("load", space, address, count * dtype.itemsize, mask, at)
        if count > 1:
            self.check_alignment(space, address, count * dtype.itemsize, mask, at)
        elements = []
        for each in _elements(address, dtype, count):
            loaded = np.zeros((1,) * 6, dtype)
            for number, (_, memory_of, addresses, lanes) in enumerate(self.resolved(space, each, mask)):
                values = memory.load(memory_of, addresses, dtype, lanes, self.reporter(at, lanes))
                loaded = values if number == 0 or lanes is None else np.where(lanes.lanes, values, loaded)
            elements.append(loaded)
        return elements

    def store(
        self,
        space: str,
        address: Values,
        values: Sequence[Values],
        dtype: np.dtype[Any],
        mask: Mask | None,
        at: Instruction,
    ) -> None:
        """Write elements from the lanes' addresses on, in one access that must be aligned to all of them."""
        self._tell("store", space, address, len(values) * dtype.itemsize, mask, at)
        self._run.changes += 1
        if len(values) > 1:
            self.check_alignment(space, address, len(values) * dtype.itemsize, mask, at)
        for element, value in zip(_elements(address, dtype, len(values)), values, strict=True):
            for _, memory_of, each, lanes in self.resolved(space, element, mask):
                memory.store(memory_of, each, value, dtype, lanes, self.reporter(at, lanes))

    def accumulate(
        self, space: str, address: Values, value: Values, dtype: np.dtype[Any], mask: Mask | None, at: Instruction
    ) -> None:
        """Add to the lanes' addresses, one lane after the other."""
        self._tell("atomic", space, address, dtype.itemsize, mask, at)
        self._run.changes += 1
        for _, memory_of, each, part in self.resolved(space, address, mask):
            lanes = self._batch.spread(part)
            memory.accumulate(memory_of, each, value, dtype, lanes, self.reporter(at, part))

    def atomic(
        self,
        space: str,
        address: Values,
        operands: Sequence[Values],
        dtype: np.dtype[Any],
        combine: Combine,
        mask: Mask | None,
        at: Instruction,
    ) -> Values:
        """Another value at the lanes' addresses, one lane after the other; what each found there."""
        self._tell("atomic", space, address, dtype.itemsize, mask, at)
        found = np.zeros((1,) * 6, dtype)
        for _, memory_of, each, part in self.resolved(space, address, mask):
            lanes = self._batch.spread(part)
            reporter = self.reporter(at, part)
            old, changed = memory.atomic(memory_of, each, operands, dtype, lanes, reporter, combine)
            found = np.where(lanes, old, found)
            self._run.changes += changed
        return found

    def peek(self, space: str, address: Values, dtype: np.dtype[Any], mask: Mask | None) -> Values:
        """What lies at the lanes' addresses, which is no access of theirs."""
        found = np.zeros((1,) * 6, dtype)
        for _, memory_of, each, lanes in self.resolved(space, address, mask):
            values = memory.load(memory_of, each, dtype, lanes, lambda _: None)
            found = values if lanes is None else np.where(lanes.lanes, values, found)
        return found

    def together(self, compute: Collectively, sources: Sequence[Values], mask: Mask | None) -> list[Values]:
        """What the threads of each warp compute together, from who takes part and their values, as rows of a warp."""
        taking = self.warps.rows(self._batch.spread(mask))
        return [self.warps.lanes(each) for each in compute(taking, *map(self.warps.rows, sources))]

    def active(self, mask: Mask | None) -> Values:
        """For each lane, the lanes of its warp that execute the same now."""
        rows = self.warps.rows(self._batch.spread(mask))
        named = np.where(rows, BIT, np.uint32(0)).sum(axis=1, keepdims=True, dtype=np.uint32)
        return self.warps.lanes(np.broadcast_to(named, rows.shape))

    @cached_property
    def warps(self) -> Warps:
        """The warps of the batch."""
        return Warps(self._batch)

    @cached_property
    def thread_copies(self) -> ThreadCopies:
        """Copies of threads under way (cp.async)."""
        return ThreadCopies(self)

    @cached_property
    def in_flight(self) -> InFlight:
        """What is on its way to mbarrier objects."""
        return InFlight(self)

    @cached_property
    def bulk_groups(self) -> BulkGroups:
        """Bulk copies to global memory under way."""
        return BulkGroups(self)

    @cached_property
    def register_pool(self) -> RegisterPool:
        """The blocks' registers."""
        return RegisterPool(self, self._run.registers)

    @cached_property
    def block_index(self) -> Values:
        """Number of each lane's block in the batch."""
        return self._batch.block_index()

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the batch along the six axes."""
        return self._batch.shape

    @property
    def watched(self) -> bool:
        """Whether anybody is told of accesses."""
        return bool(self._observers)

    def spread(self, mask: Mask | None) -> NDArray[np.bool_]:
        """The lanes of a mask, along all axes in full."""
        return self._batch.spread(mask)

    def changed(self) -> None:
        """Something was written to memory."""
        self._run.changes += 1

    def content(self, space: str, address: int, nbytes: int) -> NDArray[np.uint8] | None:
        """Bytes at an address that is the same in every block; None where there are none."""
        for _, memory_of, place, _ in self.resolved(space, np.full((1,) * 6, address, np.uint64), None):
            array = memory_of.at(int(place.item()))
            first = 0 if array is None else int(place.item()) - array.base
            if array is not None and array.copies is None and 0 <= first <= array.readable - nbytes:
                return array.content[first : first + nbytes]
        return None

    def refuse(self, mask: Mask | None, refusal: UnsupportedInstruction) -> None:
        """Lanes, if there are any, come to what is not known."""
        if mask is None or mask.count:
            raise refusal

    def print(self, lanes: NDArray[np.bool_], text: Format, arguments: Sequence[Values]) -> None:
        """Lanes (of all axes in full) print a format, with their arguments in the place of its conversions."""
        batch = self._batch
        threads = np.broadcast_to(batch.number_in_grid() * batch.block.size + batch.thread_index(), self.shape)[lanes]
        order = np.argsort(threads)
        columns = [np.broadcast_to(each, self.shape)[lanes][order].tolist() for each in arguments]
        for position, thread in enumerate(threads[order].tolist()):
            self._run.printed.add(thread, text, tuple(column[position] for column in columns))

    def approximate(self, mask: Mask | None) -> None:
        """These lanes execute an instruction whose result has no specified bits."""
        self._run.approximate_operations += self._batch.lanes if mask is None else mask.count

    def fence(self, scope: str, mask: Mask | None) -> None:
        """Accesses before it are made before those that come after it."""
        for observer in self._observers:
            observer.fence(scope, mask)

    def guarded(self, mask: Mask | None, at: Instruction) -> None:
        """Only ``mask`` executes an instruction that the other lanes of its block step over."""
        for observer in self._observers:
            observer.guarded(at, mask)

    def _tell(self, kind: str, space: str, address: Values, nbytes: int, mask: Mask | None, at: Instruction) -> None:
        if space not in self._ignored:
            for name, memory_of, each, lanes in self.resolved(space, address, mask):
                access = Access(kind, name, memory_of, each, nbytes, lanes, at)
                for observer in self._observers:
                    observer.access(access)

    def check_alignment(self, space: str, address: Values, nbytes: int, mask: Mask | None, at: Instruction) -> None:
        for _, memory_of, each, lanes in self.resolved(space, address, mask):
            crooked = (each & np.uint64(nbytes - 1)) != 0
            if lanes is not None:
                crooked = crooked & lanes.over(crooked.shape)
            if crooked.any():
                self.reporter(at, lanes)(memory.misalignment(memory_of, each, crooked, nbytes))

    def special(self, name: str) -> Values:
        """One of the SPECIAL_REGISTERS."""
        if name not in self._specials:
            self._specials[name] = self._batch.special(name)
        return self._specials[name]

    def narrow(self, mask: Mask | None, predicate: Values) -> Mask | None:
        """The lanes of ``mask`` whose predicate is true."""
        return self._masked(predicate if mask is None else mask.lanes & predicate)

    def merge(self, mask: Mask, new: Values, old: Values) -> Values:
        """``new`` in the lanes of ``mask``, ``old`` elsewhere."""
        return np.where(mask.lanes, new, old)

    def _masked(self, lanes: NDArray[np.bool_]) -> Mask | None:
        return None if lanes.all() else Mask(lanes, self._batch)

    def resolved(
        self, space: str, address: Values, mask: Mask | None
    ) -> Iterator[tuple[str, Space, Values, Mask | None]]:
        """The memories that an access goes to, by name, each with the addresses in it and the lanes that take part."""
        if mask is not None and not mask.count:
            return
        if space == "cluster":
            yield from self._of_cluster(address, mask)
            return
        if space != "generic":
            yield space, self.spaces[space], address, mask
            return
        # A generic address tells its memory by the window it lies in.
        windows = address // np.uint64(SHARED_WINDOW) * np.uint64(SHARED_WINDOW)
        for name, begin in _WINDOWS:
            inside = windows == np.uint64(begin)
            if name == "global":
                inside = ~np.isin(windows, [window for _, window in _WINDOWS[1:]])
            lanes = self.narrow(mask, inside)
            if lanes is None or lanes.count:
                if name == "shared":
                    yield from self._of_cluster(address - np.uint64(begin), lanes)
                else:
                    yield name, self.spaces[name], address - np.uint64(begin), lanes

    def _of_cluster(self, address: Values, mask: Mask | None) -> Iterator[tuple[str, Space, Values, Mask | None]]:
        """Addresses in the shared memory of a cluster: of the lanes' own block, or of others."""
        ranks = address >> np.uint64(RANK_SHIFT)
        own = ranks == 0
        if own.all():
            yield "shared", self.spaces["shared"], address, mask
            return
        lanes = self.narrow(mask, own)
        if lanes is None or lanes.count:
            yield "shared", self.spaces["shared"], address, lanes
        others = self.narrow(mask, ~own)
        if others is None or others.count:
            block = self._batch.block_of_rank(np.where(own, 0, ranks.astype(np.int64) - 1))
            there, nowhere = self.narrow(others, block >= 0), self.narrow(others, block < 0)
            if there is None or there.count:
                yield "shared", self.shared_of(np.maximum(block, 0)), address & np.uint64(RANK_BEGIN - 1), there
            if nowhere is None or nowhere.count:
                yield "shared", _NoBlock(self._batch.cluster.size), address, nowhere

    def in_cluster(self, address: Values, mask: Mask | None, at: Instruction) -> Mask | None:
        """The lanes whose addresses in shared memory are of blocks that their cluster has; of others, it is told."""
        address = address & np.uint64(SHARED_WINDOW - 1)
        ranks = (address >> np.uint64(RANK_SHIFT)).astype(np.int64)
        if not ranks.any():
            return mask
        absent = (ranks > 0) & (self._batch.block_of_rank(np.maximum(ranks - 1, 0)) < 0)
        strays = self.narrow(mask, absent)
        if strays is None or strays.count:
            nowhere = _NoBlock(self._batch.cluster.size)
            self.reporter(at, strays)(
                StrayAccess("out-of-bounds-write", nowhere, None, self.spread(strays), address, 1)
            )
        return self.narrow(mask, ~absent)

    def places(self, address: Values) -> NDArray[np.int64]:
        """Where addresses in a cluster's shared memory lie in that of the batch, in bytes, along all axes in full."""
        address = address & np.uint64(SHARED_WINDOW - 1)
        ranks = (address >> np.uint64(RANK_SHIFT)).astype(np.int64)
        block = self.block_index
        if ranks.any():
            block = np.where(ranks == 0, block, self._batch.block_of_rank(np.maximum(ranks - 1, 0)))
        places = block * BLOCK_BYTES + (address & np.uint64(BLOCK_BYTES - 1)).astype(np.int64)
        return np.broadcast_to(places, self._batch.shape)

    def shared_addresses(self, inside: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Addresses of what lies so far from the beginning of a block's shared memory, in the arrays that it has."""
        found = inside.astype(np.uint64)
        shared = self.spaces["shared"]
        assert isinstance(shared, CopiedMemory)
        for array in shared.arrays:
            begin = array.base & (BLOCK_BYTES - 1)
            here = (inside >= begin) & (inside < begin + array.readable)
            found[here] = inside[here].astype(np.uint64) + np.uint64(array.base - begin)
        return found

    def shared_of(self, block: Values) -> Space:
        """The shared memory of other blocks, by their number in the batch, as lanes."""
        shared = self.spaces["shared"]
        assert isinstance(shared, CopiedMemory)
        return shared.of_others(block)

    def block_of_rank(self, rank: int) -> Values:
        """Number in the batch of the block of that rank in each lane's cluster."""
        return self._batch.block_of_rank(rank)

    def arrive_in_cluster(self, mask: Mask | None, *, relaxed: bool) -> None:
        """These lanes have come to the barrier of their cluster, and go on."""
        lanes = self._batch.spread(mask)
        self.arrived_in_cluster = self.arrived_in_cluster + lanes
        if relaxed or self.relaxed_in_cluster.any():
            self.relaxed_in_cluster = np.where(lanes, relaxed, self.relaxed_in_cluster)

    def tell(self, access: Access) -> None:
        """Tell of an access that was made in another way."""
        for observer in self._observers:
            observer.access(access)

    def happened(self, event: Event) -> None:
        """Tell of what an asynchronous instruction has done."""
        for observer in self._observers:
            observer.happened(event)

    def tell_copy(
        self, source: Values, target: Values, nbytes: int, reading: Mask | None, mask: Mask | None, at: Instruction
    ) -> None:
        """Tell of copies from global to shared memory, of which only the lanes of ``reading`` read anything."""
        if mask is None or mask.count:
            read = Access("copy", "global", self.spaces["global"], source, nbytes, reading, at)
            written = Access("copy", "shared", self.spaces["shared"], target, nbytes, mask, at)
            for observer in self._observers:
                observer.copy(read, written)

    def tell_bulk_copy(self, transfer: BulkTransfer) -> None:
        """Tell of bulk copies."""
        for observer in self._observers:
            observer.bulk_copy(transfer)

    def report(self, found: LaneViolation) -> None:
        self._run.report(found, self._batch)
        for observer in self._observers:
            observer.violation(found)

    def reporter(self, at: Instruction, mask: Mask | None) -> memory.Report:
        def report(violation: StrayAccess) -> None:
            lanes = violation.lanes if mask is None else violation.lanes & mask.lanes
            addresses = np.broadcast_to(violation.address, self._batch.shape)

            def text(lane: tuple[int, ...]) -> str:
                where = violation.where(int(addresses[lane]))
                if violation.kind == "misaligned":
                    return f"uses {where}, for {at.mnemonic}"
                return f"{_VERBS[violation.kind]} {where}"

            label = None if violation.array is None else violation.array.label
            self.report(LaneViolation(violation.kind, label, at, lanes, text))

        return report


def _elements(address: Values, dtype: np.dtype[Any], count: int) -> list[Values]:
    """Addresses of a vector's elements, whose first lies at ``address``."""
    return [address + np.uint64(position * dtype.itemsize) if position else address for position in range(count)]


@dataclass(frozen=True)
class _Whole:
    """A memory that is one array."""

    array: Array
    range_bits = 63
    flushes = False

    elsewhere = memory.far_from_every_array

    def at(self, address: int) -> Array | None:
        return self.array


@dataclass(frozen=True)
class _NoBlock:
    """The shared memory of a block of a rank that a cluster of so many blocks has not."""

    blocks: int
    range_bits = 63
    flushes = False

    def at(self, address: int) -> Array | None:
        return None

    def elsewhere(self, address: int) -> str:
        rank = (address >> RANK_SHIFT) - 1
        named = f"{rank} or more" if rank == MOST_RANK else str(rank)
        blocks = f"{self.blocks} block{'s' * (self.blocks > 1)}"
        return f"shared memory of the block of rank {named} of its cluster, which has {blocks}"

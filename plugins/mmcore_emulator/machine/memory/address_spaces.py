"""The memories of a batch of blocks: each access is resolved to a memory, checked, and reported to the observers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES
from mmcore_emulator.machine.lanes import Batch, Mask
from mmcore_emulator.machine.memory import operations
from mmcore_emulator.machine.memory.arrays import (
    MOST_RANK,
    RANK_BEGIN,
    RANK_SHIFT,
    SHARED_WINDOW,
    WINDOWS,
    Array,
    CopiedMemory,
    Report,
    Space,
    StrayAccess,
    owner,
    owner_number,
    without_owner,
)
from mmcore_emulator.machine.memory.operations import Combine
from mmcore_emulator.machine.observer import Access, LaneViolation, Observers, always
from mmcore_emulator.numerics.types import DType, Integers, Values
from mmcore_emulator.ptx.instructions import Instruction

_VERBS = {"out-of-bounds-read": "reads", "out-of-bounds-write": "writes"}


class AddressSpaces:
    """The memories of one batch of blocks."""

    holds_numbers = True  # false for memories that hold no numbers but marks of a shadow domain

    def __init__(self, batch: Batch, spaces: Mapping[str, Space], observers: Observers) -> None:
        self.spaces = spaces  # the memories by name: "global", "const", "shared", "local", "param"
        self.changes = 0  # number of writes so far
        self._batch = batch
        self._observers = observers

    def load(
        self, space: str, address: Values, dtype: DType, count: int, mask: Mask | None, at: Instruction
    ) -> list[Values]:
        """Return ``count`` consecutive elements at the lanes' addresses; the access must be aligned to all of them."""
        self._check_owner("reads", space, address, mask, at)
        self._show("load", space, address, count * dtype.itemsize, mask, at)
        if count > 1:
            self.check_alignment(space, address, count * dtype.itemsize, mask, at)
        elements = []
        for element in _elements(address, dtype, count):
            loaded = np.zeros((1,) * 6, dtype)
            for number, (_, memory_of, addresses, lanes) in enumerate(self.resolved(space, element, mask)):
                values = operations.load(memory_of, addresses, dtype, lanes, self.reporter(at, lanes))
                loaded = values if number == 0 or lanes is None else np.where(lanes.lanes, values, loaded)
            elements.append(loaded)
        return elements

    def store(
        self, space: str, address: Values, values: Sequence[Values], dtype: DType, mask: Mask | None, at: Instruction
    ) -> None:
        """Write consecutive elements at the lanes' addresses; the access must be aligned to all of them."""
        self._check_owner("writes to", space, address, mask, at)
        self._show("store", space, address, len(values) * dtype.itemsize, mask, at, values)
        self.changes += 1
        if len(values) > 1:
            self.check_alignment(space, address, len(values) * dtype.itemsize, mask, at)
        for element, value in zip(_elements(address, dtype, len(values)), values, strict=True):
            for _, memory_of, addresses, lanes in self.resolved(space, element, mask):
                operations.store(memory_of, addresses, value, dtype, lanes, self.reporter(at, lanes))

    def accumulate(
        self, space: str, address: Values, value: Values, dtype: DType, mask: Mask | None, at: Instruction
    ) -> None:
        """Add to the elements at the lanes' addresses, one lane after the other."""
        self._check_owner("changes", space, address, mask, at)
        self._show("atomic", space, address, dtype.itemsize, mask, at)
        self.changes += 1
        for _, memory_of, addresses, part in self.resolved(space, address, mask):
            lanes = self._batch.spread(part)
            operations.accumulate(memory_of, addresses, value, dtype, lanes, self.reporter(at, part))

    def atomic(
        self,
        space: str,
        address: Values,
        operands: Sequence[Values],
        dtype: DType,
        combine: Combine,
        mask: Mask | None,
        at: Instruction,
    ) -> Values:
        """Combine the elements at the lanes' addresses with operands, lane by lane; return the previous elements."""
        self._check_owner("changes", space, address, mask, at)
        self._show("atomic", space, address, dtype.itemsize, mask, at)
        before = np.zeros((1,) * 6, dtype)
        for _, memory_of, addresses, part in self.resolved(space, address, mask):
            lanes = self._batch.spread(part)
            reporter = self.reporter(at, part)
            old, changed = operations.atomic(memory_of, addresses, operands, dtype, lanes, reporter, combine)
            before = np.where(lanes, old, before)
            self.changes += changed
        return before

    def peek(self, space: str, address: Values, dtype: DType, mask: Mask | None) -> Values:
        """Return the elements at the lanes' addresses without counting as an access."""
        elements = np.zeros((1,) * 6, dtype)
        for _, memory_of, addresses, lanes in self.resolved(space, address, mask):
            values = operations.load(memory_of, addresses, dtype, lanes, lambda _: None)
            elements = values if lanes is None else np.where(lanes.lanes, values, elements)
        return elements

    def content(self, space: str, address: int, nbytes: int) -> NDArray[np.uint8] | None:
        """Return bytes at an address that is the same in every block; None if there are none."""
        for _, memory_of, place, _ in self.resolved(space, np.full((1,) * 6, address, np.uint64), None):
            array = memory_of.at(int(place.item()))
            first = 0 if array is None else int(place.item()) - array.base
            if array is not None and array.copies is None and 0 <= first <= array.readable - nbytes:
                return array.content[first : first + nbytes]
        return None

    def changed(self) -> None:
        """Count a write that was made by other means."""
        self.changes += 1

    def check_alignment(self, space: str, address: Values, nbytes: int, mask: Mask | None, at: Instruction) -> None:
        """Report lanes whose address is no multiple of ``nbytes``."""
        for _, memory_of, addresses, lanes in self.resolved(space, address, mask):
            crooked = (addresses & np.uint64(nbytes - 1)) != 0
            if lanes is not None:
                crooked = crooked & lanes.over(crooked.shape)
            if crooked.any():
                self.reporter(at, lanes)(operations.misalignment(memory_of, addresses, crooked, nbytes))

    def resolved(
        self, space: str, address: Values, mask: Mask | None
    ) -> Iterator[tuple[str, Space, Values, Mask | None]]:
        """Yield the memories of an access: name, memory, addresses in it, and the lanes that access it."""
        if mask is not None and not mask.count:
            return
        if space == "cluster":
            yield from self._of_cluster(address, mask)
            return
        if space != "generic":
            yield space, self.spaces[space], address, mask
            return
        # The window of a generic address determines its memory.
        address = without_owner(address)
        windows = address // np.uint64(SHARED_WINDOW) * np.uint64(SHARED_WINDOW)
        for name, begin in WINDOWS:
            inside = windows == np.uint64(begin)
            if name == "global":
                inside = ~np.isin(windows, [window for _, window in WINDOWS[1:]])
            lanes = self._batch.narrow(mask, inside)
            if lanes is None or lanes.count:
                if name == "shared":
                    yield from self._of_cluster(address - np.uint64(begin), lanes)
                else:
                    yield name, self.spaces[name], address - np.uint64(begin), lanes

    def _of_cluster(self, address: Values, mask: Mask | None) -> Iterator[tuple[str, Space, Values, Mask | None]]:
        """Yield the shared memories of a cluster for addresses: the lanes' own block's, and other blocks'."""
        batch = self._batch
        ranks = address >> np.uint64(RANK_SHIFT)
        in_own_block = ranks == 0
        if in_own_block.all():
            yield "shared", self.spaces["shared"], address, mask
            return
        lanes = batch.narrow(mask, in_own_block)
        if lanes is None or lanes.count:
            yield "shared", self.spaces["shared"], address, lanes
        others = batch.narrow(mask, ~in_own_block)
        if others is None or others.count:
            block = batch.block_of_rank(np.where(in_own_block, 0, ranks.astype(np.int64) - 1))
            there, nowhere = batch.narrow(others, block >= 0), batch.narrow(others, block < 0)
            if there is None or there.count:
                yield "shared", self.shared_of(np.maximum(block, 0)), address & np.uint64(RANK_BEGIN - 1), there
            if nowhere is None or nowhere.count:
                yield "shared", _NoBlock(batch.cluster.size), address, nowhere

    def in_cluster(self, address: Values, mask: Mask | None, at: Instruction) -> Mask | None:
        """Return the lanes whose shared addresses belong to a block of their cluster; report the others."""
        address = address & np.uint64(SHARED_WINDOW - 1)
        ranks = (address >> np.uint64(RANK_SHIFT)).astype(np.int64)
        if not ranks.any():
            return mask
        batch = self._batch
        absent = (ranks > 0) & (batch.block_of_rank(np.maximum(ranks - 1, 0)) < 0)
        strays = batch.narrow(mask, absent)
        if strays is None or strays.count:
            nowhere = _NoBlock(batch.cluster.size)
            self.reporter(at, strays)(
                StrayAccess("out-of-bounds-write", nowhere, None, batch.spread(strays), address, 1)
            )
        return batch.narrow(mask, ~absent)

    def places(self, address: Values) -> Integers:
        """Return the byte offsets of cluster addresses in the batch's shared memory, along all axes in full."""
        address = address & np.uint64(SHARED_WINDOW - 1)
        ranks = (address >> np.uint64(RANK_SHIFT)).astype(np.int64)
        block = self._batch.block_index()
        if ranks.any():
            block = np.where(ranks == 0, block, self._batch.block_of_rank(np.maximum(ranks - 1, 0)))
        places = block * BLOCK_BYTES + (address & np.uint64(BLOCK_BYTES - 1)).astype(np.int64)
        return np.broadcast_to(places, self._batch.shape)

    def shared_addresses(self, inside: Integers) -> NDArray[np.uint64]:
        """Return the addresses of bytes by their offsets in a block's shared memory."""
        addresses = inside.astype(np.uint64)
        for array in self.shared.arrays:
            begin = array.base & (BLOCK_BYTES - 1)
            in_array = (inside >= begin) & (inside < begin + array.readable)
            addresses[in_array] = inside[in_array].astype(np.uint64) + np.uint64(array.base - begin)
        return addresses

    @property
    def shared(self) -> CopiedMemory:
        """The shared memory of the lanes' own blocks."""
        shared = self.spaces["shared"]
        assert isinstance(shared, CopiedMemory)
        return shared

    def shared_of(self, block: Values) -> Space:
        """Return the shared memory of other blocks, by their number in the batch, as lanes."""
        return self.shared.of_others(block)

    def reporter(self, at: Instruction, mask: Mask | None) -> Report:
        """Return a function that reports stray accesses of an instruction."""

        def report(violation: StrayAccess) -> None:
            lanes = violation.lanes if mask is None else violation.lanes & mask.lanes
            addresses = np.broadcast_to(violation.address, self._batch.shape)

            def text(lane: tuple[int, ...]) -> str:
                where = violation.where(int(addresses[lane]))
                if violation.kind == "misaligned":
                    return f"uses {where}, for {at.mnemonic}"
                return f"{_VERBS[violation.kind]} {where}"

            label = None if violation.array is None else violation.array.label
            self._observers.report(LaneViolation(violation.kind, label, at, lanes, text))

        return report

    def _check_owner(self, does: str, space: str, address: Values, mask: Mask | None, at: Instruction) -> None:
        """Report lanes whose address is in the local memory of another thread."""
        owners = owner(address) if space == "generic" else np.array(-1)
        if owners.max() < 0:
            return
        batch = self._batch
        own = owner_number(batch.number_in_grid() * batch.block.size + batch.thread_index())
        lanes = batch.spread(mask) & (owners >= 0) & (owners != own)
        if lanes.any():
            text = f"{does} a local variable of another thread: on a GPU that address leads to its own local memory"
            self._observers.report(LaneViolation("local-of-another", "local", at, lanes, always(text)))

    def _show(
        self,
        kind: str,
        space: str,
        address: Values,
        nbytes: int,
        mask: Mask | None,
        at: Instruction,
        values: Sequence[Values] = (),
    ) -> None:
        if space not in self._observers.ignores:
            for name, memory_of, addresses, lanes in self.resolved(space, address, mask):
                self._observers.access(Access(kind, name, memory_of, addresses, nbytes, lanes, at, values=values))


def _elements(address: Values, dtype: DType, count: int) -> list[Values]:
    """Return the addresses of a vector's elements; ``address`` is the first."""
    return [address + np.uint64(position * dtype.itemsize) if position else address for position in range(count)]


@dataclass(frozen=True)
class _NoBlock:
    """The shared memory of a block whose rank a cluster of ``blocks`` blocks does not have."""

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

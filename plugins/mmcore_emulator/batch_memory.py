"""What translated code asks of the batch that it runs in: memory, special registers, and masks of lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator import memory
from mmcore_emulator.atomics import Combine
from mmcore_emulator.floats import Values
from mmcore_emulator.lanes import Batch, Mask
from mmcore_emulator.launch_run import Run
from mmcore_emulator.memory import Array, CopiedMemory, Space, StrayAccess, copied_base
from mmcore_emulator.observer import Access, LaneViolation, Observer
from mmcore_emulator.ptx import Instruction
from mmcore_emulator.step import LOCAL_WINDOW, SHARED_WINDOW
from mmcore_emulator.warps import BIT, PerWarp, Warps

_WINDOWS = (("global", 0), ("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW))
_MEMORIES = frozenset(("global", "const", "shared", "local", "param", "generic"))
Collectively: TypeAlias = Callable[..., Sequence[PerWarp]]
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
        self._specials: dict[str, Values] = {}

    def load(
        self, space: str, address: Values, dtype: np.dtype[Any], count: int, mask: Mask | None, at: Instruction
    ) -> list[Values]:
        """The ``count`` elements from the lanes' addresses on, in one access that must be aligned to all of them."""
        self._tell("load", space, address, count * dtype.itemsize, mask, at)
        if count > 1:
            self._align(space, address, count * dtype.itemsize, mask, at)
        elements = []
        for each in _elements(address, dtype, count):
            loaded = np.zeros((1,) * 6, dtype)
            for number, (name, addresses, lanes) in enumerate(self._resolved(space, each, mask)):
                values = memory.load(self.spaces[name], addresses, dtype, lanes, self._reporter(at, lanes))
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
            self._align(space, address, len(values) * dtype.itemsize, mask, at)
        for element, value in zip(_elements(address, dtype, len(values)), values, strict=True):
            for name, each, lanes in self._resolved(space, element, mask):
                memory.store(self.spaces[name], each, value, dtype, lanes, self._reporter(at, lanes))

    def accumulate(
        self, space: str, address: Values, value: Values, dtype: np.dtype[Any], mask: Mask | None, at: Instruction
    ) -> None:
        """Add to the lanes' addresses, one lane after the other."""
        self._tell("atomic", space, address, dtype.itemsize, mask, at)
        self._run.changes += 1
        for name, each, part in self._resolved(space, address, mask):
            lanes = self._batch.spread(part)
            memory.accumulate(self.spaces[name], each, value, dtype, lanes, self._reporter(at, part))

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
        for name, each, part in self._resolved(space, address, mask):
            lanes = self._batch.spread(part)
            reporter = self._reporter(at, part)
            old, changed = memory.atomic(self.spaces[name], each, operands, dtype, lanes, reporter, combine)
            found = np.where(lanes, old, found)
            self._run.changes += changed
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
            for name, each, lanes in self._resolved(space, address, mask):
                access = Access(kind, name, self.spaces[name], each, nbytes, lanes, at)
                for observer in self._observers:
                    observer.access(access)

    def _align(self, space: str, address: Values, nbytes: int, mask: Mask | None, at: Instruction) -> None:
        for name, each, lanes in self._resolved(space, address, mask):
            crooked = (each & np.uint64(nbytes - 1)) != 0
            if lanes is not None:
                crooked = crooked & lanes.over(crooked.shape)
            if crooked.any():
                self._reporter(at, lanes)(memory.misalignment(self.spaces[name], each, crooked, nbytes))

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

    def _resolved(self, space: str, address: Values, mask: Mask | None) -> Iterator[tuple[str, Values, Mask | None]]:
        """The memories that an access goes to by name, each with the addresses in it and the lanes that take part."""
        if mask is not None and not mask.count:
            return
        if space != "generic":
            yield space, address, mask
            return
        # A generic address tells its memory by the window it lies in.
        windows = address // np.uint64(SHARED_WINDOW) * np.uint64(SHARED_WINDOW)
        for name, begin in _WINDOWS:
            inside = windows == np.uint64(begin)
            if name == "global":
                inside = ~np.isin(windows, [window for _, window in _WINDOWS[1:]])
            lanes = self.narrow(mask, inside)
            if lanes is None or lanes.count:
                yield name, address - np.uint64(begin), lanes

    def _report(self, found: LaneViolation) -> None:
        self._run.report(found, self._batch)
        for observer in self._observers:
            observer.violation(found)

    def _reporter(self, at: Instruction, mask: Mask | None) -> memory.Report:
        def report(violation: StrayAccess) -> None:
            lanes = violation.lanes if mask is None else violation.lanes & mask.lanes
            addresses = np.broadcast_to(violation.address, self._batch.shape)

            def text(lane: tuple[int, ...]) -> str:
                where = violation.where(int(addresses[lane]))
                if violation.kind == "misaligned":
                    return f"uses {where}, for {at.mnemonic}"
                return f"{_VERBS[violation.kind]} {where}"

            label = None if violation.array is None else violation.array.label
            self._report(LaneViolation(violation.kind, label, at, lanes, text))

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

    def at(self, address: int) -> Array | None:
        return self.array

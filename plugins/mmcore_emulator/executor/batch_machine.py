"""The machine of one batch of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from mmcore_emulator.executor.kernel_launch import KernelLaunch
from mmcore_emulator.machine.asynchronous.in_flight import BulkGroups, InFlight, ThreadCopies
from mmcore_emulator.machine.barriers import ClusterBarrier
from mmcore_emulator.machine.formatted_output import Format
from mmcore_emulator.machine.lanes import CLOCKS, Batch, Mask, uniform
from mmcore_emulator.machine.machine import MbarrierLog
from mmcore_emulator.machine.memory.address_spaces import AddressSpaces
from mmcore_emulator.machine.memory.arrays import Array, CopiedMemory, Space, copied_base, far_from_every_array
from mmcore_emulator.machine.observer import Observer, Observers
from mmcore_emulator.machine.warps import RegisterPool, Warps
from mmcore_emulator.numerics.types import NUMPY, Flags, Values

_SHARED_UNIT = 128  # the allocation unit of shared memory


class BatchMachine:
    """The :class:`~mmcore_emulator.machine.machine.Machine` of one batch of blocks of a launch."""

    def __init__(self, launch: KernelLaunch, batch: Batch, observers: Sequence[Observer]) -> None:
        self._launch = launch
        self.batch = batch
        self.observers = Observers(observers, partial(launch.report, batch=batch))
        self.memory = AddressSpaces(batch, _spaces(launch, batch), self.observers)
        self.cluster_barrier = ClusterBarrier(batch)
        self.in_flight = InFlight(batch)
        self.bulk_groups = BulkGroups(batch)
        self.thread_copies = ThreadCopies(batch, self.memory)
        self.mbarriers = MbarrierLog()
        self.thread_instructions = 0  # instructions that the batch has executed, counted once per thread
        layout = launch.translation.layout
        total = -(-(layout.shared_bytes + launch.shared_bytes) // _SHARED_UNIT) * _SHARED_UNIT
        self._specials: dict[str, Values] = {
            "%dynamic_smem_size": uniform(launch.shared_bytes),
            "%total_smem_size": uniform(total),
            "%aggr_smem_size": uniform(total + layout.shared_begin),
        }

    @cached_property
    def warps(self) -> Warps:
        """The warps of the batch."""
        return Warps(self.batch)

    @cached_property
    def register_pool(self) -> RegisterPool:
        """The registers of the batch's blocks."""
        return RegisterPool(self.batch, self._launch.registers)

    def special(self, name: str) -> Values:
        """Return one of the SPECIAL_REGISTERS, as lanes."""
        if name not in self._specials:
            self._specials[name] = self.batch.special(name)
        return self._specials[name]

    def clock(self, name: str) -> Values:
        """Return a clock: thread instructions that the batch has executed."""
        high = self.thread_instructions >> 32 if name.endswith("_hi") else self.thread_instructions
        return np.full((1,) * 6, high, np.uint64).astype(NUMPY[CLOCKS[name]])

    def print(self, lanes: Flags, text: Format, arguments: Sequence[Values]) -> None:
        """Print a format from some lanes (all axes in full), with the arguments of its conversions."""
        batch = self.batch
        threads = np.broadcast_to(batch.number_in_grid() * batch.block.size + batch.thread_index(), batch.shape)[lanes]
        order = np.argsort(threads)
        columns = [np.broadcast_to(argument, batch.shape)[lanes][order] for argument in arguments]
        self._launch.printed.add(text, threads[order], columns)

    def approximate(self, mask: Mask | None) -> None:
        """Count lanes that execute an instruction whose result has no specified bits."""
        self._launch.approximate_operations += self.batch.lanes if mask is None else mask.count

    def refuse(self, mask: Mask | None, refusal: Exception) -> None:
        """Raise ``refusal`` if any lane executes an instruction that the emulator does not support."""
        if mask is None or mask.count:
            raise refusal


def _spaces(launch: KernelLaunch, batch: Batch) -> dict[str, Space]:
    """Return the memories of a batch by name."""
    layout = launch.translation.layout
    thread_number = batch.thread_index() + batch.block.size * batch.block_index()
    return {
        "global": launch.device_memory,
        # Constants have addresses among the device's arrays, so that generic ones need no window.
        "const": launch.device_memory,
        "shared": CopiedMemory(
            "shared",
            (*layout.shared, (layout.dynamic_shared, launch.shared_bytes)),
            batch.block_index(),
            launch.fresh,
            layout.shared_name,
            layout.dynamic_shared,
        ),
        "local": CopiedMemory("local", ((copied_base(0), layout.local_bytes),), thread_number, launch.fresh),
        "param": _OneArray(Array("parameters", 0, layout.parameter_bytes, 0, launch.parameters)),
    }


@dataclass(frozen=True)
class _OneArray:
    """A memory with a single array."""

    array: Array
    range_bits = 63
    flushes = False

    elsewhere = far_from_every_array

    def at(self, address: int) -> Array | None:
        return self.array

"""The resource usage of one block, and how many such blocks each resource of a multiprocessor allows at a time.

The rules are those of NVIDIA's occupancy calculator (``cuda_occupancy.h``; for compute capability 1.x the spreadsheet):
what a block takes is rounded up to the units in which the hardware hands it out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from mmcore.kernel.geometry import ceil_div
from mmcore_occupancy.capabilities import WARP, Multiprocessor


@dataclass(frozen=True)
class ResourceUsage:
    """What one block takes of a multiprocessor.

    Attributes:
        of: the multiprocessor.
        threads: threads of the block.
        registers: registers per thread, as compiled.
        shared_bytes: shared memory of the block, static and dynamic together, in bytes.
    """

    of: Multiprocessor
    threads: int
    registers: int
    shared_bytes: int

    @property
    def warps(self) -> int:
        """Warps, the last of them perhaps not full."""
        return ceil_div(self.threads, WARP)

    @property
    def allocated_registers(self) -> int:
        """Registers that the block is given."""
        if self.of.registers_to_blocks:
            return _round_up(_round_up(self.warps, self.of.warp_unit) * WARP * self.registers, self.of.register_unit)
        return self.warps * self._registers_per_warp

    @property
    def allocated_shared_bytes(self) -> int:
        """Shared memory that the block is given, with what the system keeps of it, in bytes."""
        return _round_up(self.shared_bytes + self.of.shared_reserved, self.of.shared_unit)

    @property
    def _registers_per_warp(self) -> int:
        return _round_up(WARP * self.registers, self.of.register_unit)

    @property
    def _checked_registers(self) -> int:
        """Registers that the hardware checks against a block's limit: as if every partition had as many warps."""
        if self.of.registers_to_blocks:
            return self.allocated_registers
        return _round_up(self.warps, self.of.warp_unit) * self._registers_per_warp

    @cached_property
    def exceeded(self) -> dict[str, str]:
        """Why not even one such block can run, by the resource of which it takes too much; empty when one can."""
        most = self.of
        exceeded = {}
        if self.threads > most.threads_per_block:
            exceeded["warps"] = f"a block has {self.threads} threads, of at most {most.threads_per_block}"
        if self.registers > most.registers_per_thread:
            exceeded["registers"] = f"a thread has {self.registers} registers, of at most {most.registers_per_thread}"
        elif self._checked_registers > most.registers_per_block:
            taken = f"a block takes {self._checked_registers} registers"
            exceeded["registers"] = f"{taken}, of at most {most.registers_per_block}"
        if self.shared_bytes > most.shared_bytes_per_block_optin:
            taken = f"a block takes {self.shared_bytes} bytes of shared memory"
            exceeded["shared"] = f"{taken}, of at most {most.shared_bytes_per_block_optin}"
        return exceeded

    @property
    def limits(self) -> dict[str, int]:
        """How many blocks each resource allows at a time; as many as the hardware, where the block takes none of it."""
        return {
            "hardware": self.of.blocks,
            "warps": self._fitting("warps", self.of.warps, self.warps),
            "registers": self._fitting("registers", *self._register_slots),
            "shared": self._fitting("shared", self.of.shared_bytes, self.allocated_shared_bytes),
        }

    @property
    def _register_slots(self) -> tuple[int, int]:
        """(registers there are, registers of a block), or the same in warps where registers are handed to warps."""
        if self.of.registers_to_blocks or not self.registers:
            return self.of.registers, self.allocated_registers
        # Every partition has its own share of the registers, and a warp takes all of its own from one.
        per_partition = self.of.registers // self.of.warp_unit // self._registers_per_warp
        return per_partition * self.of.warp_unit, self.warps

    def _fitting(self, resource: str, available: int, needed: int) -> int:
        if resource in self.exceeded:
            return 0
        return available // needed if needed else self.of.blocks

    @property
    def binding(self) -> tuple[str, ...]:
        """The resources that allow the fewest blocks, but for those that the block takes nothing of."""
        amounts = {"registers": self.allocated_registers, "shared": self.allocated_shared_bytes}
        fewest = min(self.limits.values())
        return tuple(name for name, limit in self.limits.items() if limit == fewest and amounts.get(name, 1))

    def reduced(self, blocks: int) -> ResourceUsage:
        """The same with so few registers and so little shared memory that so many blocks fit."""
        # Warps and places for blocks must allow as many.
        registers, shared_bytes = self.registers, self.shared_bytes
        if self.limits["registers"] < blocks:
            fewer = range(min(registers, self.of.registers_per_thread), -1, -1)
            registers = next(r for r in fewer if replace(self, registers=r).limits["registers"] >= blocks)
        if self.limits["shared"] < blocks:
            share = self.of.shared_bytes // blocks
            share -= share % self.of.shared_unit + self.of.shared_reserved
            shared_bytes = min(share, self.of.shared_bytes_per_block_optin)
        return replace(self, registers=registers, shared_bytes=shared_bytes)


def _round_up(amount: int, unit: int) -> int:
    return ceil_div(amount, unit) * unit

"""The limits of each compute capability: the largest block and grid, and the resources of a multiprocessor.

The table is capabilities.csv. Its sources:

- 6.1 and later: CUDA C++ Programming Guide, "Compute Capabilities", its tables of technical specifications. The units
  of allocation, the partitions and the blocks per multiprocessor are also in ``cuda_occupancy.h`` of CUDA 13.
- 1.2 and 1.3: CUDA C Programming Guide 4, appendix "Compute Capabilities", and the CUDA Occupancy Calculator
  spreadsheet. The GeForce GT 240 of the Poznań lecture has 1.2, and the lecture prints the same limits.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, NamedTuple


class Dim3(NamedTuple):
    """Extent of a block (in threads) or a grid (in blocks), or an index in one."""

    x: int
    y: int = 1
    z: int = 1

    @property
    def size(self) -> int:
        """Number of threads or blocks: x·y·z."""
        return self.x * self.y * self.z

    def __str__(self) -> str:
        return "×".join(map(str, self if self.z > 1 else self[:2]))


WARP = 32
"""Threads of a warp, on every GPU so far."""
BLOCKS_PER_CLUSTER = 16


@dataclass(frozen=True)
class Multiprocessor:
    """The limits of one compute capability."""

    capability: tuple[int, int]  # (major, minor)
    multiprocessors: int  # multiprocessors of the largest product
    # Maximum number resident at a time.
    warps: int
    blocks: int
    threads_per_block: int  # maximum threads of a block
    registers: int  # 32-bit registers; one block may take them all
    registers_per_thread: int  # maximum registers of a thread
    register_unit: int  # granularity of the allocation of registers
    # True if a block's registers are allocated as a whole (compute capability 1.x), not by warp.
    registers_to_blocks: bool
    # Granularity of a block's warps when its registers are checked; from compute capability 2.0 on, the number of
    # partitions that share the registers and warps.
    warp_unit: int
    # Shared memory at the largest carve-out. The driver picks the carve-out that holds most blocks unless a program
    # asks for another.
    shared_bytes: int
    shared_bytes_per_block: int  # maximum shared memory of a block by default
    shared_bytes_per_block_optin: int  # maximum shared memory that a block can ask for
    shared_unit: int  # granularity of the allocation of shared memory
    shared_reserved: int  # bytes that the system reserves in each block's shared memory

    @classmethod
    def from_row(cls, capability: str, **limits: str) -> Multiprocessor:
        """Return the limits in a row of the table, in which each is a number, true or false."""
        major, minor = map(int, capability.split("."))
        values: dict[str, Any] = {name: json.loads(text) for name, text in limits.items()}
        return cls((major, minor), **values)

    @property
    def name(self) -> str:
        """The compute capability as text: "9.0"."""
        return ".".join(map(str, self.capability))

    @property
    def largest_block(self) -> Dim3:
        """Maximum threads along each axis of a block."""
        return Dim3(self.threads_per_block, self.threads_per_block, 64)

    @property
    def largest_grid(self) -> Dim3:
        """Maximum blocks along each axis of a grid."""
        return Dim3(65535, 65535, 1) if self.capability < (2, 0) else Dim3(2**31 - 1, 65535, 65535)


_ROWS = csv.DictReader(files(__package__).joinpath("capabilities.csv").read_text(encoding="utf-8").splitlines())
MULTIPROCESSORS = {limits.capability: limits for limits in (Multiprocessor.from_row(**row) for row in _ROWS)}
"""The limits by compute capability."""


@dataclass(frozen=True)
class BlockResources:
    """The resources of a block, and the number of such blocks that a multiprocessor holds by each of them."""

    of: Multiprocessor  # the multiprocessor
    threads_per_block: int  # threads of a block
    registers_per_thread: int  # registers of a thread, as compiled; 0 if unknown
    shared_per_block: int  # shared memory of a block, static and dynamic together, in bytes

    @property
    def warps_per_block(self) -> int:
        """Warps of a block; the last may be incomplete."""
        return -(-self.threads_per_block // WARP)

    @property
    def registers_per_block(self) -> int:
        """Registers allocated to a block."""
        warps = self.warps_per_block
        return self._registers(_round_up(warps, self.of.warp_unit) if self.of.registers_to_blocks else warps)

    def _registers(self, warps: int) -> int:
        """Return the registers allocated to so many warps of a block."""
        if self.of.registers_to_blocks:
            return _round_up(warps * WARP * self.registers_per_thread, self.of.register_unit)
        return warps * _round_up(WARP * self.registers_per_thread, self.of.register_unit)

    @property
    def shared_allocated(self) -> int:
        """Shared memory allocated to a block, with the reserved bytes."""
        return _round_up(self.shared_per_block + self.of.shared_reserved, self.of.shared_unit)

    @cached_property
    def exceeded(self) -> dict[str, str]:
        """The reasons why not even one block can run, by the resource it has too much of; empty if one can."""
        limits, shared = self.of, self.shared_per_block
        # The hardware checks them as if every partition had as many warps.
        registers = self._registers(_round_up(self.warps_per_block, limits.warp_unit))
        checks = (
            ("warps", self.threads_per_block, limits.threads_per_block, "a block has {} threads"),
            ("registers", registers, limits.registers, "a block takes {} registers"),
            ("registers", self.registers_per_thread, limits.registers_per_thread, "a thread has {} registers"),
            ("shared", shared, limits.shared_bytes_per_block_optin, "a block takes {} bytes of shared memory"),
        )
        return {name: f"{text.format(taken)}, of at most {top}" for name, taken, top, text in checks if taken > top}

    @property
    def limit_blocks(self) -> int:
        """Blocks that the hardware allows at a time."""
        return self.of.blocks

    @property
    def limit_warps(self) -> int:
        """Blocks that the warps allow at a time; 0 if one block has too many."""
        return self._fitting("warps", self.of.warps, self.warps_per_block)

    @property
    def limit_registers(self) -> int:
        """Blocks that the registers allow at a time; 0 if one block takes too many."""
        if self.of.registers_to_blocks or not self.registers_per_thread:
            return self._fitting("registers", self.of.registers, self.registers_per_block)
        # Every partition has its own share of the registers, and a warp takes its registers from one partition.
        warps_per_partition = self.of.registers // self.of.warp_unit // self._registers(1)
        return self._fitting("registers", warps_per_partition * self.of.warp_unit, self.warps_per_block)

    @property
    def limit_shared(self) -> int:
        """Blocks that the shared memory allows at a time; 0 if one block takes too much."""
        return self._fitting("shared", self.of.shared_bytes, self.shared_allocated)

    def _fitting(self, resource: str, available: int, needed: int) -> int:
        """Return the blocks that a resource allows: as many as the hardware if a block needs none of it."""
        if resource in self.exceeded:
            return 0
        return available // needed if needed else self.of.blocks

    @property
    def limits(self) -> dict[str, int]:
        """Blocks that each resource allows at a time."""
        return {
            "hardware": self.limit_blocks,
            "warps": self.limit_warps,
            "registers": self.limit_registers,
            "shared": self.limit_shared,
        }

    @property
    def resident_on_device(self) -> int:
        """Blocks that all multiprocessors hold at a time, at least one each."""
        return self.of.multiprocessors * max(1, min(self.limits.values()))


def _round_up(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit

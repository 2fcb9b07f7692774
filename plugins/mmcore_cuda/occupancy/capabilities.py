"""What one multiprocessor holds at a time, for each compute capability: the rows of capabilities.csv.

Their sources:

- 6.1 and later: CUDA C++ Programming Guide, "Compute Capabilities", its tables of technical specifications; units of
  allocation, partitions and blocks per multiprocessor also from ``cuda_occupancy.h`` of CUDA 13, NVIDIA's own
  occupancy calculation.
- 1.2 and 1.3: CUDA C Programming Guide 4, appendix "Compute Capabilities", and the CUDA Occupancy Calculator
  spreadsheet; 1.2 is the GeForce GT 240 of the Poznań lecture, which prints the same limits.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from mmcore.errors import UnknownCapability
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.properties import DeviceProperties

WARP = 32
"""Threads of a warp, on every GPU so far."""


@dataclass(frozen=True)
class Multiprocessor:
    """The limits of one compute capability.

    Attributes:
        capability: (major, minor).
        multiprocessors: how many the largest product has.
        warps: most warps at a time.
        blocks: most blocks at a time.
        threads_per_block: most threads in a block.
        registers: 32-bit registers, which one block may hold all of.
        registers_per_thread: most registers that one thread may hold.
        register_unit: registers are handed out in multiples of this many.
        registers_to_blocks: whether they are handed to a block as a whole (compute capability 1.x), not to each warp.
        warp_unit: a block's warps are counted in multiples of this many when its registers are checked; from
            compute capability 2.0 on, the partitions among which registers and warps are divided.
        shared_bytes: shared memory at the largest carve-out, in bytes. The driver picks the carve-out that holds most
            blocks unless a program asks for another.
        shared_bytes_per_block: most shared memory of a block without asking for more, in bytes.
        shared_bytes_per_block_optin: most that a block can ask for, in bytes.
        shared_unit: shared memory is handed out in multiples of this many bytes.
        shared_reserved: bytes that the system takes of every block's shared memory, beyond what the block asks for.
    """

    capability: tuple[int, int]
    multiprocessors: int
    warps: int
    blocks: int
    threads_per_block: int
    registers: int
    registers_per_thread: int
    register_unit: int
    registers_to_blocks: bool
    warp_unit: int
    shared_bytes: int
    shared_bytes_per_block: int
    shared_bytes_per_block_optin: int
    shared_unit: int
    shared_reserved: int

    @classmethod
    def from_row(cls, capability: str, **limits: str) -> Multiprocessor:
        """The limits in a row of the table, where each is a number, true or false."""
        major, minor = map(int, capability.split("."))
        values: dict[str, Any] = {name: json.loads(text) for name, text in limits.items()}
        return cls((major, minor), **values)

    @property
    def name(self) -> str:
        """The compute capability as it is written: "9.0"."""
        return ".".join(map(str, self.capability))


_ROWS = csv.DictReader(files(__package__).joinpath("capabilities.csv").read_text(encoding="utf-8").splitlines())
MULTIPROCESSORS = {each.capability: each for each in (Multiprocessor.from_row(**row) for row in _ROWS)}
"""The table, by compute capability."""


def multiprocessor(capability: tuple[int, int]) -> Multiprocessor:
    """The limits of a compute capability, (major, minor).

    Raises:
        UnknownCapability: it is not in the table; the text says which are.
    """
    if capability not in MULTIPROCESSORS:
        known = ", ".join(each.name for each in MULTIPROCESSORS.values())
        newer = ", which is newer than all of them," if capability > max(MULTIPROCESSORS) else ""
        raise UnknownCapability(
            f"the limits of compute capability {'.'.join(map(str, capability))}{newer} are not in mmcore's table; "
            f"it has {known}"
        )
    return MULTIPROCESSORS[capability]


def capability_properties(capability: tuple[int, int]) -> DeviceProperties:
    """A device of this compute capability, with 1 TiB of memory and as many multiprocessors as its largest GPU.

    Raises:
        UnknownCapability: the limits of that compute capability are not known.
    """
    of = multiprocessor(capability)
    return DeviceProperties(
        compute_capability=capability,
        threads_per_block=of.threads_per_block,
        block=Dim3(of.threads_per_block, of.threads_per_block, 64),
        grid=Dim3(65535, 65535, 1) if capability < (2, 0) else Dim3(2**31 - 1, 65535, 65535),
        shared_bytes=of.shared_bytes_per_block,
        shared_bytes_optin=of.shared_bytes_per_block_optin,
        registers_per_block=of.registers,
        multiprocessors=of.multiprocessors,
    )

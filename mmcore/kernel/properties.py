"""The properties of a device that launch rules and limits depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mmcore.kernel.geometry import Dim3


@dataclass(frozen=True)
class DeviceProperties:
    """A device's size, and its limits on one launch; by default those of compute capability 9.0.

    Attributes:
        compute_capability: (major, minor).
        threads_per_block: most threads in a block.
        block, grid: most threads along each axis of a block, most blocks along each axis of a grid.
        shared_bytes, shared_bytes_optin: most bytes of static shared memory in a block, and of static and dynamic.
        registers_per_block: 32-bit registers that one block may hold.
        memory_bytes: device memory that matrices may occupy, in bytes.
        multiprocessors: how many it has; a persistent kernel launches that many blocks, or a multiple.
        clock_mhz: highest clock of the multiprocessors.
        card: product name of a GPU, such as "NVIDIA H200", which tuned configs are stored for; else empty.
    """

    compute_capability: tuple[int, int] = (9, 0)
    threads_per_block: int = 1024
    block: Dim3 = Dim3(1024, 1024, 64)  # noqa: RUF009
    grid: Dim3 = Dim3(2**31 - 1, 65535, 65535)  # noqa: RUF009
    shared_bytes: int = 48 << 10
    shared_bytes_optin: int = 227 << 10
    registers_per_block: int = 64 << 10
    memory_bytes: int = 1 << 40
    multiprocessors: int = 132
    clock_mhz: int = 1980
    card: str = ""

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> DeviceProperties:
        """Return the properties that :func:`dataclasses.asdict` wrote, also with JSON's lists."""
        dims = {name: Dim3(*values[name]) for name in ("block", "grid")}
        return cls(**{**values, **dims, "compute_capability": tuple(values["compute_capability"])})

"""The properties of a device that launch rules and limits depend on."""

from __future__ import annotations

from dataclasses import dataclass

from mmcore.kernel.geometry import Dim3, ceil_div


@dataclass(frozen=True)
class DeviceProperties:
    """A device's size, and its limits on one launch; by default those of compute capability 9.0.

    Attributes:
        compute_capability: (major, minor).
        threads_per_block: most threads in a block.
        block: most threads along each axis of a block.
        grid: most blocks along each axis of a grid.
        shared_bytes: most static shared memory of a block, in bytes.
        shared_bytes_optin: most static and dynamic shared memory together, in bytes.
        registers_per_block: 32-bit registers that one block may hold.
        memory_bytes: device memory that matrices may occupy, in bytes.
        multiprocessors: how many it has; a persistent kernel launches that many blocks, or a multiple.
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

    def launch_violations(self, grid: Dim3, block: Dim3, dynamic_shared_bytes: int) -> list[str]:
        """Why this geometry cannot be launched on the device; empty when it can."""
        shared = f"a block asks for {dynamic_shared_bytes} bytes of dynamic shared memory"
        return _exceeded(
            (block.size, self.threads_per_block, f"a {block} block has {block.size} threads"),
            *(
                (threads, most, f"a {block} block has {threads} threads along {axis}")
                for axis, threads, most in zip(Dim3._fields, block, self.block, strict=True)
                if threads <= self.threads_per_block
            ),
            *(
                (blocks, most, f"a {grid} grid has {blocks} blocks along {axis}")
                for axis, blocks, most in zip(Dim3._fields, grid, self.grid, strict=True)
            ),
            (dynamic_shared_bytes, self.shared_bytes_optin, shared),
        )

    def resource_violations(self, block: Dim3, registers: int, shared_bytes: int) -> list[str]:
        """Why blocks of so many registers per thread and bytes of shared memory cannot run; empty when they can."""
        # The hardware hands registers to whole warps in units of 256.
        needed = ceil_div(block.size, 32) * ceil_div(registers * 32, 256) * 256
        threads = f"a {block} block of threads with {registers} registers each"
        return _exceeded(
            (needed, self.registers_per_block, f"{threads} takes {needed} registers"),
            (shared_bytes, self.shared_bytes_optin, f"a block uses {shared_bytes} bytes of shared memory"),
        )


def _exceeded(*limits: tuple[int, int, str]) -> list[str]:
    return [f"{said}; the device allows {most}" for found, most, said in limits if found > most]

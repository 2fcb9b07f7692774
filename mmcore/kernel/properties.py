"""The properties of a device that launch rules and limits depend on."""

from __future__ import annotations

from dataclasses import dataclass

from mmcore.kernel.geometry import Dim3

_BLOCK, _GRID = Dim3(1024, 1024, 64), Dim3(2**31 - 1, 65535, 65535)


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
    block: Dim3 = _BLOCK
    grid: Dim3 = _GRID
    shared_bytes: int = 48 << 10
    shared_bytes_optin: int = 227 << 10
    registers_per_block: int = 64 << 10
    memory_bytes: int = 1 << 40
    multiprocessors: int = 132

    def launch_violations(self, grid: Dim3, block: Dim3, dynamic_shared_bytes: int) -> list[str]:
        """Why this geometry cannot be launched on the device; empty when it can."""
        reasons = []
        if block.size > self.threads_per_block:
            reasons.append(f"a {block} block has {block.size} threads; the device allows {self.threads_per_block}")
        for axis in Dim3._fields:
            threads, most = getattr(block, axis), getattr(self.block, axis)
            if most < threads <= self.threads_per_block:
                reasons.append(f"a {block} block has {threads} threads along {axis}; the device allows {most}")
            blocks, most = getattr(grid, axis), getattr(self.grid, axis)
            if blocks > most:
                reasons.append(f"a {grid} grid has {blocks} blocks along {axis}; the device allows {most}")
        if dynamic_shared_bytes > self.shared_bytes_optin:
            reasons.append(
                f"a block asks for {dynamic_shared_bytes} bytes of dynamic shared memory; "
                f"the device allows {self.shared_bytes_optin}"
            )
        return reasons

    def resource_violations(self, block: Dim3, registers: int, shared_bytes: int) -> list[str]:
        """Why a compiled kernel cannot be launched in such blocks; empty when it can.

        Args:
            block: the block's shape.
            registers: registers per thread, as compiled.
            shared_bytes: static and dynamic shared memory of a block together.
        """
        reasons = []
        # The hardware hands registers to whole warps in units of 256.
        warps = -(-block.size // 32)
        needed = warps * (-(-registers * 32 // 256) * 256)
        if needed > self.registers_per_block:
            reasons.append(
                f"a {block} block of threads with {registers} registers each takes {needed} registers; "
                f"the device allows {self.registers_per_block}"
            )
        if shared_bytes > self.shared_bytes_optin:
            reasons.append(
                f"a block uses {shared_bytes} bytes of shared memory; the device allows {self.shared_bytes_optin}"
            )
        return reasons

"""Declarations of the kernels in this folder: cp.async, mbarriers, TMA, wgmma and clusters, all of them right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mmcore import Config, DeviceProperties, Kernel, Launch, Multiple, Problem, TensorMap

RING_BYTES = 1024  # room for the mbarriers after the tiles
SIZES = {
    "cp_async_ring": (128, 128, 192),
    "cp_async_mbarrier": (128, 64, 256),
    "tma_ring": (256, 128, 448),
    "wgmma_registers": (128, 128, 512),
    "cluster_multicast": (256, 128, 448),
    "cluster_split_k": (64, 64, 128),
    "tma_store": (128, 192, 320),
}
"""The m, n and k of each kernel: several blocks, and at least two rounds of every ring."""


def _kernel(
    name: str,
    tile: tuple[int, int, int],
    threads: int,
    *,
    in_block: tuple[int, int] | None = None,
    blocks: int = 0,
    shared_bytes: int = 0,
    **declared: Any,
) -> Kernel:
    """Return a kernel.

    Args:
        name: its file.
        tile: numbers that m, n and k are multiples of.
        threads: the threads of a block.
        in_block: rows and columns of C in a block, where not those of the tile.
        blocks: the number of blocks, where it is the same for every product.
        shared_bytes: bytes of dynamic shared memory.
        declared: other attributes of :class:`mmcore.Kernel`.
    """
    rows, columns = in_block or tile[:2]

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        grid = (blocks,) if blocks else (problem.n // columns, problem.m // rows)
        return Launch(grid, config.block, shared_bytes)

    usual: dict[str, Any] = {
        "name": f"planted.{name}",
        "source": Path(__file__).parent / f"{name}.cu",
        "configs": [{"block": (threads,)}],
        "launch": launch,
        "constraints": [Multiple(size, of) for size, of in zip("mnk", tile, strict=True)],
        "dtype": "float16",
        "accumulator": "float32",
        "output": declared.get("dtype", "float16"),
        "column_major": "B",
        "architecture": "90a",
        "min_compute_capability": (9, 0),
    }
    return Kernel(**usual | declared)


def _map(matrix: str, rows: int = 64) -> TensorMap:
    return TensorMap(matrix, box=(rows, 64), swizzle=128)


_KERNELS = (
    _kernel("cp_async_ring", (64, 64, 32), 128, output="float32", column_major=""),
    _kernel("cp_async_mbarrier", (64, 64, 32), 160, dtype="bfloat16"),
    _kernel(
        "tma_ring",
        (128, 64, 64),
        288,
        shared_bytes=3 * (128 + 64) * 64 * 2 + RING_BYTES,
        output="float32",
        arguments=(_map("A", 128), _map("B"), "C", "n", "k"),
    ),
    _kernel("wgmma_registers", (64, 64, 128), 128, dtype="bfloat16", output="float32"),
    _kernel(
        "cluster_multicast",
        (128, 64, 64),
        160,
        in_block=(64, 64),
        shared_bytes=3 * (64 + 64) * 64 * 2 + RING_BYTES,
        dtype="bfloat16",
        output="float32",
        arguments=(_map("A"), _map("B", 32), "C", "n", "k"),
    ),
    _kernel("cluster_split_k", (32, 32, 32), 128, in_block=(32, 16)),
    _kernel(
        "tma_store",
        (64, 64, 64),
        160,
        blocks=2,
        shared_bytes=(4 * (64 + 64) + 64) * 64 * 2 + RING_BYTES,
        arguments=(_map("A"), _map("B"), _map("C"), "m", "n", "k"),
    ),
)
KERNELS = {kernel.name.removeprefix("planted."): kernel for kernel in _KERNELS}

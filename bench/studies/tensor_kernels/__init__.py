"""Six kernels for tensor cores whose counts can be worked out by hand; one tile of 64×64 for each block but the first.

They are written to be counted, not to be fast: no tile is fetched before it is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mmcore import Config, DeviceProperties, Kernel, Launch, Multiple, Problem, TensorMap
from mmcore.kernel.arguments import Argument

TILE = 64
_HERE = Path(__file__).parent


def _kernel(name: str, title: str, **declared: Any) -> Kernel:
    usual: dict[str, Any] = {"dtype": "float16", "accumulator": "float32", "output": "float32"}
    return Kernel(name=f"tensor.{name}", title=title, **{**usual, **declared})


def _tiles(problem: Problem, config: Config) -> tuple[int, int]:
    return problem.n // TILE, problem.m // TILE


def _mma_sync(name: str, title: str, swizzle: int) -> Kernel:
    return _kernel(
        name,
        title,
        source=_HERE / "mma_sync.cu",
        grid=_tiles,
        configs=[{"block": (128,), "SWIZZLE": swizzle}],
        constraints=(Multiple(("m", "n", "k"), TILE),),
        min_compute_capability=(8, 0),
    )


def _wgmma(name: str, title: str, *, cluster: int = 1, stored: bool = False) -> Kernel:
    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        a = TensorMap("A", (TILE, TILE), swizzle=128)
        b = TensorMap("B", (TILE // cluster, TILE), swizzle=128)
        c: Argument = TensorMap("C", (TILE, TILE), swizzle=128) if stored else "C"
        blocks = _tiles(problem, config)
        return Launch(blocks, config.block, cluster=(1, cluster), arguments=(a, b, c, "n", "k"))

    return _kernel(
        name,
        title,
        source=_HERE / "wgmma.cu",
        launch=launch,
        configs=[{"block": (128,), "CLUSTER": cluster, "STORED": int(stored)}],
        column_major="B",
        output="float16" if stored else "float32",
        constraints=(Multiple("m", TILE * cluster), Multiple(("n", "k"), TILE)),
        architecture="90a",
        min_compute_capability=(9, 0),
    )


WMMA = _kernel(
    "wmma",
    "wmma: a warp for each 16×16 of C, tiles in shared memory",
    source=_HERE / "wmma.cu",
    grid=lambda problem, config: (problem.n // 32, problem.m // 32),
    configs=[{"block": (128,)}],
    constraints=(Multiple(("m", "n"), 32), Multiple("k", 16)),
)
MMA_SYNC = _mma_sync("mma_sync", "mma.sync, ldmatrix and cp.async; the rows of a tile begin in the same bank", 0)
SWIZZLED = _mma_sync("swizzled", "the same with swizzled tiles", 1)
WGMMA = _wgmma("wgmma", "wgmma of swizzled tiles that TMA fetches")
MULTICAST = _wgmma("multicast", "the same in clusters of two, each block fetching half of B for both", cluster=2)
STORED = _wgmma("stored", "the same with a C of float16 that stmatrix and TMA store", stored=True)

KERNELS = (WMMA, MMA_SYNC, SWIZZLED, WGMMA, MULTICAST, STORED)

"""Declarations of the kernels in this folder: cp.async, mbarriers, TMA, wgmma and clusters, all of them right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mmcore import Config, DeviceProperties, Kernel, Launch, Multiple, Problem, TensorMap, hookimpl

RING_BYTES = 1024  # room for the mbarriers behind the tiles


def _kernel(name: str, title: str, *, tile: tuple[int, int, int], threads: int, **declared: Any) -> Kernel:
    m, n, k = tile
    usual: dict[str, Any] = {
        "name": f"planted.{name}",
        "title": title,
        "source": Path(__file__).parent / f"{name}.cu",
        "configs": [{"block": (threads,)}],
        "grid": lambda problem, config: (problem.n // n, problem.m // m),
        "constraints": (Multiple("m", m), Multiple("n", n), Multiple("k", k)),
        "dtype": "float16",
        "accumulator": "float32",
        "output": declared.get("dtype", "float16"),
        "column_major": "B",
        "architecture": "90a",
        "min_compute_capability": (9, 0),
    }
    return Kernel(**usual | declared)


def _tma_ring(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    return Launch((problem.n // 64, problem.m // 128), config.block, 3 * (128 + 64) * 64 * 2 + RING_BYTES)


def _cluster_multicast(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    return Launch((problem.n // 64, problem.m // 64), config.block, 3 * (64 + 64) * 64 * 2 + RING_BYTES)


def _tma_store(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    return Launch((2,), config.block, (4 * (64 + 64) + 64) * 64 * 2 + RING_BYTES)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    a_map, b_map = TensorMap("A", box=(64, 64), swizzle=128), TensorMap("B", box=(64, 64), swizzle=128)
    return [
        _kernel(
            "cp_async_ring",
            "cp.async in three stages, ldmatrix, mma.sync",
            tile=(64, 64, 32),
            threads=128,
            output="float32",
            column_major="",
        ),
        _kernel(
            "cp_async_mbarrier",
            "a warp copies by cp.async and arrives on mbarriers, mma.sync",
            tile=(64, 64, 32),
            threads=160,
            dtype="bfloat16",
        ),
        _kernel(
            "tma_ring",
            "TMA and a ring of mbarriers, two warpgroups of wgmma",
            tile=(128, 64, 64),
            threads=288,
            output="float32",
            grid=None,
            launch=_tma_ring,
            arguments=(TensorMap("A", box=(128, 64), swizzle=128), b_map, "C", "n", "k"),
        ),
        _kernel(
            "wgmma_registers",
            "wgmma, A in registers, B stored by the threads, two groups in flight",
            tile=(64, 64, 128),
            threads=128,
            dtype="bfloat16",
            output="float32",
        ),
        _kernel(
            "cluster_multicast",
            "clusters of two, tiles of B by multicast, wgmma",
            tile=(128, 64, 64),
            threads=160,
            dtype="bfloat16",
            output="float32",
            grid=None,
            launch=_cluster_multicast,
            arguments=(a_map, TensorMap("B", box=(32, 64), swizzle=128), "C", "n", "k"),
        ),
        _kernel(
            "cluster_split_k",
            "clusters of two that share k, sums in distributed shared memory",
            tile=(32, 32, 32),
            threads=128,
            grid=lambda problem, config: (problem.n // 32 * 2, problem.m // 32),
        ),
        _kernel(
            "tma_store",
            "blocks that stay for several tiles, stored by stmatrix and TMA",
            tile=(64, 64, 64),
            threads=160,
            grid=None,
            launch=_tma_store,
            arguments=(a_map, b_map, TensorMap("C", box=(64, 64), swizzle=128), "m", "n", "k"),
        ),
    ]

"""ladder.f64: float64 on CUDA cores, and on tensor cores for any size."""

from functools import partial
from pathlib import Path
from typing import Any

from mmcore import Config, DeviceProperties, Kernel, Launch, Multiple, Problem, Scalar, Space, hookimpl, named_tiling
from mmcore.kernel.arguments import Argument
from mmcore_ladder.layouts import StrideInBytes
from mmcore_ladder.shares import SHARED_BYTES, STATIC_BYTES, equal_shares, stream_k, threads_of_warps, tiles_bytes

_BARRIERS_BYTES = 16
"""Bytes of a stage's barriers."""


def _threads_of_registers(config: Config) -> tuple[int]:
    """Return the threads of a block with one thread for TM×TN elements of its tile."""
    return (config.BM // config.TM * (config.BN // config.TN),)


def _tiles_exist(config: Config) -> bool:
    """Return whether 01_tiles supports the config: a thread's 255 registers hold 64 sums and their operands."""
    return (
        64 <= config.block.x <= 256
        and config.TM * config.TN <= 64
        and equal_shares(config, 1)
        and tiles_bytes(config, 8) <= STATIC_BYTES
    )


def resident(config: Config) -> int:
    """Return how many blocks a multiprocessor has room for; the source defines the same number as BLOCKS."""
    elements = config.WM * config.WN
    threads = 256 if elements > 1024 else 384 if elements > 512 else 512
    return max(1, int(min(threads // config.block.x, SHARED_BYTES // _shared_bytes(config, ring=True))))


def _dmma_exists(config: Config, *, ring: bool) -> bool:
    """Return whether a tensor-core rung supports the config: at most 64 sums per thread, 4 to 8 warps."""
    whole = config.BM % config.WM == config.BN % config.WN == 0
    elements, threads = config.WM * config.WN, config.block.x
    # A ring fetches in the middle of a tile, before the tile's last step. If BK is 32, a thread's registers do not hold
    # 64 sums in a ring, nor if the thread copies much.
    fits = config.WM > 16 if config.BK == 16 else elements <= 1024 or (threads == 256 and not ring)
    sums = elements <= 2048 and 128 <= threads <= 256
    return bool(whole and sums and fits and _shared_bytes(config, ring=True) <= SHARED_BYTES)


def _shared_bytes(config: Config, *, ring: bool) -> int:
    """Return the shared memory of a block, in bytes: the tiles of all stages, then the barriers of a ring."""
    return int(tiles_bytes(config, 8) + ring * config.STAGES * _BARRIERS_BYTES)


def _launch_dmma(problem: Problem, config: Config, device: DeviceProperties, *, ring: bool = False) -> list[Launch]:
    """Return the launches; threads copy two doubles at once if all rows begin and end at multiples of 16 bytes."""
    wide_a, wide_b = (
        1 if length % 2 or leading % 2 else 2
        for length, leading in ((problem.k, problem.lda), (problem.n, problem.ldb))
    )

    def product(blocks: int, parts: Argument, whole: Scalar) -> Launch:
        return Launch(
            grid=(blocks,),
            block=config.block,
            shared_bytes=_shared_bytes(config, ring=ring),
            entry=f"dmma<{wide_a}, {wide_b}>",
            arguments=("A", "B", "C", parts, "m", "n", "k", "lda", "ldb", "ldc", whole),
        )

    return stream_k(problem, config, device, resident(config), product)


def _dmma(rung: str, default: dict[str, int], *, ring: bool = False, **declared: Any) -> Kernel:
    """Return a tensor-core rung; a ``ring`` of stages has barriers in shared memory."""
    return Kernel(
        name=f"ladder.f64.{rung}",
        source=Path(f"f64_{rung}.cu"),
        dtype="float64",
        configs=Space(
            {
                "BM": (16, 32, 64, 128),
                "BN": (32, 64, 128),
                "BK": (16, 32),
                "WM": (16, 32, 64),
                "WN": (16, 32, 64),
                "STAGES": (3, 4),
                "GROUP": (8, 16),
                "block": threads_of_warps,
            },
            where=partial(_dmma_exists, ring=ring),
            default=[default],
        ),
        entry="dmma<1, 1>",
        arguments=("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc"),
        launch=partial(_launch_dmma, ring=ring),
        tiling=named_tiling,
        constraints=(StrideInBytes(2**29, "lda and ldb are less than 2²⁹"),),
        min_compute_capability=(9, 0),
        **declared,
    )


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """Return the rungs, from the lowest to the highest."""
    return [
        Kernel(
            name="ladder.f64.01_tiles",
            source=Path("f64_01_tiles.cu"),
            title="tiles in shared memory, TM×TN elements of C in each thread's registers",
            reference="Rajib Nath, Stanimire Tomov and Jack Dongarra, An Improved MAGMA GEMM for Fermi GPUs, 2010",
            dtype="float64",
            configs=Space(
                {
                    "BM": (64, 128, 256),
                    "BN": (64, 128, 256),
                    "BK": (8, 16, 32),
                    "TM": (4, 8),
                    "TN": (4, 8),
                    "block": _threads_of_registers,
                },
                where=_tiles_exist,
                default=[{"BM": 64, "BN": 128, "BK": 8, "TM": 8, "TN": 8}],
            ),
            constraints=(Multiple("m", of="BM"), Multiple("n", of="BN"), Multiple("k", of="BK")),
        ),
        _dmma(
            "02_dmma",
            {"BM": 128, "BN": 128, "BK": 16, "WM": 64, "WN": 32, "STAGES": 3, "GROUP": 16},
            title="tensor cores multiply doubles (mma.sync m16n8k8), tiles by cp.async in STAGES stages; any size",
            reference="NVIDIA, Parallel Thread Execution ISA: mma.sync.m16n8k8 with .f64; NVIDIA H100 Tensor Core GPU "
            "Architecture, 2022",
        ),
        _dmma(
            "03_ring",
            {"BM": 128, "BN": 128, "BK": 16, "WM": 32, "WN": 64, "STAGES": 4, "GROUP": 8},
            ring=True,
            title="a stage's barriers count copies and readers, so that no warp waits for one that still multiplies",
            reference="NVIDIA, Parallel Thread Execution ISA: cp.async.mbarrier.arrive",
        ),
    ]

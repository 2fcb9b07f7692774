"""ladder.tf32: float32 matrices on tensor cores, which use the upper 19 bits and sum in float32."""

from __future__ import annotations

from pathlib import Path

from mmcore import Config, DeviceProperties, Kernel, Launch, Problem, Space, ceil_div, hookimpl
from mmcore_ladder.shares import SHARED_BYTES, tiles_bytes, tiles_in_rows, warps_exist


def _exists(config: Config) -> bool:
    """Return whether 01_mma_sync supports the config with copies of 4 bytes and of 16."""
    return (
        warps_exist(config)
        and config.BM * config.BN <= 128 * 256
        and tiles_in_rows(config, 1)
        and tiles_in_rows(config, 4)
        and tiles_bytes(config, 4) <= SHARED_BYTES
    )


_SPACE = Space(
    {
        "BM": (64, 128, 256),
        "BN": (64, 128, 256),
        "BK": (32,),
        "WM": (32, 64),
        "WN": (32, 64),
        "STAGES": (3, 4, 5),
        "GROUP": (4, 8),
        "block": lambda config: (32 * (config.BM // config.WM) * (config.BN // config.WN),),
    },
    where=_exists,
    default=[{"BM": 128, "BN": 256, "BK": 32, "WM": 64, "WN": 64, "STAGES": 4, "GROUP": 8}],
)


def _launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """Return a launch with a block per tile of C; threads copy 16 bytes if the leading dimension allows it, else 4."""
    a, b = (16 if problem.leading(matrix) % 4 == 0 else 4 for matrix in "AB")
    c = 8 if problem.leading("C") % 2 == 0 else 4
    return Launch(
        (ceil_div(problem.m, config.BM) * ceil_div(problem.n, config.BN),),
        config.block,
        shared_bytes=tiles_bytes(config, 4),
        entry=f"mma_sync<{a}, {b}, {c}>",
    )


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the only rung."""
    return Kernel(
        name="ladder.tf32.01_mma_sync",
        source=Path(__file__).parent / "tf32_01_mma_sync.cu",
        title="mma.sync of tf32 with cp.async in several stages; any size and leading dimension",
        reference="A. Kerr, D. Merrill, J. Demouth, J. Tran, CUTLASS: Fast Linear Algebra in CUDA C++, 2017",
        configs=_SPACE,
        launch=_launch,
        entry="mma_sync<16, 16, 8>",
        dtype="tf32",
        accumulator="float32",
        output="float32",
        min_compute_capability=(8, 0),
    )

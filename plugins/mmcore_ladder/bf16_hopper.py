"""The bfloat16 rungs that need Hopper: wgmma on tiles that TMA fetches, B stored by columns."""

from __future__ import annotations

from collections.abc import Callable

from mmcore import Config, DeviceProperties, Kernel, Launch, Multiple, Problem, Space, TensorMap, hookimpl
from mmcore_ladder.shares import SHARED_BYTES, STATIC_BYTES, tiles_bytes

_DEPTH = 64
"""Elements of a tile along k: 128 bytes, the width of the swizzle."""
_GUIDE = (
    "NVIDIA, CUDA C++ Programming Guide: asynchronous data copies using the Tensor Memory Accelerator; PTX ISA: wgmma"
)
_WORKLOG = "P. Shankhdhar, Outperforming cuBLAS on H100: a Worklog (2024)"

LaunchRule = Callable[[Problem, Config, DeviceProperties], Launch]


def _tiles(problem: Problem, config: Config) -> int:
    return int(problem.m // config.BM * (problem.n // config.BN))


def _maps(config: Config, cluster: int = 1) -> tuple[TensorMap, TensorMap]:
    return TensorMap("A", (config.BM, _DEPTH), 128), TensorMap("B", (config.BN // cluster, _DEPTH), 128)


def _ring_bytes(config: Config) -> int:
    """Return the bytes of the stages' tiles and barriers."""
    return tiles_bytes(config, 2, _DEPTH) + int(config.STAGES) * 16


def _one_pair(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    grid = problem.n // config.BN, problem.m // config.BM
    return Launch(grid, config.block, arguments=(*_maps(config), "C", "n", "k"))


def _ring(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    grid = problem.n // config.BN, problem.m // config.BM
    return Launch(grid, config.block, shared_bytes=_ring_bytes(config), arguments=(*_maps(config), "C", "n", "k"))


def _persistent(cluster: int) -> LaunchRule:
    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        blocks = min(_tiles(problem, config), device.multiprocessors // cluster * cluster)
        return Launch(
            (blocks,),
            config.block,
            shared_bytes=_ring_bytes(config),
            cluster=(cluster,) if cluster > 1 else None,
            arguments=(*_maps(config, cluster), "C", "m", "n", "k"),
        )

    return launch


def _rung(name: str, title: str, launch: LaunchRule, configs: Space, cluster: int = 1) -> Kernel:
    return Kernel(
        name=f"ladder.bf16.{name}",
        title=title,
        reference=f"{_GUIDE}; {_WORKLOG}",
        source=f"bf16_{name}.cu",  # type: ignore[arg-type]
        dtype="bfloat16",
        accumulator="float32",
        output="bfloat16",
        column_major="B",
        launch=launch,
        configs=configs,
        constraints=(Multiple("m", "BM", times=cluster), Multiple("n", "BN"), Multiple("k", _DEPTH)),
        architecture="90a",
        min_compute_capability=(9, 0),
    )


def _with_producer(config: Config) -> tuple[int]:
    """Return the threads of the warpgroups that multiply and of the one that fetches."""
    return (2 * config.BM + 128,)


def _sums_fit(config: Config) -> bool:
    """Return whether the registers hold BN / 2 sums and 32 other values for every thread."""
    return bool(config.block.x * (config.BN // 2 + 32) <= 64 << 10)


def _pair_fits(config: Config) -> bool:
    """Return whether 08_wgmma supports the config: a pair of tiles and a barrier fit into static shared memory."""
    return _sums_fit(config) and tiles_bytes(config, 2, _DEPTH) + 8 <= STATIC_BYTES


def _ring_fits(config: Config) -> bool:
    """Return whether rungs 09 to 11 support the config."""
    return _sums_fit(config) and _ring_bytes(config) <= SHARED_BYTES


_EXTENTS = (64, 128, 192, 256)
_STAGES = (2, 3, 4, 5, 6, 8)
# One warpgroup for every 64 rows. A ring has one more, which fetches.
_PAIRS = Space(
    {"BM": _EXTENTS, "BN": _EXTENTS, "block": lambda config: (2 * config.BM,)},
    where=_pair_fits,
    default=[{"BM": 128, "BN": 128}],
)
_RINGS = Space(
    {"BM": _EXTENTS, "BN": _EXTENTS, "STAGES": _STAGES, "block": _with_producer},
    where=_ring_fits,
    default=[{"BM": 128, "BN": 128, "STAGES": 4}],
)
# Two warpgroups multiply in these sources.
_PERSISTENT = Space(
    {"BM": (128,), "BN": _EXTENTS, "STAGES": _STAGES, "GROUP": (2, 4, 8, 16), "block": _with_producer},
    where=_ring_fits,
    default=[{"BM": 128, "BN": 256, "STAGES": 4, "GROUP": 8}],
)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """Return rungs 08 to 11."""
    return [
        _rung("08_wgmma", "wgmma on tiles that TMA fetches", _one_pair, _PAIRS),
        _rung("09_ring", "A ring of tiles: one warpgroup fetches, the others multiply", _ring, _RINGS),
        _rung(
            "10_persistent",
            "A block for each multiprocessor, which computes tile after tile in an order for L2",
            _persistent(1),
            _PERSISTENT,
        ),
        _rung(
            "11_cluster",
            "Clusters of two blocks, each of which fetches half of B's tile for both",
            _persistent(2),
            _PERSISTENT,
            cluster=2,
        ),
    ]

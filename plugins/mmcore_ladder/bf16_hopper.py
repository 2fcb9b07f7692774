"""Rungs of the ladder in bfloat16 that only Hopper has: wgmma on tiles that TMA fetches, B stored by columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mmcore import Config, DeviceProperties, Kernel, Launch, Multiple, Problem, Space, TensorMap, hookimpl
from mmcore_ladder.shares import SHARED_BYTES, STATIC_BYTES

_DEPTH = 64
"""Elements of a tile along k: 128 bytes, as far as the swizzle goes."""
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
    """The stages' tiles and barriers."""
    return int(config.STAGES * ((config.BM + config.BN) * _DEPTH * 2 + 16))


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


def _fits(config: Config, producers: int) -> bool:
    """Whether tiles go into shared memory, and sums into the registers."""
    if "STAGES" not in config:
        return bool((config.BM + config.BN) * _DEPTH * 2 + 16 <= STATIC_BYTES)
    return _ring_bytes(config) <= SHARED_BYTES


def _space(default: Mapping[str, int], producers: int = 1, **further: tuple[int, ...]) -> Space:
    """A warpgroup for every 64 rows, and those that fetch."""
    return Space(
        {
            "BM": (64, 128, 192, 256),
            "BN": (64, 128, 192, 256),
            **further,
            "block": lambda config: (128 * (config.BM // 64 + producers),),
        },
        where=lambda config: _fits(config, producers),
        default=[default],
    )


_STAGES = (2, 3, 4, 5, 6, 8)
_GROUPS = (2, 4, 8, 16)
_PERSISTENT = _space({"BM": 128, "BN": 256, "STAGES": 4, "GROUP": 8}, BM=(128,), STAGES=_STAGES, GROUP=_GROUPS)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The rungs that mma.sync's are followed by."""
    return [
        _rung("08_wgmma", "wgmma on tiles that TMA fetches", _one_pair, _space({"BM": 128, "BN": 128}, producers=0)),
        _rung(
            "09_ring",
            "A ring of tiles: one warpgroup fetches, the others multiply",
            _ring,
            _space({"BM": 128, "BN": 128, "STAGES": 4}, STAGES=_STAGES),
        ),
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

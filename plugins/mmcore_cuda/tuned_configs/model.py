"""A model of a launch's time, which chooses a config where nothing is tuned for such a product.

It adds up clock cycles of a multiprocessor: waves of blocks, their steps along k and the ends of their tiles. A step
takes as long as its multiplications, its reads of shared memory, its fetches from L2 or the latency of a stage,
whichever is longest. The factor of all times is unknown: only times of one product on one card compare.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from mmcore.errors import InvalidKernel, MmcoreError, asking
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.kernel.tiling import Tiling
from mmcore.planning.plan import Plan, plan
from mmcore_cuda.peaks import peaks
from mmcore_emulator.machine.limits import MULTIPROCESSORS, WARP, Multiprocessor

MODELLED = "chosen by the model: nothing is tuned for such a product"
"""The origin of a config that the model chose."""

_BANKS_BYTES = 128
"""Bytes that a multiprocessor reads from shared memory in a cycle, and the extent of a line of L2."""
_QUARTERS = 4
"""Parts of a multiprocessor, each of which runs its own warps."""
_NORM = 6
"""Exponent of the norm that stands for the maximum of a step's times."""

_PROVEN = 0.05
"""The share of its time by which a config that is tuned for other products may seem slower."""


@dataclass(frozen=True)
class Constants:
    """Constants of the model, fitted to all configs of the ladder's highest rungs (``bench/studies/config_model.py``).

    Attributes:
        multiply, read: cycles by those at the peak rate of arithmetic and of shared memory.
        idle: multiplications' further time with one warp, by their own.
        fetch: bytes from L2 in a cycle.
        unaligned: factor of the bytes of rows that do not begin at lines of L2.
        latency: cycles from a fetch to its arrival.
        step: further cycles of a step.
        together: further cycles of a step with a tile that several blocks fetch.
        tile: cycles between two tiles.
        store: bytes of C in a cycle.
        exchange: bytes of partial sums in a cycle, from block to block.
        cluster: further cycles of a block that fetches with others.
        begin: cycles until the first fetch.
        launch: cycles of each further launch.
    """

    multiply: float = 0.494
    read: float = 0.351
    idle: float = 0.414
    fetch: float = 92.9
    unaligned: float = 1.41
    latency: float = 261.0
    step: float = 19.1
    together: float = 70.6
    tile: float = 1940.0
    store: float = 7.57
    exchange: float = 8.51
    cluster: float = 2170.0
    begin: float = 8300.0
    launch: float = 3110.0


@dataclass(frozen=True)
class Work:
    """A product's launch as the model sees it.

    Attributes:
        waves: number of waves and blocks at once on a multiprocessor, for full waves and for the last.
        steps, tiles: steps along k and tiles of a block.
        warps: warps of a block.
        multiply, read: cycles of a step's multiplications and reads of shared memory, at peak rates.
        fetched, stored, exchanged: bytes of a step from L2, of a tile to C, and of sums to other blocks.
        stages: steps that are fetched ahead.
        together: whether blocks fetch together.
        unaligned: whether rows of A or B do not begin at lines of L2.
        further: number of other launches.
    """

    waves: tuple[tuple[int, int], ...]
    steps: float
    tiles: int
    warps: float
    multiply: float
    read: float
    fetched: float
    stored: int
    exchanged: int
    stages: int
    together: bool
    unaligned: bool
    further: int


def cycles(work: Work, constants: Constants) -> float:
    """Return the expected cycles of a product."""
    ends = constants.tile * work.tiles + constants.cluster * work.together + work.exchanged / constants.exchange
    total = constants.begin + constants.latency + constants.launch * work.further
    for count, at_once in work.waves:
        warps = at_once * work.warps
        busy = max(1.0, _QUARTERS / warps) * (1 + constants.idle / warps)
        limits = (
            at_once * work.multiply * constants.multiply * busy,
            at_once * work.read * constants.read,
            at_once * work.fetched / constants.fetch * (constants.unaligned if work.unaligned else 1),
            constants.latency / max(1, work.stages - 1),
        )
        largest = max(limits)
        step = largest * sum((each / largest) ** _NORM for each in limits) ** (1 / _NORM)
        step += constants.step + constants.together * work.together
        total += count * (work.steps * step + ends + work.tiles * at_once * work.stored / constants.store)
    return total


def work_of(planned: Plan, device: DeviceProperties) -> Work | None:
    """Return what a planned product asks of a device; None if the rate of its unit or the device's limits are unknown.

    Raises InvalidKernel if the kernel's tiling rule fails.
    """
    problem, kernel, tiling = planned.problem, planned.kernel, _tiling(planned, device)
    rates = peaks(device.compute_capability, multiprocessors=1, clock_hz=0.5, bytes_per_second=0, cache_bytes=0)
    rate, limits = rates and rates.of(kernel.unit), MULTIPROCESSORS.get(device.compute_capability)
    if not rate or limits is None:
        return None
    launch = max(planned.launches, key=lambda each: each.shared_bytes)
    blocks, threads = launch.grid_dim.size, launch.block_dim.size
    down, across = (problem.n, problem.m) if tiling.turned else (problem.m, problem.n)
    rows = ceil_div(down, tiling.rows * tiling.sharing) * tiling.sharing
    tiles, steps = rows * ceil_div(across, tiling.columns), ceil_div(problem.k, tiling.depth)
    itemsize, sums = problem.dtype_of("A").itemsize, tiling.rows * tiling.columns
    split = blocks > tiles
    resident = _resident(limits, launch.shared_bytes, threads, sums, itemsize)
    full, rest = divmod(blocks, device.multiprocessors * resident)
    waves = (full, resident), (1, ceil_div(rest, device.multiprocessors))
    return Work(
        waves=tuple(wave for wave in waves if all(wave)),
        steps=tiles * steps / blocks if split else ceil_div(tiles, blocks) * steps,
        tiles=ceil_div(tiles, blocks),
        warps=threads / WARP,
        multiply=sums * tiling.depth / rate,
        read=tiling.reads * tiling.depth * itemsize / _BANKS_BYTES,
        fetched=(tiling.rows + tiling.columns / tiling.sharing) * tiling.depth * itemsize,
        stored=sums * problem.dtype_of("C").itemsize,
        exchanged=4 * sums if split and launch.cluster else 0,
        stages=tiling.stages,
        together=tiling.sharing > 1,
        unaligned=any(problem.leading(matrix) * itemsize % _BANKS_BYTES for matrix in "AB"),
        further=len(planned.launches) - 1,
    )


def _tiling(planned: Plan, device: DeviceProperties) -> Tiling:
    kernel, problem, config = planned.kernel, planned.problem, planned.config
    with asking(f"{kernel.name}: its tiling rule", f"{problem} with {config}"):
        tiling = kernel.tiling and kernel.tiling(problem, config, device)
    if not isinstance(tiling, Tiling):
        raise InvalidKernel(f"{kernel.name}: its tiling rule returned {tiling!r}, not a Tiling")
    return tiling


def _resident(limits: Multiprocessor, shared_bytes: int, threads: int, sums: int, itemsize: int) -> int:
    """Return the number of blocks that a multiprocessor probably has room for."""
    registers = threads * min(limits.registers_per_thread, 40 + 1.2 * sums / threads * max(1, itemsize // 4))
    by_shared = limits.shared_bytes // (shared_bytes + limits.shared_reserved)
    return max(1, int(min(by_shared, limits.warps * WARP // threads, limits.registers // registers)))


def modelled(
    kernel: Kernel, problem: Problem, device: DeviceProperties, proven: Collection[Config] = ()
) -> Iterator[Config]:
    """Yield the configs of a kernel that declares its tiling, the least expected time first.

    A config that is ``proven``, tuned for other products, comes first where that costs little.
    """
    ranked = []
    for config in kernel.all_configs.every if kernel.tiling else ():
        try:
            planned = plan(kernel, problem, config, device)
        except MmcoreError:
            continue
        if work := work_of(planned, device):
            ranked.append((cycles(work, Constants()) * (1 - _PROVEN * (config in proven)), config))
    return (config for _, config in sorted(ranked, key=lambda each: each[0]))

"""How work is shared: by threads that copy tiles, and by blocks that sum parts of k."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from mmcore import Config, DeviceProperties, Launch, Problem, Scalar, Workspace, ceil_div

STATIC_BYTES = 48 << 10
"""Shared memory that a source may declare."""
SHARED_BYTES = 227 << 10
"""Shared memory that a launch may ask for, from compute capability 9.0 on."""

_MOST_PARTS = 8
"""Blocks of a cluster."""
_GROUP = 18
"""Multiprocessors at most that the blocks of a cluster run on (a GPC)."""
_LEAST_STEPS = 8
"""Of a part of k."""
_LEAST_DEPTH = 128
"""Of k, for a block that shares tiles."""


def parts_of_k(tiles: int, steps: int, device: DeviceProperties) -> int:
    """Into how many parts k is split: so many that clusters of as many blocks have room for all tiles at once.

    Args:
        tiles: of C.
        steps: along k.
        device: where each block has a multiprocessor to itself.
    """
    groups, rest = divmod(device.multiprocessors, _GROUP)
    fitting = (parts for parts in range(_MOST_PARTS, 1, -1) if tiles <= groups * (_GROUP // parts) + rest // parts)
    return max(1, min(next(fitting, 1), steps // _LEAST_STEPS))


def stream_k(
    problem: Problem, config: Config, device: DeviceProperties, resident: int, product: Callable[..., Launch]
) -> list[Launch]:
    """The launches of a source with stream_k.cuh: the product, and where blocks share tiles, what adds up their parts.

    Args:
        problem, config, device: as a launch rule has them.
        resident: blocks that a multiprocessor has room for.
        product: makes the product's launch of its blocks, its argument for parts, and how many tiles are whole.
    """
    element, itemsize = ("double", 8) if problem.dtype == "float64" else ("float", 4)
    tiles = ceil_div(problem.m, config.BM) * ceil_div(problem.n, config.BN)
    shared, sharing = _shared(tiles, problem.k, config, device.multiprocessors, resident, itemsize)
    whole = Scalar(tiles - shared)
    if not sharing:
        return following([product(tiles, "C", whole)], device)
    elements = config.BM * config.BN
    parts = Workspace("parts", itemsize * sharing * 2 * elements)
    add_up = Launch(
        grid=(shared * elements * itemsize // (16 * 256),),
        block=(256,),
        entry=f"add_up<{element}>",
        arguments=(parts, "C", "m", "n", "k", "ldc", whole, Scalar(sharing)),
    )
    return following([product(tiles - shared + sharing, parts, whole), add_up], device)


def following(launches: Iterable[Launch], device: DeviceProperties) -> list[Launch]:
    """Launches that wait for the one in front of them by themselves, where the device can have them begin before."""
    return [replace(launch, dependent=device.compute_capability >= (9, 0)) for launch in launches]


def _shared(tiles: int, k: int, config: Config, multiprocessors: int, resident: int, itemsize: int) -> tuple[int, int]:
    """How many tiles of C the last wave leaves to be shared, and by how many blocks; none where that takes longer.

    Time is told in nanoseconds, at 128 multiply-adds a cycle of a multiprocessor. Adding up takes a launch, some
    2.5 µs, and what the parts' bytes take in L2 at about 4 TB/s.
    """
    slots = multiprocessors * resident
    rest = tiles % slots
    blocks = min(slots, rest * ceil_div(k, config.BK) * config.BK // _LEAST_DEPTH)
    if blocks <= rest:
        return 0, 0
    elements = config.BM * config.BN
    alone, together = ceil_div(rest, multiprocessors), ceil_div(blocks, multiprocessors) * rest / blocks
    saved = k * elements / 128 / 1.5 * (alone - together)
    added = 2500 + 2 * itemsize * (blocks + rest) * elements / 4000
    return (rest, blocks) if saved > added else (0, 0)


def tiles_bytes(config: Config, itemsize: int, depth: int = 0) -> int:
    """Bytes of a block's tiles in all stages, with elements of ``itemsize`` bytes, ``depth`` along k in place of BK."""
    return int(config.get("STAGES", 1) * (config.BM + config.BN) * (depth or config.BK) * itemsize)


def equal_shares(config: Config, unit: int) -> bool:
    """Whether each thread copies as much of A's tile as the others, and of B's, ``unit`` elements at once."""
    return all(extent * config.BK % (unit * config.block.x) == 0 for extent in (config.BM, config.BN))


def threads_of_warps(config: Config) -> tuple[int]:
    """A warp for WM×WN elements of a tile."""
    return (ceil_div(config.BM, config.WM) * ceil_div(config.BN, config.WN) * 32,)


def warps_exist(config: Config) -> bool:
    """Whether 2 to 8 warps of WM×WN make up the tile; of more, sums and fragments would take too many registers."""
    return config.BM % config.WM == config.BN % config.WN == 0 and 64 <= config.block.x <= 256


def tiles_in_rows(config: Config, unit: int, multiple: int = 1) -> bool:
    """Whether :func:`whole_rows` holds for A's tile and for B's, each stored by rows."""
    tiles = ((config.BM, config.BK), (config.BK, config.BN))
    return all(whole_rows(config.block.x, rows, length, unit, multiple) for rows, length in tiles)


def whole_rows(threads: int, rows: int, length: int, unit: int, multiple: int = 1) -> bool:
    """Whether threads copy a tile in equal shares, some whole rows of it at once.

    Args:
        threads: of the block.
        rows: of the tile.
        length: elements of a row.
        unit: elements that a thread copies at once.
        multiple: what the rows at once must be a multiple of, so that each thread's are swizzled alike.
    """
    at_once, rest = divmod(threads * unit, length)
    return rest == 0 and at_once % multiple == 0 and rows % at_once == 0

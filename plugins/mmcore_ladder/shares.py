"""Division of work among the threads that copy tiles and the blocks that sum parts of k."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from mmcore import Config, DeviceProperties, Launch, Problem, Scalar, Workspace, ceil_div

STATIC_BYTES = 48 << 10
"""Shared memory that a source may declare statically."""
SHARED_BYTES = 227 << 10
"""Shared memory that a launch may request on compute capability 9.0 and later."""

_MOST_PARTS = 8
"""Largest number of blocks in a cluster."""
_GROUPS = (16, 18)
"""Numbers of multiprocessors in a GPC, on which all blocks of a cluster run; a card may have GPCs of both."""
_LEAST_STEPS = 8
"""Smallest number of steps in a part of k."""
_LEAST_DEPTH = 128
"""Smallest extent along k for a block that shares tiles."""


def parts_of_k(tiles: int, steps: int, device: DeviceProperties) -> int:
    """Return the largest number of parts of k that lets the clusters of all tiles run at the same time.

    Args:
        tiles: the number of tiles of C.
        steps: the number of steps along k.
        device: the device, which runs one block on each multiprocessor.
    """

    def clusters(parts: int, group: int) -> int:
        groups, rest = divmod(device.multiprocessors, group)
        return int(groups * (group // parts) + rest // parts)

    several = range(_MOST_PARTS, 1, -1)
    fitting = (parts for parts in several if all(tiles <= clusters(parts, group) for group in _GROUPS))
    return max(1, min(next(fitting, 1), steps // _LEAST_STEPS))


def stream_k(
    problem: Problem, config: Config, device: DeviceProperties, resident: int, product: Callable[..., Launch]
) -> list[Launch]:
    """Return the launches of a source with stream_k.cuh: the product and, if blocks share tiles, adding their parts.

    Args:
        problem: the problem.
        config: the config.
        device: the device.
        resident: the number of blocks that a multiprocessor has room for.
        product: returns the product's launch, given its blocks, its argument for parts, and the number of tiles that
            are not shared.
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
    """Return the launches, as dependent ones if the device supports programmatic dependent launch."""
    return [replace(launch, dependent=device.compute_capability >= (9, 0)) for launch in launches]


def _shared(tiles: int, k: int, config: Config, multiprocessors: int, resident: int, itemsize: int) -> tuple[int, int]:
    """Return how many tiles of the last wave are shared, and by how many blocks; (0, 0) if sharing saves no time.

    Times are in nanoseconds, at 128 multiply-adds a cycle of a multiprocessor. Adding up takes a launch, about 2.5 µs,
    and the transfer of the parts through L2 at about 4 TB/s.
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
    """Return the bytes of a block's tiles in all stages; ``depth``, if given, replaces BK."""
    return int(config.get("STAGES", 1) * (config.BM + config.BN) * (depth or config.BK) * itemsize)


def equal_shares(config: Config, unit: int) -> bool:
    """Return whether threads copy equal shares of A's tile, and of B's, ``unit`` elements at once."""
    return all(extent * config.BK % (unit * config.block.x) == 0 for extent in (config.BM, config.BN))


def threads_of_warps(config: Config) -> tuple[int]:
    """Return the threads of a block with one warp for WM×WN elements of its tile."""
    return (ceil_div(config.BM, config.WM) * ceil_div(config.BN, config.WN) * 32,)


def warps_exist(config: Config) -> bool:
    """Return whether 2 to 8 warps of WM×WN cover the tile; more warps would need too many registers."""
    return config.BM % config.WM == config.BN % config.WN == 0 and 64 <= config.block.x <= 256


def tiles_in_rows(config: Config, unit: int, multiple: int = 1) -> bool:
    """Return whether :func:`whole_rows` is true of A's tile and of B's, each stored by rows."""
    tiles = ((config.BM, config.BK), (config.BK, config.BN))
    return all(whole_rows(config.block.x, rows, length, unit, multiple) for rows, length in tiles)


def whole_rows(threads: int, rows: int, length: int, unit: int, multiple: int = 1) -> bool:
    """Return whether threads copy a tile in equal shares, some whole rows of it at once.

    Args:
        threads: the threads of the block.
        rows: the rows of the tile.
        length: the elements of a row.
        unit: the elements that a thread copies at once.
        multiple: a divisor of the rows copied at once, so that a thread uses the same swizzle for all its rows.
    """
    at_once, rest = divmod(threads * unit, length)
    return rest == 0 and at_once % multiple == 0 and rows % at_once == 0

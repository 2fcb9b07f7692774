"""The configs of ladder.f32's rungs 04 to 08 that the sources support and that fit into registers and shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmcore import Config, Space
from mmcore_ladder.shares import STATIC_BYTES, equal_shares, threads_of_warps, tiles_bytes, whole_rows


def _threads_of_registers(config: Config) -> tuple[int]:
    """Return the threads of a block with one thread for TM×TN elements of its tile."""
    return (config.BM // config.TM * (config.BN // config.get("TN", 1)),)


def _columns_exist(config: Config) -> bool:
    """Return whether 04_column_of_registers supports the config: at most 8192 sums, an eighth of the registers."""
    return (
        64 <= config.block.x <= 512
        and config.BM * config.BN <= 8192
        and equal_shares(config, 1)
        and tiles_bytes(config, 4) <= STATIC_BYTES
    )


def _tiles_exist(config: Config) -> bool:
    """Return whether 05_register_tile supports the config.

    A multiprocessor runs 512 threads with 128 registers each, enough for 64 sums. With fewer than 128 threads, each
    thread copies too much.
    """
    return (
        128 <= config.block.x <= 512
        and config.TM * config.TN <= 64
        and equal_shares(config, 1)
        and tiles_bytes(config, 4) <= STATIC_BYTES
    )


def _vectors_exist(config: Config) -> bool:
    """Return whether 06_vectors supports the config: unrolled steps of k, with loads ahead into registers."""
    padding = 4 * 4 * config.BK
    return (
        _tiles_exist(config)
        and equal_shares(config, 4)
        and config.TM * config.TN * config.BK <= 1024
        and tiles_bytes(config, 4) + padding <= STATIC_BYTES
    )


def _warps_exist(config: Config) -> bool:
    """Return whether a warp's threads form 4×8 or 8×4, and whole warps cover the tile."""
    return (
        config.BM % config.WM == config.BN % config.WN == 0
        and config.WM * config.WN == 32 * config.TM * config.TN
        and config.WM // config.TM in (4, 8)
    )


def _async_exists(config: Config) -> bool:
    """Return whether 08_async supports the config: sums in a quarter of the registers, one swizzle for all copies."""
    threads = config.block.x
    return (
        _warps_exist(config)
        and _tiles_exist(config)
        and config.BM * config.BN <= 128 * 128
        and whole_rows(threads, config.BM, config.BK, 4, multiple=config.WM // config.TM)
        and whole_rows(threads, config.BK, config.BN, 4)
    )


_EXTENTS = (64, 128, 256)
_TILES: Mapping[str, Any] = {"BM": _EXTENTS, "BN": _EXTENTS, "BK": (8, 16, 32)}
_REGISTERS: Mapping[str, Any] = {"TM": (4, 8), "TN": (4, 8)}
_REGISTER_TILES = {**_TILES, **_REGISTERS, "block": _threads_of_registers}
_WARP_TILES = {**_TILES, "WM": (16, 32, 64), "WN": (16, 32, 64), **_REGISTERS, "block": threads_of_warps}
_WARP_TILE = {"WM": 32, "WN": 64, "TM": 8, "TN": 8}

COLUMNS = Space(
    {**_TILES, "TM": (8, 16, 32), "block": _threads_of_registers},
    where=_columns_exist,
    default=[{"BM": 64, "BN": 64, "BK": 8, "TM": 8}],
)
TILES = Space(_REGISTER_TILES, where=_tiles_exist, default=[{"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8}])
VECTORS = Space(_REGISTER_TILES, where=_vectors_exist, default=TILES.default)
WARP_TILES = Space(
    _WARP_TILES,
    where=lambda config: _warps_exist(config) and _vectors_exist(config),
    default=[{"BM": 128, "BN": 128, "BK": 8, **_WARP_TILE}],
)
ASYNC = Space(
    {**_WARP_TILES, "STAGES": (2, 3, 4)},
    where=_async_exists,
    default=[{"BM": 64, "BN": 128, "BK": 16, **_WARP_TILE, "STAGES": 3}],
)

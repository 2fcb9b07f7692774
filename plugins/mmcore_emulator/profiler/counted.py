"""What a device must be able to do for a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from mmcore.devices.base import BoundLaunch, LoadedModule
from mmcore.devices.violations import Violation
from mmcore_emulator.profiler.counters import Counters


class Line(NamedTuple):
    """A line of source code: the file's name and the number from 1, or 0 for what belongs to no line."""

    source: str
    number: int


@dataclass(frozen=True)
class Measured:
    """What a GPU measured of a launch while it was counted, from cold caches.

    Attributes:
        seconds: the launch's duration.
        occupancy: achieved occupancy, warps active on average, as a fraction of those that fit.
        memory_bytes: moved between device memory and the chip.
    """

    seconds: float
    occupancy: float
    memory_bytes: int


@dataclass(frozen=True)
class LaunchCounts:
    """What one launch was counted to do.

    Attributes:
        counters: of the whole grid.
        lines: the same by line of the .cu file; empty where the device cannot tell.
        blocks: blocks of the grid.
        blocks_run: blocks that were run and counted; where fewer than all, they all did the same as their neighbours,
            and the rest were taken to.
        measured: what else a GPU tells; None from an emulator.
    """

    counters: Counters
    lines: Mapping[Line, Counters]
    blocks: int
    blocks_run: int
    measured: Measured | None = None


@dataclass(frozen=True)
class Counted:
    """What came of counting some launches.

    Attributes:
        launches: the counts of each, in order.
        uncounted: names of :class:`Counters` that this device does not count.
        violations: what the launches did wrong.
    """

    launches: tuple[LaunchCounts, ...]
    uncounted: frozenset[str] = frozenset()
    violations: tuple[Violation, ...] = ()


@runtime_checkable
class CountingDevice(Protocol):
    """A device that counts what launches do, besides being a :class:`~mmcore.devices.base.Device`."""

    def count_launches(self, module: LoadedModule, calls: Sequence[BoundLaunch], *, every_block: bool) -> Counted:
        """Make the launches in order and count.

        Args:
            module: code that this device loaded.
            calls: the launches.
            every_block: run all blocks, even where a sample of them would tell.

        Raises:
            TimeLimit: the device's deadline has passed.
        """
        ...

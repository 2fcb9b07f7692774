"""A device that computes as the emulator does and keeps a time of its own making, so that benchmarks can be tested."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mmcore import hookimpl
from mmcore.compile.module import CompiledModule
from mmcore.deadline import Deadline
from mmcore.devices.base import Buffer, BoundLaunch, HostArray, Refresh
from mmcore.planning.peaks import Peaks
from mmcore_emulator.device import EmulatedModule, Emulator

Seconds = Callable[[str], float]


class MadeUpTimer:
    """Says that each of ``count`` launches took what a function makes up, and that every tenth reading was slower."""

    method = "a made-up clock"
    resolution = 2e-4

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._readings = 0

    def seconds(self, count: int) -> float:
        self._readings += 1
        return count * self._seconds() * (1.01 if self._readings % 10 == 0 else 1.0)

    def close(self) -> None:
        pass


class TimedModule(EmulatedModule):
    """CompiledModule whose times are made up, by the names of its .cu files."""

    def __init__(self, memory: Any, code: CompiledModule, deadline: Deadline, seconds: Seconds) -> None:
        super().__init__(memory, code, deadline)
        self._source = code.source
        self._made_up = seconds

    def timer(self, calls: Sequence[BoundLaunch], *, cold: bool = False, refresh: Sequence[Refresh] = ()) -> Any:
        return MadeUpTimer(lambda: self._made_up(self._source) * (1.5 if cold else 1.0))

    def end_to_end_timer(
        self,
        calls: Sequence[BoundLaunch],
        uploads: Sequence[tuple[Buffer, HostArray]],
        downloads: Sequence[tuple[Buffer, HostArray]],
        *,
        pinned: bool,
    ) -> Any:
        return MadeUpTimer(lambda: self._made_up(self._source) * (3.0 if pinned else 5.0))


class TimedEmulator(Emulator):
    """The device.

    Args:
        seconds: a kernel's time, by the name of its .cu file.
        product: what the device calls itself.
        flops: what it claims to do at most, in FLOP/s.
        bytes_per_second: what it claims its memory carries.
        cache_bytes: what it claims its L2 cache holds.
    """

    name = "timed:0"
    supports_timing = True

    def __init__(
        self,
        seconds: Seconds,
        product: str = "Test GPU",
        flops: float = 1e9,
        bytes_per_second: float = 1e12,
        cache_bytes: int = 1 << 20,
    ) -> None:
        super().__init__()
        self._seconds = seconds
        self._product = product
        self._peaks = Peaks({"float32": flops, "float64": flops}, bytes_per_second, cache_bytes)

    @property
    def description(self) -> str:
        return self._product

    @property
    def facts(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {"name": self._product, "compute_capability": [9, 0], "multiprocessors": 1, "clock_mhz": 1000}

    @property
    def peaks(self) -> Peaks:  # type: ignore[override]
        return self._peaks

    def load(self, code: CompiledModule) -> TimedModule:
        return TimedModule(self._memory, code, self.deadline, self._seconds)


class TimedProvider:
    """Provides one timed emulator, on which every kernel takes 10 ms; this module is the plugin.

    Args:
        product: what the device calls itself.
    """

    name = "timed"
    supports_timing = True
    isolated = False

    def __init__(self, product: str = "Test GPU") -> None:
        self._product = product

    def count(self) -> int:
        return 1

    def findings(self) -> Mapping[str, str]:
        return {}

    def open(self, index: int) -> TimedEmulator:
        return TimedEmulator(lambda source: 1e-2, self._product)


@hookimpl
def mmcore_devices() -> list[TimedProvider]:
    return [TimedProvider()]

"""A device that computes as the emulator does and reports made-up device times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mmcore import hookimpl
from mmcore.compile.compiled_module import CompiledModule
from mmcore.deadline import Deadline
from mmcore.devices.base import Buffer, Call, HostArray, Refresh
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.peaks import Peaks
from mmcore_emulator.adapter.device import EmulatedModule, Emulator

Seconds = Callable[[str], float]


class ScriptedTimer:
    """A timer that reads a function of a number of launches and the number of the reading, and records both."""

    method = "a made-up clock"

    def __init__(self, read: Callable[[int, int], float], resolution: float = 1e-4) -> None:
        self._read, self.resolution = read, resolution
        self.counts: list[int] = []
        self.readings: list[float] = []
        self.closed = False

    def seconds(self, count: int) -> float:
        self.counts.append(count)
        self.readings.append(self._read(count, len(self.readings)))
        return self.readings[-1]

    def close(self) -> None:
        self.closed = True


class MadeUpTimer(ScriptedTimer):
    """A timer with launch times from a function; every tenth reading is 1 % slower."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        super().__init__(lambda count, number: count * seconds() * (1.01 if number % 10 == 9 else 1.0), 2e-4)


class TimedModule(EmulatedModule):
    """A module with made-up times, which depend on the name of its .cu file."""

    def __init__(self, memory: Any, code: CompiledModule, deadline: Deadline, seconds: Seconds) -> None:
        super().__init__(memory, code, DeviceProperties(), deadline)
        self._source = code.source
        self._made_up = seconds

    def timer(self, calls: Sequence[Call], *, cold: bool = False, refresh: Sequence[Refresh] = ()) -> Any:
        return MadeUpTimer(lambda: self._made_up(self._source) * (1.5 if cold else 1.0) if calls else 0.0)

    def end_to_end_timer(
        self,
        calls: Sequence[Call],
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
        product: the product name.
        flops: its peak, in FLOP/s.
        bytes_per_second: its memory's bandwidth.
        cache_bytes: size of its L2 cache.
    """

    name = identity = "timed:0"
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
        self.peaks = Peaks({"float32": flops, "float64": flops}, bytes_per_second, cache_bytes)  # type: ignore[assignment]

    @property
    def description(self) -> str:
        return self._product

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"name": self._product, "compute_capability": [9, 0], "multiprocessors": 1, "clock_mhz": 1000}

    def load(self, code: CompiledModule) -> TimedModule:
        return TimedModule(self._memory, code, self.deadline, self._seconds)


class TimedProvider:
    """A provider of one timed emulator, on which every kernel takes 10 ms; this module is the plugin."""

    name = "timed"
    supports_timing = True

    def __init__(self, product: str = "Test GPU") -> None:
        self._product = product

    def count(self) -> int:
        return 1

    def findings(self) -> Mapping[str, str]:
        return {}

    def properties(self, index: int) -> DeviceProperties:
        return self.open(index).properties

    def open(self, index: int) -> TimedEmulator:
        return TimedEmulator(lambda source: 1e-2, self._product)


@hookimpl
def mmcore_devices() -> list[TimedProvider]:
    return [TimedProvider()]

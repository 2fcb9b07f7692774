"""Values that follow from the attributes of a result, under the names that they have in its JSON."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mmcore.baseline_comparison import BaselineComparison
from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.kernel.geometry import Dim3
from mmcore.timing import Time
from mmcore.verify.outcome import Mismatch, Verification

SCHEMA = 2
"""The version of a result's JSON."""


@dataclass(frozen=True)
class LaunchRecord:
    """A launch, and the resources of its threads and blocks.

    Attributes:
        entry: the name expression of its function.
        grid, block: its blocks; its threads per block.
        registers: registers per thread, as in :class:`~mmcore.compile.compiled_module.CompiledFunction`.
        shared_bytes: static and dynamic shared memory of a block.
        local_bytes, spill_store_bytes, spill_load_bytes: local memory and spills of a thread, as there.
    """

    entry: str
    grid: Dim3
    block: Dim3
    registers: int
    shared_bytes: int
    local_bytes: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> LaunchRecord:
        record = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
        return cls(**{**record, "grid": Dim3(*record["grid"]), "block": Dim3(*record["block"])})


class ResultValues:
    """The derived values of a :class:`~mmcore.result.Result`. Its figures are attributes under their own names, too."""

    schema = SCHEMA
    cell: Cell
    kernel: str
    excluded_host_code: list[dict[str, Any]]
    launched: tuple[LaunchRecord, ...]
    verification: Verification | None
    violations: tuple[Violation, ...]
    times: tuple[Time, ...]
    compared: tuple[BaselineComparison, ...]
    host_seconds: float
    supports_timing: bool
    peak_flops: float | None
    bound_ms: float | None

    if not TYPE_CHECKING:  # a type checker is to find misspelt attributes

        def __getattr__(self, name: str) -> float | None:
            figures = self.__dict__.get("figures", {})
            if name in figures:
                return figures[name]
            raise AttributeError(f"a result has no attribute {name!r}", name=name, obj=self)

    @property
    def verified(self) -> bool:
        """True if the product is right, without any violation."""
        return self.verification is not None and self.verification.verified and not self.violations

    @property
    def timed_out(self) -> bool:
        """True if the time limit was reached before the product was verified."""
        return any(violation.kind == "timeout" for violation in self.violations)

    @property
    def device(self) -> str:
        """The name of the device."""
        return self.cell.device

    @property
    def problem(self) -> dict[str, int]:
        """The sizes "m", "n" and "k"."""
        return {name: getattr(self.cell, name) for name in "mnk"}

    @property
    def leading_dimensions(self) -> dict[str, int | None]:
        """The requested "lda", "ldb" and "ldc"."""
        return {name: getattr(self.cell, name) for name in ("lda", "ldb", "ldc")}

    @property
    def seed(self) -> int | None:
        """The seed of the inputs."""
        return self.cell.seed

    @property
    def forced(self) -> bool:
        """True if the kernel was launched against its constraints."""
        return self.cell.force

    @property
    def left_out(self) -> list[dict[str, Any]]:
        """The excluded host code, by the name that JSON gives it."""
        return self.excluded_host_code

    @property
    def flops(self) -> int:
        """Floating-point operations of the product: 2·m·n·k."""
        return 2 * self.cell.m * self.cell.n * self.cell.k

    @property
    def launches(self) -> int:
        """Number of launches."""
        return len(self.launched)

    @property
    def block(self) -> Dim3 | None:
        """Threads of a block of the first launch."""
        return self.launched[0].block if self.launched else None

    @property
    def grid(self) -> Dim3 | None:
        """Blocks of the first launch."""
        return self.launched[0].grid if self.launched else None

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block (the most of all launches)."""
        return max((launch.shared_bytes for launch in self.launched), default=0)

    @property
    def registers(self) -> int:
        """Registers per thread (the most of all launches)."""
        return max((launch.registers for launch in self.launched), default=0)

    @property
    def local_bytes(self) -> int | None:
        """Local memory per thread (the most of all launches); None if not known."""
        return self._most("local_bytes")

    @property
    def spill_store_bytes(self) -> int | None:
        """Bytes of registers that a thread's code spills (the most of all launches); None if not known."""
        return self._most("spill_store_bytes")

    @property
    def spill_load_bytes(self) -> int | None:
        """Bytes of registers that a thread's code reloads (the most of all launches); None if not known."""
        return self._most("spill_load_bytes")

    def _most(self, name: str) -> int | None:
        known = [value for launch in self.launched if (value := getattr(launch, name)) is not None]
        return max(known, default=None)

    @property
    def wrong_elements(self) -> int | None:
        """Number of wrong elements."""
        return self.verification.wrong if self.verification else None

    @property
    def compared_elements(self) -> int | None:
        """Number of elements that were compared one by one."""
        return self.verification.compared if self.verification else None

    @property
    def max_error(self) -> float | None:
        """Largest error of the elements compared."""
        return self.verification.max_error if self.verification else None

    @property
    def first_mismatch(self) -> Mismatch | None:
        """The first wrong element."""
        return self.verification.mismatch if self.verification else None

    @property
    def reduced_failure(self) -> str:
        """The least that is wrong, in a sentence."""
        return self.verification.reduced if self.verification else ""

    @property
    def kernel_seconds(self) -> float | None:
        """Median device time of the launches."""
        return self._seconds("kernel")

    @property
    def end_to_end_seconds(self) -> float | None:
        """Median device time of copies in, launches and copies out."""
        return self._seconds("end-to-end")

    def _seconds(self, what: str) -> float | None:
        return next((time.seconds for time in self.times if time.timing.what == what), None)

    @property
    def kernel_ms(self) -> float | None:
        """``kernel_seconds`` in ms."""
        return _milliseconds(self.kernel_seconds)

    @property
    def end_to_end_ms(self) -> float | None:
        """``end_to_end_seconds`` in ms."""
        return _milliseconds(self.end_to_end_seconds)

    @property
    def emulation_ms(self) -> float | None:
        """The host's time of the emulation in ms; None on a device that measures time."""
        return None if self.supports_timing else self.host_seconds * 1e3

    def rate(self, seconds: float | None) -> float | None:
        """Return the rate of the product in that many seconds, in GFLOP/s."""
        return None if seconds is None else self.flops / seconds / 1e9

    @property
    def kernel_gflops(self) -> float | None:
        """2·m·n·k over the kernel time, in GFLOP/s."""
        return self.rate(self.kernel_seconds)

    @property
    def end_to_end_gflops(self) -> float | None:
        """2·m·n·k over the end-to-end time, in GFLOP/s."""
        return self.rate(self.end_to_end_seconds)

    @property
    def measure(self) -> str:
        """The first time that was requested, "kernel" or "end-to-end"."""
        return self.cell.timings[0].what if self.cell.timings else "kernel"

    @property
    def caches(self) -> str | None:
        """The state of the caches in kernel times."""
        return self._how("kernel")

    @property
    def memory(self) -> str | None:
        """The host memory of end-to-end times."""
        return self._how("end-to-end")

    def _how(self, what: str) -> str | None:
        return next((timing.how for timing in self.cell.timings if timing.what == what), None)

    @property
    def _first_time(self) -> Time | None:
        return self.times[0] if self.times else None

    @property
    def median_ms(self) -> float | None:
        """The first time, in ms."""
        return None if self._first_time is None else self._first_time.seconds * 1e3

    @property
    def gflops(self) -> float | None:
        """2·m·n·k over the first time, in GFLOP/s."""
        return None if self._first_time is None else self.rate(self._first_time.seconds)

    @property
    def spread_percent(self) -> float | None:
        """The spread of the first time, in percent of it."""
        return None if self._first_time is None else 100 * self._first_time.spread

    @property
    def clock(self) -> str:
        """The method of the first time's measurement."""
        return "the host's clock around the emulation" if self._first_time is None else self._first_time.method

    @property
    def percent_of_peak(self) -> float | None:
        """``gflops`` in percent of the device's peak rate."""
        return 100e9 * self.gflops / self.peak_flops if self.gflops and self.peak_flops else None

    @property
    def speed_of_light(self) -> float | None:
        """The least time of the product over the kernel time, at most about 1; None without either."""
        return self.bound_ms / self.kernel_ms if self.bound_ms and self.kernel_ms else None

    @property
    def baseline(self) -> BaselineComparison | None:
        """The fastest of the measured baselines of the cell's first pattern; the JSON has its kernel's name."""
        measured = [each for each in self.compared if each.time and each.kernel != self.kernel]
        first = self.cell.baseline.partition(",")[0]
        measured = [each for each in measured if fnmatch.fnmatch(each.kernel, first)] or measured
        return min(measured, key=lambda each: each.time.seconds if each.time else 0.0, default=None)

    @property
    def percent_of_baseline(self) -> float | None:
        """The speed in percent of the baseline's."""
        return 100 * self.baseline.faster if self.baseline and self.baseline.faster else None


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3

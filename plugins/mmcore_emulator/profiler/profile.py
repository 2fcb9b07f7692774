"""The profile of a kernel: what its launches do, counted by a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mmcore.errors import NoDevice
from mmcore.experiment import host_arrays
from mmcore.verify.inputs import draw, fresh_seed
from mmcore.devices.base import Device
from mmcore.devices.violations import Violation
from mmcore.devices.loaded import LoadedKernel
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.declaration import Kernel
from mmcore.planning.plan import Plan, plan
from mmcore.kernel.problem import Problem
from mmcore_emulator.profiler.counters import SECTOR_BYTES, Counters, ratio, total
from mmcore_emulator.profiler.counted import Counted, CountingDevice, LaunchCounts, Line

# Counters of a launch of several blocks watched one of compute capability 1.2's four texture-processor clusters.
_CLUSTERS_CC1X = 4

#: What each ratio is made from.
_SOURCES = {
    "global_accesses_per_thread": ("global_loads", "global_stores", "global_atomics"),
    "cgma": ("fmas", "global_load_sectors"),
    "cgma_cc1x": ("fmas", "global_load_transactions_cc1x"),
    "sectors_per_load_request": ("global_load_sectors", "global_load_requests"),
    "sectors_per_store_request": ("global_store_sectors", "global_store_requests"),
    "arithmetic_intensity": ("flops", "global_load_sectors", "global_store_sectors", "global_atomic_sectors"),
}
_RATES = (
    *("counted_ms", "gips", "gflops", "achieved_occupancy"),
    *("global_load_throughput", "global_store_throughput", "memory_throughput"),
)


@dataclass(frozen=True)
class Profile:
    """What one kernel's launches were counted to do for one problem.

    Attributes:
        plan: what was launched.
        device, device_description: what counted.
        counted: the counts of each launch.
    """

    plan: Plan
    device: str
    device_description: str
    counted: Counted

    @property
    def counters(self) -> Counters:
        """The counters of all launches together."""
        return total(launch.counters for launch in self.counted.launches)

    @property
    def lines(self) -> Mapping[Line, Counters]:
        """The counters by line of source code, all launches together, in order."""
        places = sorted({line for launch in self.counted.launches for line in launch.lines})
        return {line: total(self._at(line)) for line in places}

    def _at(self, line: Line) -> list[Counters]:
        return [launch.lines[line] for launch in self.counted.launches if line in launch.lines]

    @property
    def violations(self) -> tuple[Violation, ...]:
        """What the launches did wrong; the counters of faulty launches say little."""
        return self.counted.violations

    @property
    def blocks(self) -> int:
        """Blocks of all launches."""
        return sum(launch.blocks for launch in self.counted.launches)

    @property
    def blocks_run(self) -> int:
        """Blocks that were run; the counters of the rest are taken from them."""
        return sum(launch.blocks_run for launch in self.counted.launches)

    @property
    def exact(self) -> bool:
        """Whether every block was run."""
        return self.blocks_run == self.blocks

    @property
    def threads(self) -> int:
        """Threads of all launches."""
        return sum(launch.grid_dim.size * launch.block_dim.size for launch in self.plan.launches)

    @property
    def cgma_cc1x(self) -> float | None:
        """The CGMA that the Poznań report prints: fused multiply-adds per load transaction of compute capability 1.2.

        Where there is more than one block, four times that, because the profiler watched one of that chip's four
        texture-processor clusters.
        """
        counters = self.counters
        value = ratio(counters.fmas, counters.global_load_transactions_cc1x)
        several = any(launch.grid_dim.size > 1 for launch in self.plan.launches)
        return value and value * (_CLUSTERS_CC1X if several else 1)

    def ratios(self) -> dict[str, float | None]:
        """What follows from the counters, by name; None where a counter is missing or a divisor is 0."""
        counters = self.counters
        values = {
            "global_accesses_per_thread": ratio(counters.global_accesses, self.threads),
            "cgma": counters.cgma,
            "cgma_cc1x": self.cgma_cc1x,
            "sectors_per_load_request": counters.sectors_per_load_request,
            "sectors_per_store_request": counters.sectors_per_store_request,
            "arithmetic_intensity": counters.arithmetic_intensity,
        }
        missing = self.counted.uncounted
        return {name: None if missing.intersection(_SOURCES[name]) else value for name, value in values.items()}

    def rates(self) -> dict[str, float | None]:
        """What a GPU's time makes of the counters, by name; None from an emulator.

        ``gips`` is 10⁹ instructions of warps a second; the throughputs are GB/s of the sectors that loads and stores
        touch, and of device memory.
        """
        launches = [launch.measured for launch in self.counted.launches if launch.measured is not None]
        if not launches:
            return dict.fromkeys(_RATES)
        nanoseconds = sum(each.seconds for each in launches) * 1e9
        counters = self.counters
        return {
            "counted_ms": nanoseconds * 1e-6,
            "gips": counters.warp_instructions / nanoseconds,
            "gflops": counters.flops / nanoseconds,
            "achieved_occupancy": sum(each.occupancy * each.seconds for each in launches) * 1e9 / nanoseconds,
            "global_load_throughput": counters.global_load_sectors * SECTOR_BYTES / nanoseconds,
            "global_store_throughput": counters.global_store_sectors * SECTOR_BYTES / nanoseconds,
            "memory_throughput": sum(each.memory_bytes for each in launches) / nanoseconds,
        }

    def counts(self, counters: Counters) -> dict[str, int | None]:
        """Counters by name; None for one that the device does not count."""
        return {name: None if name in self.counted.uncounted else count for name, count in asdict(counters).items()}

    def to_json(self) -> dict[str, Any]:
        """The profile as JSON-ready values; null for what the device does not count."""
        problem = self.plan.problem
        counts = self.counts(self.counters)
        return {
            "kernel": self.plan.kernel.name,
            "device": self.device,
            "device_description": self.device_description,
            "problem": {"m": problem.m, "n": problem.n, "k": problem.k},
            "forced": self.plan.forced,
            "exact": self.exact,
            "blocks": self.blocks,
            "blocks_run": self.blocks_run,
            "threads": self.threads,
            **counts,
            **self.ratios(),
            **self.rates(),
            "per_thread": _shares(counts, self.threads),
            "per_block": _shares(counts, self.blocks),
            "launches": [self._launch_json(index, launch) for index, launch in enumerate(self.counted.launches)],
            "lines": self._lines_json(self.lines),
            "violations": [violation.to_json() for violation in self.violations],
        }

    def _launch_json(self, index: int, launch: LaunchCounts) -> dict[str, Any]:
        made = self.plan.launches[index]
        return {
            "entry": self.plan.entry(made),
            "grid": list(made.grid_dim),
            "block": list(made.block_dim),
            "blocks_run": launch.blocks_run,
            **self.counts(launch.counters),
        }

    def _lines_json(self, lines: Mapping[Line, Counters]) -> list[dict[str, Any]]:
        return [
            {"source": line.source, "line": line.number, **self.counts(counters)} for line, counters in lines.items()
        ]


def _shares(counts: Mapping[str, int | None], parts: int) -> dict[str, float | None]:
    return {name: None if count is None else count / parts for name, count in counts.items()}


def profile_kernel(
    kernel: Kernel,
    problem: Problem,
    block: Dim3,
    device: Device,
    *,
    seed: int | None = None,
    force: bool = False,
    exact: bool = False,
) -> Profile:
    """Count what a kernel does with fresh inputs. Its product is neither verified nor timed.

    Args:
        kernel: the kernel.
        problem: the product, in the kernel's types.
        block: threads per block.
        device: what counts.
        seed: seed of the inputs; fresh when None.
        force: launch against the kernel's own constraints.
        exact: run every block, even where a sample would do.

    Raises:
        NoDevice: the device cannot count.
        MmcoreError: the launch is refused, or its source does not become code.
    """
    if not isinstance(device, CountingDevice):
        raise NoDevice(f"{device.name} does not count what a kernel does; the device 'auto' is one that does")
    planned = plan(kernel, problem, block, device.limits, force=force)
    with LoadedKernel(planned, device) as prepared:
        prepared.upload(host_arrays(planned, draw(problem, fresh_seed() if seed is None else seed)))
        counted = device.count_launches(prepared.program, prepared.calls, every_block=exact)
    return Profile(planned, device.name, device.description, counted)

"""The profile of a kernel: what its launches do, counted by a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mmcore.cell import Cell, referenced_kernel
from mmcore.devices.base import Device
from mmcore.devices.loaded import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import NoDevice
from mmcore.kernel.declaration import Kernel
from mmcore.measure import Phases
from mmcore.planning.plan import plan
from mmcore.verify.inputs import draw, fresh_seed
from mmcore.verify.launches import host_arrays
from mmcore_emulator.launched import Launched
from mmcore_emulator.profiler.counted import Counted, CountingDevice, LaunchCounts, Line, Measured
from mmcore_emulator.profiler.counters import NAMES, SECTOR_BYTES, Counters, ratio, total

# Counters of a launch of several blocks watched one of compute capability 1.2's four texture-processor clusters.
_CLUSTERS_CC1X = 4

#: What each ratio of counters is: the sum of some over another.
_RATIOS = (
    ("cgma", ("fmas",), "global_load_sectors"),
    ("cgma_cc1x", ("fmas",), "global_load_transactions_cc1x"),
    ("sectors_per_load_request", ("global_load_sectors",), "global_load_requests"),
    ("sectors_per_store_request", ("global_store_sectors",), "global_store_requests"),
    ("global_accesses_per_thread", ("global_loads", "global_stores", "global_atomics"), "threads"),
)
_SECTORS = ("global_load_sectors", "global_store_sectors", "global_atomic_sectors")
_RATES = (
    *("counted_ms", "gips", "gflops", "achieved_occupancy"),
    *("global_load_throughput", "global_store_throughput", "memory_throughput"),
)


@dataclass(frozen=True)
class Profile:
    """What one kernel's launches were counted to do for one problem.

    Attributes:
        launched: what was launched, and where.
        launches: the counts of each launch.
        lines: the counters by line of source code, all launches together, in order; empty where the device cannot tell.
        uncounted: names of :class:`Counters` that the device does not count.
        violations: what the launches did wrong; the counters of such launches say little.
    """

    launched: Launched
    launches: tuple[LaunchCounts, ...]
    lines: Mapping[Line, Counters]
    uncounted: frozenset[str] = frozenset()
    violations: tuple[Violation, ...] = ()

    @classmethod
    def of(cls, launched: Launched, counted: Counted) -> Profile:
        """What a device counted of some launches."""
        places = sorted({line for launch in counted.launches for line in launch.lines})
        lines = {
            line: total(launch.lines[line] for launch in counted.launches if line in launch.lines) for line in places
        }
        return cls(launched, counted.launches, lines, counted.uncounted, counted.violations)

    @property
    def counters(self) -> Counters:
        """The counters of all launches together."""
        return total(launch.counters for launch in self.launches)

    @property
    def blocks(self) -> int:
        """Blocks of all launches."""
        return sum(launch.blocks for launch in self.launches)

    @property
    def blocks_run(self) -> int:
        """Blocks that were run; the counters of the rest are taken from them."""
        return sum(launch.blocks_run for launch in self.launches)

    @property
    def exact(self) -> bool:
        """Whether every block was run."""
        return self.blocks_run == self.blocks

    @property
    def threads(self) -> int:
        """Threads of all launches."""
        return sum(launch.grid.size * launch.block.size for launch in self.launched.launches)

    @property
    def cgma_cc1x(self) -> float | None:
        """The CGMA that the Poznań report prints: fused multiply-adds per load transaction of compute capability 1.2.

        Where there is more than one block, four times that, because the profiler watched one of that chip's four
        texture-processor clusters.
        """
        return self.ratios()["cgma_cc1x"]

    @property
    def several_blocks(self) -> bool:
        """Whether a launch has more than one block."""
        return any(launch.grid.size > 1 for launch in self.launched.launches)

    def ratios(self) -> dict[str, float | None]:
        """What follows from the counters, by name; None where a counter is missing or a divisor is 0.

        CGMA, compute to global memory access, is in fused multiply-adds per global sector loaded; the arithmetic
        intensity in useful floating-point operations, 2·m·n·k, per byte of the global sectors. A warp that loads 32
        neighbouring floats makes 4 sectors per request; 32 is the worst.
        """
        counts = {**self.counts(self.counters), "threads": self.threads}
        found = {name: _ratio([counts[each] for each in above], counts[below]) for name, above, below in _RATIOS}
        cc1x = found["cgma_cc1x"]
        found["cgma_cc1x"] = cc1x and cc1x * (_CLUSTERS_CC1X if self.several_blocks else 1)
        intensity = ratio(self.launched.flops, SECTOR_BYTES * self.counters.global_sectors)
        return {**found, "arithmetic_intensity": None if self.uncounted.intersection(_SECTORS) else intensity}

    def rates(self) -> dict[str, float | None]:
        """What a GPU's time makes of the counters, by name; None from an emulator.

        ``gips`` is 10⁹ instructions of warps a second, ``gflops`` 10⁹ executed floating-point operations; the
        throughputs are GB/s of the sectors that loads and stores touch, and of device memory.
        """
        launches = [launch.measured for launch in self.launches if launch.measured is not None]
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
        return {name: None if name in self.uncounted else count for name, count in asdict(counters).items()}

    def to_json(self) -> dict[str, Any]:
        """The profile as JSON-ready values; null for what the device does not count."""
        counts, launched = self.counts(self.counters), self.launched.to_json()
        return {
            **launched,
            "exact": self.exact,
            "blocks": self.blocks,
            "blocks_run": self.blocks_run,
            "threads": self.threads,
            **counts,
            **self.ratios(),
            **self.rates(),
            "per_thread": _shares(counts, self.threads),
            "per_block": _shares(counts, self.blocks),
            "launches": [
                {
                    **made,
                    "blocks_run": launch.blocks_run,
                    "measured": launch.measured and asdict(launch.measured),
                    **self.counts(launch.counters),
                }
                for made, launch in zip(launched["launches"], self.launches, strict=True)
            ],
            "lines": [
                {"source": line.source, "line": line.number, **self.counts(counters)}
                for line, counters in self.lines.items()
            ],
            "violations": [violation.to_json() for violation in self.violations],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Profile:
        """What :meth:`to_json` made."""
        launched = Launched.from_json(values)
        launches = [
            LaunchCounts(
                _counters(each),
                {},
                made.grid.size,
                each["blocks_run"],
                each["measured"] and Measured(**each["measured"]),
            )
            for made, each in zip(launched.launches, values["launches"], strict=True)
        ]
        return cls(
            launched,
            tuple(launches),
            {Line(each["source"], each["line"]): _counters(each) for each in values["lines"]},
            frozenset(name for name in NAMES if values[name] is None),
            tuple(map(Violation.from_json, values["violations"])),
        )


def _ratio(above: list[int | None], below: int | None) -> float | None:
    known = [count for count in above if count is not None]
    return None if below is None or len(known) < len(above) else ratio(sum(known), below)


def _counters(values: Mapping[str, Any]) -> Counters:
    return Counters(**{name: values[name] or 0 for name in NAMES})


def _shares(counts: Mapping[str, int | None], parts: int) -> dict[str, float | None]:
    return {name: None if count is None else count / parts for name, count in counts.items()}


def profile_json(device: Device, phases: Phases, cell: Mapping[str, Any], exact: bool) -> dict[str, Any]:
    """The profile of a cell, both as JSON."""
    return profile_cell(Cell.from_json(cell), device, exact=exact, phases=phases).to_json()


def profile_cell(
    cell: Cell, device: Device, kernel: Kernel | None = None, *, exact: bool = False, phases: Phases | None = None
) -> Profile:
    """Count what a kernel does with fresh inputs. Its product is neither verified nor timed.

    Args:
        cell: what is counted.
        device: what counts.
        kernel: the kernel itself, where it has no name that the cell could hold.
        exact: run every block, even where a sample would do.
        phases: counts where the time goes.

    Raises:
        NoDevice: the device cannot count.
        TimeLimit: its deadline has passed.
        MmcoreError: the launch is refused, or its source does not become code.
    """
    if not isinstance(device, CountingDevice):
        raise NoDevice(f"{device.name} does not count what a kernel does; the device 'auto' is one that does")
    phases = phases or Phases()
    with phases("plan"):
        kernel = kernel or referenced_kernel(cell.kernel)
        problem = cell.problem(kernel)
        planned = plan(kernel, problem, cell.config_of(kernel), device.properties, force=cell.force)
    with phases("compile"):
        loaded = LoadedKernel(planned, device)
    with loaded, phases("count"):
        loaded.upload(host_arrays(planned, draw(problem, fresh_seed() if cell.seed is None else cell.seed)))
        counted = device.count_launches(loaded.module, loaded.calls, every_block=exact)
    return Profile.of(Launched.of(loaded, device), counted)

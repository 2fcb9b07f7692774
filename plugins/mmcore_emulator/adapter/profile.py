"""The profile of a kernel: what its launches do, counted by a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.devices.violations import Violation
from mmcore.kernel.arguments import MATRICES
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.problem import dtype_named
from mmcore.measure import Phases, prepared_cell
from mmcore_emulator.adapter.conversions import execute, mmcore_violations
from mmcore_emulator.adapter.device import check_emulates, emulated_runs
from mmcore_emulator.adapter.launch_facts import Launched
from mmcore_emulator.executor.translate import Translation
from mmcore_emulator.isa.products import Product
from mmcore_emulator.profiler.by_line import Counting
from mmcore_emulator.profiler.counters import (
    ACCESSES,
    NAMES,
    SECTOR_BYTES,
    SECTORS,
    Counters,
    LaunchCounts,
    Line,
    Measured,
    ratio,
    total,
)
from mmcore_emulator.profiler.over_read import Reach
from mmcore_emulator.ptx.blocks import Block

# Counters of a launch of several blocks watched one of compute capability 1.2's four texture-processor clusters.
_CLUSTERS_CC1X = 4

#: What each ratio of counters is: the sum of some over another.
_RATIOS = (
    ("cgma", ("fmas",), "global_load_sectors"),
    ("cgma_cc1x", ("fmas",), "global_load_transactions_cc1x"),
    ("sectors_per_load_request", ("global_load_sectors",), "global_load_requests"),
    ("sectors_per_store_request", ("global_store_sectors",), "global_store_requests"),
    ("global_accesses_per_thread", ACCESSES, "threads"),
)
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

    @property
    def counters(self) -> Counters:
        """The counters of all launches together."""
        return total(launch.counters for launch in self.launches)

    @property
    def blocks(self) -> int:
        """Blocks of all launches."""
        return sum(launch.grid.size for launch in self.launched.launches)

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

        CGMA, compute to global memory access, is in fused multiply-adds per global sector loaded, tensor cores and
        asynchronous copies left out; the arithmetic intensity in useful floating-point operations, 2·m·n·k, per byte of
        all global sectors. A warp that loads 32 neighbouring floats makes 4 sectors per request; 32 is the worst.
        """
        counts = {**self.counts(self.counters), "threads": self.threads}
        found = {name: _ratio([counts[each] for each in above], counts[below]) for name, above, below in _RATIOS}
        cc1x = found["cgma_cc1x"]
        found["cgma_cc1x"] = cc1x and cc1x * (_CLUSTERS_CC1X if self.several_blocks else 1)
        intensity = ratio(self.launched.flops, SECTOR_BYTES * self.counters.global_sectors)
        return {**found, "arithmetic_intensity": None if self.uncounted.intersection(SECTORS) else intensity}

    def rates(self) -> dict[str, float | None]:
        """What a GPU's time makes of the counters, by name; None from an emulator.

        ``gips`` is 10⁹ instructions of warps a second, ``gflops`` 10⁹ executed floating-point operations, those of
        tensor cores too; the throughputs are GB/s of the sectors that loads and stores touch, and of device memory.
        """
        launches = [launch.measured for launch in self.launches if launch.measured is not None]
        if not launches:
            return dict.fromkeys(_RATES)
        nanoseconds = sum(each.seconds for each in launches) * 1e9
        counters = self.counters
        return {
            "counted_ms": nanoseconds * 1e-6,
            "gips": counters.warp_instructions / nanoseconds,
            "gflops": (counters.flops + counters.tensor_flops) / nanoseconds,
            "achieved_occupancy": sum(each.occupancy * each.seconds for each in launches) * 1e9 / nanoseconds,
            "global_load_throughput": counters.global_load_sectors * SECTOR_BYTES / nanoseconds,
            "global_store_throughput": counters.global_store_sectors * SECTOR_BYTES / nanoseconds,
            "memory_throughput": sum(each.memory_bytes for each in launches) / nanoseconds,
        }

    def counts(self, counters: Counters) -> dict[str, int | None]:
        """Counters by name; None for one that the device does not count."""
        return {name: None if name in self.uncounted else getattr(counters, name) for name in NAMES}

    def to_json(self) -> dict[str, Any]:
        """The profile as JSON-ready values; null for what the device does not count."""
        counts, launched = self.counts(self.counters), self.launched.to_json()
        return {
            **launched,
            "blocks": self.blocks,
            "threads": self.threads,
            **self._counts_to_json(self.counters),
            **self.ratios(),
            **self.rates(),
            "per_thread": _shares(counts, self.threads),
            "per_block": _shares(counts, self.blocks),
            "launches": [
                {**made, "measured": each.measured and asdict(each.measured), **self._counts_to_json(each.counters)}
                for made, each in zip(launched["launches"], self.launches, strict=True)
            ],
            "lines": [
                {"source": line.source, "line": line.number, **self._counts_to_json(counters)}
                for line, counters in self.lines.items()
            ],
            "violations": [violation.to_json() for violation in self.violations],
        }

    def _counts_to_json(self, counters: Counters) -> dict[str, Any]:
        """The counters, and of tensor cores the instructions by what they multiply and the operations by type."""
        products = {product.name: count for product, count in sorted(counters.products.items())}
        by_type = {"products": products, "tensor_flops_by_type": counters.tensor_flops_by_type}
        return {**self.counts(counters), **(dict.fromkeys(by_type) if "products" in self.uncounted else by_type)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Profile:
        """What :meth:`to_json` made."""
        return cls(
            Launched.from_json(values),
            tuple(LaunchCounts(_counters(each), _measured(each["measured"])) for each in values["launches"]),
            {Line(each["source"], each["line"]): _counters(each) for each in values["lines"]},
            frozenset(name for name in (*NAMES, "products") if values[name] is None),
            tuple(map(Violation.from_json, values["violations"])),
        )


def _ratio(above: list[int | None], below: int | None) -> float | None:
    known = [count for count in above if count is not None]
    return None if below is None or len(known) < len(above) else ratio(sum(known), below)


def _counters(values: Mapping[str, Any]) -> Counters:
    products = {Product.named(name): count for name, count in (values["products"] or {}).items()}
    return Counters(**{name: values[name] or 0 for name in NAMES}, products=products)


def _measured(values: Mapping[str, Any] | None) -> Measured | None:
    return None if values is None else Measured(**values)


def _shares(counts: Mapping[str, int | None], parts: int) -> dict[str, float | None]:
    return {name: None if count is None else count / parts for name, count in counts.items()}


def profile_json(
    device: Device, phases: Phases, cell: Mapping[str, Any], kernel: Kernel | None = None
) -> dict[str, Any]:
    """The profile of a cell, both as JSON."""
    return profile_cell(Cell.from_json(cell), device, kernel, phases).to_json()


def profile_cell(
    cell: Cell,
    device: Device,
    kernel: Kernel | None = None,
    phases: Phases | None = None,
    counting: Callable[[Sequence[Block]], Counting] = Counting,
) -> Profile:
    """Count what a kernel does with fresh inputs. Its product is neither verified nor timed.

    Arguments are those of :func:`mmcore.measure.measure`, and what makes the observer of each launch.

    Raises:
        NoDevice: the device cannot count.
        TimeLimit: its deadline has passed.
        MmcoreError: the launch is refused, or its source does not become code.
    """
    check_emulates(device, "count what a kernel does")
    phases = phases or Phases()
    countings: list[Counting] = []
    violations: list[Violation] = []

    def observer(translation: Translation) -> Counting:
        countings.append(counting(translation.blocks))
        return countings[-1]

    with prepared_cell(cell, device, kernel, phases) as loaded, phases("count"):
        for run in emulated_runs(loaded, observer):
            execute(run)
            violations += mmcore_violations(run.violations.values())
    by_launch = [each.lines for each in countings]
    lines = {
        line: total(lines[line] for lines in by_launch if line in lines) for line in sorted(set().union(*by_launch))
    }
    launches = tuple(LaunchCounts(total(lines.values())) for lines in by_launch)
    return Profile(Launched.of(loaded, device), launches, lines, violations=tuple(violations))


def over_read_elements(cell: Cell, device: Device, kernel: Kernel | None = None) -> dict[str, int]:
    """How many elements past the end of each matrix a cell's launches read, of those that are declared to be read.

    An element that is read in part counts as a whole one; what goes further than declared is a violation of the launch.
    Arguments are those of :func:`mmcore.measure.measure`.

    Returns:
        By "A", "B" and "C".

    Raises:
        NoDevice: the device does not see how far kernels read.
        MmcoreError: the launch is refused, or its source does not become code.
    """
    check_emulates(device, "see how far a kernel reads")
    reach = Reach()
    with prepared_cell(cell, device, kernel) as loaded:
        problem = loaded.plan.problem
        for run in emulated_runs(loaded, lambda translation: reach):
            execute(run)
    types = {"A": problem.dtype, "B": problem.dtype, "C": problem.output}
    return {matrix: ceil_div(reach.past.get(matrix, 0), dtype_named(types[matrix]).itemsize) for matrix in MATRICES}

"""The profile of a kernel: the counters of its launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.kernel.arguments import MATRICES
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.problem import dtype_named
from mmcore.measure import Phases, prepared_cell
from mmcore_emulator.adapter.conversions import execute, mmcore_violations
from mmcore_emulator.adapter.device import check_emulates, emulated_runs
from mmcore_emulator.adapter.launch_facts import Json, Launched
from mmcore_emulator.executor.translation.translate import Translation
from mmcore_emulator.isa.matrix.products import Product
from mmcore_emulator.machine.observer import Observer
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
from mmcore_emulator.profiler.over_read import OverReads
from mmcore_emulator.ptx.instructions import Block

# A profiler of compute capability 1.2 watched one of four texture-processor clusters, if there were several blocks.
_CLUSTERS_CC1X = 4

# Each ratio: the sum of some counts over the sum of others.
_RATIOS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "cgma": (["fmas"], ["global_load_sectors"]),
    "cgma_cc1x": (["fmas"], ["global_load_transactions_cc1x"]),
    "sectors_per_load_request": (["global_load_sectors"], ["global_load_requests"]),
    "sectors_per_store_request": (["global_store_sectors"], ["global_store_requests"]),
    "global_accesses_per_thread": (ACCESSES, ["threads"]),
    "arithmetic_intensity": (["useful_flops"], SECTORS),
}


@dataclass(frozen=True)
class Profile:
    """The counters of one kernel's launches for one problem."""

    launched: Launched  # the launches and their device
    launches: tuple[LaunchCounts, ...]
    lines: Mapping[Line, Counters]  # of all launches by line of source code, in order; empty if the device has none
    uncounted: frozenset[str] = frozenset()  # names of counters that the device does not count
    violations: tuple[Violation, ...] = ()  # what the launches did wrong; their counters mean little

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
        """Fused multiply-adds per load transaction of compute capability 1.2, as the Poznań report prints them."""
        return self.ratios()["cgma_cc1x"]

    @property
    def several_blocks(self) -> bool:
        """True if a launch has more than one block."""
        return any(launch.grid.size > 1 for launch in self.launched.launches)

    def ratios(self) -> dict[str, float | None]:
        """Return the ratios of counters by name; None where a counter is missing or a divisor is 0.

        CGMA, compute to global memory access, is in fused multiply-adds per global sector loaded, without tensor cores
        and asynchronous copies. The arithmetic intensity is in useful floating-point operations, 2·m·n·k, per byte of
        all global sectors. A warp that loads 32 neighbouring floats makes 4 sectors per request; 32 is the worst.
        """
        counts = self.counts(self.counters) | {"threads": self.threads, "useful_flops": self.launched.flops}
        factors = {"cgma_cc1x": _CLUSTERS_CC1X if self.several_blocks else 1, "arithmetic_intensity": 1 / SECTOR_BYTES}
        ratios: dict[str, float | None] = {}
        for name, sums in _RATIOS.items():
            above, below = (_sum([counts[counter] for counter in counters]) for counters in sums)
            quotient = None if above is None or below is None else ratio(above, below)
            ratios[name] = quotient and quotient * factors.get(name, 1)
        return ratios

    def rates(self) -> dict[str, float | None]:
        """Return rates by a GPU's time, by name; None from an emulator.

        ``gips`` is 10⁹ instructions of warps a second, ``gflops`` 10⁹ executed floating-point operations with those of
        tensor cores. The throughputs are GB/s of the sectors that loads and stores touch, and of device memory.
        """
        launches = [launch.measured for launch in self.launches if launch.measured is not None]
        nanoseconds = sum(launch.seconds for launch in launches) * 1e9
        counters = self.counters
        amounts = {
            "gips": counters.warp_instructions,
            "gflops": counters.flops + counters.tensor_flops,
            "achieved_occupancy": sum(launch.occupancy * launch.seconds for launch in launches) * 1e9,
            "global_load_throughput": counters.global_load_sectors * SECTOR_BYTES,
            "global_store_throughput": counters.global_store_sectors * SECTOR_BYTES,
            "memory_throughput": sum(launch.memory_bytes for launch in launches),
        }
        rates = {name: ratio(amount, nanoseconds) for name, amount in amounts.items()}
        return {"counted_ms": nanoseconds * 1e-6 or None, **rates}

    def counts(self, counters: Counters) -> dict[str, int | None]:
        """Return counters by name; None for one that the device does not count."""
        return {name: None if name in self.uncounted else getattr(counters, name) for name in NAMES}

    def _repr_html_(self) -> str:
        from mmcore_emulator.adapter.profile_command import profile_view  # the titles of counters are there

        return profile_view(self)._repr_html_()

    def to_json(self) -> Json:
        """Return JSON-ready values; null for what the device does not count."""
        launched = self.launched.to_json()
        return {
            **launched,
            "blocks": self.blocks,
            "threads": self.threads,
            **self._counts_to_json(self.counters),
            **self.ratios(),
            **self.rates(),
            "per_thread": self._shares(self.threads),
            "per_block": self._shares(self.blocks),
            "launches": [
                {**record, "measured": counts.measured and asdict(counts.measured)}
                | self._counts_to_json(counts.counters)
                for record, counts in zip(launched["launches"], self.launches, strict=True)
            ],
            "lines": [
                {"source": line.source, "line": line.number, **self._counts_to_json(counters)}
                for line, counters in self.lines.items()
            ],
            "violations": [violation.to_json() for violation in self.violations],
        }

    def _shares(self, parts: int) -> dict[str, float | None]:
        counts = self.counts(self.counters)
        return {name: None if count is None else count / parts for name, count in counts.items()}

    def _counts_to_json(self, counters: Counters) -> dict[str, object]:
        products = {product.name: count for product, count in sorted(counters.products.items())}
        by_type: dict[str, object] = {"products": products, "tensor_flops_by_type": counters.tensor_flops_by_type}
        return {**self.counts(counters), **(dict.fromkeys(by_type) if "products" in self.uncounted else by_type)}

    @classmethod
    def from_json(cls, values: Json) -> Profile:
        """Return the profile of :meth:`to_json`."""
        return cls(
            Launched.from_json(values),
            tuple(
                LaunchCounts(_counters(launch), launch["measured"] and Measured(**launch["measured"]))
                for launch in values["launches"]
            ),
            {Line(line["source"], line["line"]): _counters(line) for line in values["lines"]},
            frozenset(name for name in (*NAMES, "products") if values[name] is None),
            tuple(map(Violation.from_json, values["violations"])),
        )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _counters(values: Json) -> Counters:
    products = {Product.named(name): count for name, count in (values["products"] or {}).items()}
    return Counters(**{name: values[name] or 0 for name in NAMES}, products=products)


def profile_json(device: Device, phases: Phases, cell: Json, kernel: Kernel | None = None) -> Json:
    """Return the profile of a cell, both as JSON."""
    return profile_cell(Cell.from_json(cell), device, kernel, phases).to_json()


def profile_cell(
    cell: Cell,
    device: Device,
    kernel: Kernel | None = None,
    phases: Phases | None = None,
    counting: Callable[[Sequence[Block]], Counting] = Counting,
) -> Profile:
    """Count what a kernel does with fresh inputs. Its product is neither verified nor timed.

    Arguments are those of :func:`mmcore.measure.measure`; ``counting`` makes the observer of each launch.

    Raises:
        NoDevice: the device cannot count.
        TimeLimit: its deadline has passed.
        MmcoreError: the launch is refused, or its source does not compile.
    """
    observers: list[Counting] = []

    def observer(translation: Translation) -> Counting:
        observers.append(counting(translation.blocks))
        return observers[-1]

    loaded, violations = _observe(cell, device, kernel, phases, observer, "count what a kernel does")
    lines: dict[Line, Counters] = {}
    for counted in observers:
        for line, counters in counted.lines.items():
            lines[line] = lines.get(line, Counters()) + counters
    launches = tuple(LaunchCounts(total(counted.lines.values())) for counted in observers)
    return Profile(Launched.of(loaded), launches, dict(sorted(lines.items())), violations=violations)


def over_read_elements(cell: Cell, device: Device, kernel: Kernel | None = None) -> dict[str, int]:
    """Return how many elements past the end of "A", "B" and "C" a cell's launches read, within the declared over-read.

    An element that is read in part counts as a whole one. Arguments and errors are those of :func:`profile_cell`.
    """
    reads = OverReads()
    loaded, _ = _observe(cell, device, kernel, None, lambda translation: reads, "see how far a kernel reads")
    problem = loaded.plan.problem
    types = {"A": problem.dtype, "B": problem.dtype, "C": problem.output}
    return {matrix: ceil_div(reads.past.get(matrix, 0), dtype_named(types[matrix]).itemsize) for matrix in MATRICES}


def _observe(
    cell: Cell,
    device: Device,
    kernel: Kernel | None,
    phases: Phases | None,
    observer: Callable[[Translation], Observer],
    action: str,
) -> tuple[LoadedKernel, tuple[Violation, ...]]:
    """Execute a cell's launches, each with an observer, for an action that needs the emulator."""
    check_emulates(device, action)
    phases = phases or Phases()
    violations: list[Violation] = []
    with prepared_cell(cell, device, kernel, phases) as loaded, phases("count"):
        for launch in emulated_runs(loaded, observer):
            execute(launch)
            violations += mmcore_violations(launch.violations.values())
    return loaded, tuple(violations)

"""What ``mmcore profile`` prints of a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from mmcore.cli.output import fields
from mmcore.cli.report import geometry, product
from mmcore_emulator.profiler.counters import Counters, total
from mmcore_emulator.profiler.counted import Line
from mmcore_emulator.profiler.profile import Profile

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table
    from rich.text import Text

_WORK = (
    ("instructions of threads", "thread_instructions"),
    ("instructions of warps", "warp_instructions"),
    ("fused multiply-adds", "fmas"),
    ("floating-point operations", "flops"),
    ("global loads", "global_loads"),
    ("global load bytes", "global_load_bytes"),
    ("global load requests", "global_load_requests"),
)
_LOADS = {
    "sectors": ("global load sectors", "global_load_sectors"),
    "cc1x": ("global load transactions, cc 1.2", "global_load_transactions_cc1x"),
}
_TRAFFIC = (
    ("global stores", "global_stores"),
    ("global store bytes", "global_store_bytes"),
    ("global store requests", "global_store_requests"),
    ("global store sectors", "global_store_sectors"),
    ("global atomics", "global_atomics"),
    ("global atomic requests", "global_atomic_requests"),
    ("global atomic sectors", "global_atomic_sectors"),
    ("shared loads", "shared_loads"),
    ("shared load bytes", "shared_load_bytes"),
    ("shared load requests", "shared_load_requests"),
    ("shared load wavefronts", "shared_load_wavefronts"),
    ("shared stores", "shared_stores"),
    ("shared store bytes", "shared_store_bytes"),
    ("shared store requests", "shared_store_requests"),
    ("shared store wavefronts", "shared_store_wavefronts"),
    ("shared atomic requests", "shared_atomic_requests"),
    ("bank conflicts", "shared_bank_conflicts"),
    ("barriers", "barriers"),
)
_COLUMNS: tuple[tuple[str, Callable[[Counters], int]], ...] = (
    ("instructions", lambda counters: counters.warp_instructions),
    ("fma", lambda counters: counters.fmas),
    ("load requests", lambda counters: counters.global_load_requests),
    ("sectors", lambda counters: counters.global_load_sectors),
    ("transactions cc1x", lambda counters: counters.global_load_transactions_cc1x),
    ("store requests", lambda counters: counters.global_store_requests),
    ("sectors stored", lambda counters: counters.global_store_sectors),
    ("atomic requests", lambda counters: counters.global_atomic_requests),
    ("shared requests", lambda counters: counters.shared_load_requests + counters.shared_store_requests),
    ("wavefronts", lambda counters: counters.shared_load_wavefronts + counters.shared_store_wavefronts),
    ("conflicts", lambda counters: counters.shared_bank_conflicts),
    ("barriers", lambda counters: counters.barriers),
)
_UNBOUNDED = 10_000
_HIDDEN = {"sectors": ("transactions cc1x",), "cc1x": ("sectors", "sectors stored")}


def report(profile: Profile, coalescing: str, *, chosen: bool) -> list[RenderableType]:
    """What was launched, what was counted, and what follows from it.

    Args:
        profile: the profile.
        coalescing: "sectors" or "cc1x": what a warp's loads are said to come to.
        chosen: whether mmcore chose the device.
    """
    kernel = profile.plan.kernel
    return [
        f"{kernel.name}: {kernel.title}\n",
        fields(_facts(profile, chosen)),
        "",
        _counter_table(profile, coalescing),
        "",
        fields([*_ratios(profile, coalescing), *_rates(profile)]),
        *(["", *map(str, profile.violations)] if profile.violations else []),
    ]


def _facts(profile: Profile, chosen: bool) -> list[tuple[str, str]]:
    plan = profile.plan
    return [
        ("device", f"{profile.device}{' (chosen by auto)' if chosen else ''}: {profile.device_description}"),
        ("problem", product(plan)),
        *geometry(plan),
        ("counted", _extent(profile)),
    ]


def _extent(profile: Profile) -> str:
    if profile.exact:
        return "every block; the product is not verified here"
    return f"{profile.blocks_run} of {profile.blocks} blocks, which did the same; --exact runs them all"


def _counter_table(profile: Profile, coalescing: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for heading in ("in all", "per block", "per thread"):
        table.add_column(heading, justify="right", no_wrap=True)
    counts = profile.counts(profile.counters)
    for title, name in (*_WORK, _LOADS[coalescing], *_TRAFFIC):
        count = counts[name]
        if count is None:
            table.add_row(title, "not counted", "", "")
        elif count:
            table.add_row(title, f"{count:,}", _number(count / profile.blocks), _number(count / profile.threads))
    return table


def _rates(profile: Profile) -> list[tuple[str, str]]:
    rates = profile.rates()
    if rates["counted_ms"] is None:
        return []
    rows = (
        ("time", "counted_ms", "ms while counting, from cold caches"),
        ("GIPS", "gips", "10⁹ instructions of warps per second"),
        ("GFLOP/s", "gflops", "10⁹ floating-point operations per second"),
        ("occupancy", "achieved_occupancy", "of the warps that fit, active on average"),
        ("loads", "global_load_throughput", "GB/s of sectors"),
        ("stores", "global_store_throughput", "GB/s of sectors"),
        ("memory", "memory_throughput", "GB/s of device memory"),
    )
    return [(title, f"{rates[name]:.4g} {unit}") for title, name, unit in rows]


def _ratios(profile: Profile, coalescing: str) -> list[tuple[str, str]]:
    ratios = profile.ratios()
    cgma = ("cgma", "fused multiply-adds per global sector loaded")
    if coalescing == "cc1x":
        several = any(launch.grid_dim.size > 1 for launch in profile.plan.launches)
        times = ", times 4 as published: the profiler watched one of four clusters" if several else ", as published"
        cgma = ("cgma_cc1x", f"fused multiply-adds per load transaction of compute capability 1.2{times}")
    rows = (
        ("CGMA", *cgma),
        ("loads", "sectors_per_load_request", "sectors per request"),
        ("stores", "sectors_per_store_request", "sectors per request"),
        ("intensity", "arithmetic_intensity", "floating-point operations per byte of the sectors"),
        ("accesses", "global_accesses_per_thread", "to global memory per thread"),
    )
    found = ((name, ratios[key], unit) for name, key, unit in rows)
    return [(name, "" if value is None else f"{_number(value)} {unit}") for name, value, unit in found]


class LineTable:
    """One row for each line of source that does anything, with the line itself; two where the terminal is narrow."""

    def __init__(self, profile: Profile, coalescing: str) -> None:
        self._profile = profile
        whole = total(profile.lines.values())
        shown = [column for column in _COLUMNS if column[0] not in _HIDDEN[coalescing]]
        self._columns = [(heading, count) for heading, count in shown if count(whole)]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = self._wide()
        needed = console.measure(wide, options=options.update(width=_UNBOUNDED)).maximum
        yield wide if needed <= options.max_width else self._narrow()

    def _rows(self) -> Iterator[tuple[Line, Counters, str]]:
        kernel = self._profile.plan.kernel
        text = kernel.source_text().splitlines()
        for line, counters in self._profile.lines.items():
            own = line.source == kernel.source.name and 1 <= line.number <= len(text)
            yield line, counters, text[line.number - 1].strip() if own else f"({line.source or 'no source'})"

    def _wide(self) -> Table:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("line", justify="right", no_wrap=True)
        for heading, _ in self._columns:
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("source", no_wrap=True)
        for line, counters, source in self._rows():
            table.add_row(str(line.number), *(_cell(count(counters)) for _, count in self._columns), source)
        return table

    def _narrow(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(justify="right", no_wrap=True, style="bold")
        table.add_column()
        for line, counters, source in self._rows():
            counts = [f"{count(counters):,} {heading}" for heading, count in self._columns if count(counters)]
            table.add_row(str(line.number), source)
            table.add_row("", Text(", ".join(counts), style="dim"))
        return table


def source_table(profile: Profile, source: Iterable[Text]) -> Table:
    """Every line of the kernel's file, with the warps' instructions, the sectors and the bank conflicts it makes."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("instr.", "sectors", "conflicts", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(profile.plan.kernel.source.name, overflow="fold")
    for number, text in enumerate(source, start=1):
        counters = profile.lines.get(Line(profile.plan.kernel.source.name, number), Counters())
        sectors = counters.global_load_sectors + counters.global_store_sectors + counters.global_atomic_sectors
        counts = (counters.warp_instructions, sectors, counters.shared_bank_conflicts)
        table.add_row(*map(_cell, counts), str(number), text)
    return table


def _cell(count: int) -> str:
    """A count, or nothing for 0."""
    return f"{count:,}" if count else ""


def _number(value: float) -> str:
    """Whole numbers as such, others to four digits."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if value >= 1000 else f"{value:.4g}"

"""What ``mmcore profile`` prints of a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mmcore.cli.output import fields
from mmcore.kernel.declaration import Kernel
from mmcore_emulator.profiler.counters import NAMES, Counters, Line, total
from mmcore_emulator.profiler.profile import Profile

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table

_TITLES = {
    "thread_instructions": "instructions of threads",
    "warp_instructions": "instructions of warps",
    "fmas": "fused multiply-adds",
    "flops": "executed floating-point operations",
    "global_load_transactions_cc1x": "global load transactions, cc 1.2",
    "shared_bank_conflicts": "bank conflicts",
}
#: What the other way of counting loads is called.
_OTHER = {"sectors": "global_load_transactions_cc1x", "cc1x": "global_load_sectors"}
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
_SOURCE_COLUMNS: dict[str, Callable[[Counters], int]] = {
    "instr.": lambda counters: counters.warp_instructions,
    "sectors": lambda counters: counters.global_sectors,
    "conflicts": lambda counters: counters.shared_bank_conflicts,
}
_UNBOUNDED = 10_000
_HIDDEN = {"sectors": ("transactions cc1x",), "cc1x": ("sectors", "sectors stored")}


def report(profile: Profile, coalescing: str, *, auto: bool) -> list[RenderableType]:
    """What was launched, what was counted, and what follows from it.

    Args:
        profile: the profile.
        coalescing: "sectors" or "cc1x": what a warp's loads are said to come to.
        auto: whether mmcore chose the device.
    """
    return [
        f"{profile.launched.kernel}: {profile.launched.title}\n",
        fields([*profile.launched.facts(auto)]),
        "",
        _counter_table(profile, coalescing),
        "",
        fields([*_ratios(profile, coalescing), *_rates(profile)]),
        *(["", *map(str, profile.violations)] if profile.violations else []),
    ]


def _table() -> Table:
    from rich.table import Table

    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))


def _counter_table(profile: Profile, coalescing: str) -> Table:
    table = _table()
    table.add_column("")
    for heading in ("in all", "per block", "per thread"):
        table.add_column(heading, justify="right", no_wrap=True)
    counts = profile.counts(profile.counters)
    for name in NAMES:
        count, title = counts[name], _TITLES.get(name, name.replace("_", " "))
        if name == _OTHER[coalescing]:
            continue
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
        ("GFLOP/s", "gflops", "10⁹ executed floating-point operations per second"),
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
        several = profile.several_blocks
        times = ", times 4 as published: the profiler watched one of four clusters" if several else ", as published"
        cgma = ("cgma_cc1x", f"fused multiply-adds per load transaction of compute capability 1.2{times}")
    rows = (
        ("CGMA", *cgma),
        ("loads", "sectors_per_load_request", "sectors per request"),
        ("stores", "sectors_per_store_request", "sectors per request"),
        ("intensity", "arithmetic_intensity", "useful floating-point operations (2·m·n·k) per byte of global sectors"),
        ("accesses", "global_accesses_per_thread", "to global memory per thread"),
    )
    found = ((name, ratios[key], unit) for name, key, unit in rows)
    return [(name, "" if value is None else f"{_number(value)} {unit}") for name, value, unit in found]


class LineTable:
    """One row for each line of source that does anything, with the line itself; two where the terminal is narrow."""

    def __init__(self, profile: Profile, kernel: Kernel, coalescing: str) -> None:
        self._profile = profile
        self._kernel = kernel
        whole = total(profile.lines.values())
        shown = [column for column in _COLUMNS if column[0] not in _HIDDEN[coalescing]]
        self._columns = [(heading, count) for heading, count in shown if count(whole)]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = self._wide()
        needed = console.measure(wide, options=options.update(width=_UNBOUNDED)).maximum
        yield wide if needed <= options.max_width else self._narrow()

    def _rows(self) -> Iterator[tuple[Line, Counters, str]]:
        text = self._kernel.source_text().splitlines()
        for line, counters in self._profile.lines.items():
            own = line.source == self._kernel.source.name and 1 <= line.number <= len(text)
            yield line, counters, text[line.number - 1].strip() if own else f"({line.source or 'no source'})"

    def _wide(self) -> Table:
        table = _table()
        for heading in ("line", *(heading for heading, _ in self._columns)):
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


def source_table(profile: Profile, kernel: Kernel) -> Table:
    """Every line of the kernel's file, with the warps' instructions, the sectors and the bank conflicts it makes."""
    from rich.syntax import Syntax

    table = _table()
    for heading in (*_SOURCE_COLUMNS, ""):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(kernel.source.name, overflow="fold")
    code = kernel.source_text().rstrip()
    for number, text in enumerate(Syntax(code, "cuda", theme="ansi_dark").highlight(code).split("\n"), start=1):
        counters = profile.lines.get(Line(kernel.source.name, number), Counters())
        table.add_row(*(_cell(count(counters)) for count in _SOURCE_COLUMNS.values()), str(number), text)
    return table


def _cell(count: int) -> str:
    """A count, or nothing for 0."""
    return f"{count:,}" if count else ""


def _number(value: float) -> str:
    """Whole numbers as such, others to four digits."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if value >= 1000 else f"{value:.4g}"

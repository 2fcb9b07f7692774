"""``mmcore profile``: how much work a kernel does, and what each of its accesses costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click
from rich.console import RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from mmcore.cell import KernelReference
from mmcore.cli.options import USUAL_SIZE, device_option, launch_options, requested_cell, timeout_option
from mmcore.cli.output import fields, json_option, loaded_registry, render, write_json
from mmcore.kernel.declaration import Kernel
from mmcore_emulator.adapter.api import profiled
from mmcore_emulator.adapter.profile import Profile
from mmcore_emulator.profiler.counters import NAMES, Counters, Line

_TITLES = {
    "thread_instructions": "instructions of threads",
    "warp_instructions": "instructions of warps",
    "fmas": "fused multiply-adds",
    "flops": "executed floating-point operations",
    "tensor_flops": "operations of tensor cores",
    "tensor_instructions": "instructions of tensor cores",
    "global_load_transactions_cc1x": "global load transactions, cc 1.2",
    "shared_bank_conflicts": "bank conflicts",
}
#: What the other way of counting loads is called.
_OTHER = {"sectors": "global_load_transactions_cc1x", "cc1x": "global_load_sectors"}
_OF_LINES: Mapping[str, Callable[[Counters], int]] = {
    "instructions": lambda counters: counters.warp_instructions,
    "fma": lambda counters: counters.fmas,
    "load requests": lambda counters: counters.global_load_requests,
    "sectors": lambda counters: counters.global_load_sectors,
    "transactions cc1x": lambda counters: counters.global_load_transactions_cc1x,
    "store requests": lambda counters: counters.global_store_requests,
    "sectors stored": lambda counters: counters.global_store_sectors,
    "atomic requests": lambda counters: counters.global_atomic_requests,
    "copy requests": lambda counters: counters.async_copy_requests,
    "sectors copied": lambda counters: counters.async_copy_sectors,
    "bulk copies": lambda counters: counters.bulk_loads + counters.bulk_stores,
    "bytes fetched": lambda counters: counters.bulk_load_bytes,
    "bytes delivered": lambda counters: counters.bulk_delivered_bytes,
    "bytes stored": lambda counters: counters.bulk_store_bytes,
    "shared requests": lambda counters: counters.shared_load_requests + counters.shared_store_requests,
    "matrix requests": lambda counters: counters.ldmatrix_requests + counters.stmatrix_requests,
    "wavefronts": lambda counters: counters.shared_wavefronts,
    "conflicts": lambda counters: counters.shared_bank_conflicts,
    "barriers": lambda counters: counters.barriers,
}
_SOURCE_COLUMNS: dict[str, Callable[[Counters], int]] = {
    "instr.": lambda counters: counters.warp_instructions,
    "sectors": lambda counters: counters.global_sectors,
    "conflicts": lambda counters: counters.shared_bank_conflicts,
}
_HIDDEN = {"sectors": ("transactions cc1x",), "cc1x": ("sectors", "sectors stored")}


@click.command()
@click.argument("kernel")
@launch_options(USUAL_SIZE)
@device_option("auto: the emulator.")
@click.option("--by-line", is_flag=True, help="Say which line of the source does what.")
@click.option("--source", is_flag=True, help="Show the source with what each line does beside it.")
@click.option(
    "--coalescing",
    type=click.Choice(["sectors", "cc1x"]),
    default="sectors",
    show_default=True,
    help="What a warp's loads come to: sectors of 32 bytes, or compute capability 1.2's transactions.",
)
@timeout_option("everything together")
@json_option
def profile(
    kernel: KernelReference, device: str, by_line: bool, source: bool, coalescing: str, as_json: bool, **asked: Any
) -> int:
    """Count a kernel's instructions, accesses and conflicts."""
    found = loaded_registry().kernel(kernel)
    result = profiled(requested_cell(found, device, asked, USUAL_SIZE))
    if as_json:
        write_json(result.to_json())
    else:
        parts = report(result, coalescing, auto=device == "auto")
        if by_line:
            parts += ["", line_table(result, found, coalescing)]
        if source:
            parts += ["", source_table(result, found)]
        render(*parts)
    return 1 if result.violations else 0


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
            _add_counts(table, profile, title, count)
        for part, its_count in _parts(profile.counters, name).items():
            _add_counts(table, profile, f"  {part}", its_count)
    return table


def _add_counts(table: Table, profile: Profile, title: str, count: int) -> None:
    table.add_row(title, f"{count:,}", _number(count / profile.blocks), _number(count / profile.threads))


def _parts(counters: Counters, name: str) -> Mapping[str, int]:
    """What a counter is made of, by what tensor cores multiply."""
    if name == "tensor_flops":
        return counters.tensor_flops_by_type
    products = counters.products if name == "tensor_instructions" else {}
    return {product.name: count for product, count in sorted(products.items())}


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
    if profile.counters.tensor_instructions:
        # Fused multiply-adds are few beside what tensor cores make.
        ratios["cgma"] = ratios["cgma_cc1x"] = None
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


def line_table(profile: Profile, kernel: Kernel, coalescing: str) -> Table:
    """Each line of source that does anything, and below it what it does."""
    text = kernel.source_text().splitlines()
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True, style="bold")
    table.add_column()
    for line, counters in profile.lines.items():
        own = line.source == kernel.source.name and 1 <= line.number <= len(text)
        table.add_row(str(line.number), text[line.number - 1].strip() if own else f"({line.source or 'no source'})")
        counts = {name: count(counters) for name, count in _OF_LINES.items() if name not in _HIDDEN[coalescing]}
        counts |= {product.name: count for product, count in sorted(counters.products.items())}
        table.add_row("", Text(", ".join(f"{count:,} {name}" for name, count in counts.items() if count), style="dim"))
    return table


def source_table(profile: Profile, kernel: Kernel) -> Table:
    """Every line of the kernel's file, with the instructions of warps and tensor cores, sectors and bank conflicts."""
    table, columns = _table(), dict(_SOURCE_COLUMNS)
    if profile.counters.tensor_instructions:
        columns["tensor"] = lambda counters: counters.tensor_instructions
    for heading in (*columns, ""):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(kernel.source.name, overflow="fold")
    code = kernel.source_text().rstrip()
    for number, text in enumerate(Syntax(code, "cuda", theme="ansi_dark").highlight(code).split("\n"), start=1):
        counters = profile.lines.get(Line(kernel.source.name, number), Counters())
        table.add_row(*(_cell(count(counters)) for count in columns.values()), str(number), text)
    return table


def _cell(count: int) -> str:
    """A count, or nothing for 0."""
    return f"{count:,}" if count else ""


def _number(value: float) -> str:
    """Whole numbers as such, others to four digits."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if value >= 1000 else f"{value:.4g}"

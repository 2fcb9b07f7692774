"""``mmcore profile``: how much work a kernel does, and what each of its accesses costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import click
from rich.console import RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from mmcore.cli.kernel_param import KernelParam
from mmcore.cli.options import USUAL_SIZE, device_option, launch_options, requested_cell, timeout_option
from mmcore.cli.output import fields, json_option, loaded_registry, quiet_option, render, write_json
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import KernelReference
from mmcore.view import View
from mmcore_emulator.adapter.api import profiled
from mmcore_emulator.adapter.launch_facts import source_line
from mmcore_emulator.adapter.profile import Profile
from mmcore_emulator.adapter.views import launched_view
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
# Counters of a line by what they are called; several are added.
_LINE_COUNTS = {
    "instructions": ["warp_instructions"],
    "fma": ["fmas"],
    "load requests": ["global_load_requests"],
    "sectors": ["global_load_sectors"],
    "transactions cc1x": ["global_load_transactions_cc1x"],
    "store requests": ["global_store_requests"],
    "sectors stored": ["global_store_sectors"],
    "atomic requests": ["global_atomic_requests"],
    "copy requests": ["async_copy_requests"],
    "sectors copied": ["async_copy_sectors"],
    "bulk copies": ["bulk_loads", "bulk_stores"],
    "bytes fetched": ["bulk_load_bytes"],
    "bytes delivered": ["bulk_delivered_bytes"],
    "bytes stored": ["bulk_store_bytes"],
    "local requests": ["local_load_requests", "local_store_requests"],
    "local sectors": ["local_load_sectors", "local_store_sectors"],
    "shared requests": ["shared_load_requests", "shared_store_requests"],
    "matrix requests": ["ldmatrix_requests", "stmatrix_requests"],
    "wavefronts": ["shared_wavefronts"],
    "conflicts": ["shared_bank_conflicts"],
    "barriers": ["barriers"],
}
# The counters and the counts of a line that belong to the other way of counting loads.
_HIDDEN = {
    "sectors": ("global_load_transactions_cc1x", "transactions cc1x"),
    "cc1x": ("global_load_sectors", "sectors", "sectors stored"),
}
_RATES = (
    ("time", "counted_ms", "ms while counting, from cold caches"),
    ("GIPS", "gips", "10⁹ instructions of warps per second"),
    ("GFLOP/s", "gflops", "10⁹ executed floating-point operations per second"),
    ("occupancy", "achieved_occupancy", "of the warps that fit, active on average"),
    ("loads", "global_load_throughput", "GB/s of sectors"),
    ("stores", "global_store_throughput", "GB/s of sectors"),
    ("memory", "memory_throughput", "GB/s of device memory"),
)
_RATIOS = (
    ("loads", "sectors_per_load_request", "sectors per request"),
    ("stores", "sectors_per_store_request", "sectors per request"),
    ("intensity", "arithmetic_intensity", "useful floating-point operations (2·m·n·k) per byte of global sectors"),
    ("accesses", "global_accesses_per_thread", "to global memory per thread"),
)


@click.command()
@click.argument("kernel", type=KernelParam())
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
@quiet_option
@json_option
def profile(
    kernel: KernelReference,
    device: str,
    by_line: bool,
    source: bool,
    coalescing: str,
    quiet: bool,
    as_json: bool,
    **options: object,
) -> int:
    """Count a kernel's instructions, accesses and conflicts."""
    declaration = loaded_registry().kernel(kernel)
    result = profiled(requested_cell(declaration, device, options, USUAL_SIZE))
    if as_json:
        write_json(result.to_json())
    else:
        parts = [*([] if quiet else facts(result, auto=device == "auto")), *counts(result, coalescing)]
        if by_line:
            parts += ["", _line_table(result, declaration, coalescing)]
        if source:
            parts += ["", _source_table(result, declaration)]
        render(*parts, view=profile_view(result, coalescing))
    return 1 if result.violations else 0


def facts(profile: Profile, *, auto: bool) -> list[RenderableType]:
    """Return the launches; ``auto`` is true if mmcore chose the device."""
    return [f"{profile.launched.kernel}: {profile.launched.title}\n", fields([*profile.launched.facts(auto)]), ""]


def counts(profile: Profile, coalescing: str) -> list[RenderableType]:
    """Return the counters, and the ratios and rates that follow from these.

    ``coalescing`` is the unit of a warp's loads, "sectors" or "cc1x".
    """
    return [
        _counter_table(profile, coalescing),
        "",
        fields(ratio_rows(profile, coalescing)),
        *(["", *map(str, profile.violations)] if profile.violations else []),
    ]


def profile_view(profile: Profile, coalescing: str = "sectors") -> View:
    """Return the view of a profile, with the counts of each line of source below it."""
    ratios = ratio_rows(profile, coalescing)
    work = [f"{line.source}:{line.number}: {_work(counts, coalescing)}" for line, counts in profile.lines.items()]
    right = False if profile.violations else None
    return launched_view(profile.launched, "PROFILE", right, [*map(str, profile.violations), *work], ratios)


def table_of_counts(*headings: str, first: Sequence[str] = ()) -> Table:
    """Return an empty table with columns of numbers, after ``first`` columns of text."""
    table = Table(*first, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


COUNTER_COLUMNS = ("", "in all", "per block", "per thread")


def counter_rows(profile: Profile, coalescing: str = "sectors") -> Iterator[tuple[str, str, str, str]]:
    """Yield the name of each counter, and its count in all, per block and per thread."""
    counts = profile.counts(profile.counters)
    for name in NAMES:
        if name in _HIDDEN[coalescing]:
            continue
        total, title = counts[name], _TITLES.get(name, name.replace("_", " "))
        if total is None:
            yield title, "not counted", "", ""
        rows = {title: total} if total else {}
        rows |= {f"  {part}": count for part, count in _parts(profile.counters, name).items()}
        for row, count in rows.items():
            yield row, f"{count:,}", _number(count / profile.blocks), _number(count / profile.threads)


def ratio_rows(profile: Profile, coalescing: str = "sectors") -> list[tuple[str, str]]:
    """Return the ratios and rates that follow from the counters, by name."""
    return [*_ratios(profile, coalescing), *_rates(profile)]


def _counter_table(profile: Profile, coalescing: str) -> Table:
    name, *headings = COUNTER_COLUMNS
    table = table_of_counts(*headings, first=[name])
    for row in counter_rows(profile, coalescing):
        table.add_row(*row)
    return table


def _parts(counters: Counters, name: str) -> Mapping[str, int]:
    """Return the parts of a counter of tensor cores, by what they multiply."""
    if name == "tensor_flops":
        return counters.tensor_flops_by_type
    return _products(counters) if name == "tensor_instructions" else {}


def _products(counters: Counters) -> dict[str, int]:
    return {product.name: count for product, count in sorted(counters.products.items())}


def _rates(profile: Profile) -> list[tuple[str, str]]:
    rates = profile.rates()
    return [(title, f"{rate:.4g} {unit}") for title, name, unit in _RATES if (rate := rates[name]) is not None]


def _ratios(profile: Profile, coalescing: str) -> list[tuple[str, str]]:
    ratios = profile.ratios()
    if profile.counters.tensor_instructions:
        # Fused multiply-adds are few beside those of tensor cores.
        ratios["cgma"] = ratios["cgma_cc1x"] = None
    cgma = ("CGMA", "cgma", "fused multiply-adds per global sector loaded")
    if coalescing == "cc1x":
        several = profile.several_blocks
        times = ", times 4 as published: the profiler watched one of four clusters" if several else ", as published"
        cgma = ("CGMA", "cgma_cc1x", f"fused multiply-adds per load transaction of compute capability 1.2{times}")
    rows = ((title, ratios[name], unit) for title, name, unit in (cgma, *_RATIOS))
    return [(title, "" if value is None else f"{_number(value)} {unit}") for title, value, unit in rows]


def _line_table(profile: Profile, kernel: Kernel, coalescing: str) -> Table:
    """Return a table of each line of source that does anything, and below it what it does."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True, style="bold")
    table.add_column()
    for line, counters in profile.lines.items():
        text = source_line(kernel, *line)
        table.add_row(str(line.number), f"({line.source or 'no source'})" if text is None else text)
        table.add_row("", Text(_work(counters, coalescing), style="dim"))
    return table


def _work(counters: Counters, coalescing: str) -> str:
    """Return the counts of a line, each with its name."""
    counts = {
        title: sum(getattr(counters, name) for name in names)
        for title, names in _LINE_COUNTS.items()
        if title not in _HIDDEN[coalescing]
    }
    counts |= _products(counters)
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def _source_table(profile: Profile, kernel: Kernel) -> Table:
    """Return the kernel's file with the instructions of warps and tensor cores, sectors and bank conflicts."""
    columns = {"instr.": "warp_instructions", "sectors": "global_sectors", "conflicts": "shared_bank_conflicts"}
    if profile.counters.tensor_instructions:
        columns["tensor"] = "tensor_instructions"
    table = table_of_counts(*columns, "")
    table.add_column(kernel.source.name, overflow="fold")
    code = kernel.source_text().rstrip()
    for number, text in enumerate(Syntax(code, "cuda", theme="ansi_dark").highlight(code).split("\n"), start=1):
        counters = profile.lines.get(Line(kernel.source.name, number), Counters())
        counts = (getattr(counters, name) for name in columns.values())
        table.add_row(*(f"{count:,}" if count else "" for count in counts), str(number), text)
    return table


def _number(value: float) -> str:
    """Return whole numbers as such, others to four digits."""
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if value >= 1000 else f"{value:.4g}"

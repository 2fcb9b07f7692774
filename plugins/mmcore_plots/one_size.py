"""Figures of one size: bars, the best kernel on top, and the roofline, rates over work per byte asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from mmcore.cell import Cell as Asked
from mmcore.errors import MmcoreError
from mmcore.kernel.configs import parse_config
from mmcore.planning.peaks import peaks as known_peaks
from mmcore_emulator.api import profiled
from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.quantity import RATE, Quantity, caption, number, rate
from mmcore_plots.results import SECTOR_BYTES, Cell, Entry, InvalidResults, Results
from mmcore_plots.series import kernel_entries, plain
from mmcore_plots.style import INK, family_colors, looks

# More bars than this, and each kernel is drawn in its best config only.
_MOST_BARS = 24
# Bytes that the first-level cache of a multiprocessor hands over in a clock: NVIDIA's tuning guides by architecture.
_CACHE_BYTES_PER_CLOCK = {(7, 0): 128, (7, 5): 64, (8, 0): 128, (8, 6): 128, (8, 9): 128, (9, 0): 128, (10, 0): 128}
# Where float64's peak is that of the tensor cores: twice that of the other units.
_FLOAT64_TENSOR_CORES = ((8, 0), (9, 0))
# What a kernel does to a byte hardly changes beyond this size, and an emulator takes long.
_COUNTED_UP_TO = 256
# Sizes that differ by a multiple of this leave the same remainders, by every block and by a sector.
_MULTIPLE = 32
# Points of a roofline: markers through which those of other kernels are seen at the same place.
_HOLLOW: Mapping[str, Any] = {"markersize": 6.5, "fillstyle": "none", "markeredgewidth": 1.4, "linestyle": ""}


def by_size(results: Results) -> dict[int, list[Entry]]:
    """Kernel results by n, from small to large; InvalidResults where there are none of square products."""
    found: dict[int, list[Entry]] = {}
    for entry in sorted(kernel_entries(results), key=lambda entry: entry.cell.n):
        found.setdefault(entry.cell.n, []).append(entry)
    if not found:
        raise InvalidResults("there are no kernel results of square products to draw")
    return found


def at_size(results: Results, n: int | None) -> list[Entry]:
    """Kernel results at one n, by default the largest of those with the most kernels; InvalidResults for none."""
    found = by_size(results)
    if n is None:
        n = max(found, key=lambda n: (len({entry.cell.kernel for entry in found[n]}), n))
    if n not in found:
        raise InvalidResults(f"there are no kernel results at n = {n}; there are some at {', '.join(map(str, found))}")
    return found[n]


def best_configs(entries: Iterable[Entry], quantity: Quantity) -> list[Entry]:
    """Each kernel in the config that does best."""
    return list({entry.cell.kernel: entry for entry in sorted(entries, key=quantity.of)}.values())


def bars(results: Results, n: int | None = None) -> Drawing:
    """A bar for each kernel and config at one n; where they are many, for each kernel in its best config."""
    entries, quantity = at_size(results, n), rate(results)
    n, many = entries[0].cell.n, len(entries) > _MOST_BARS
    shown = sorted(best_configs(entries, quantity) if many else entries, key=quantity.of)
    # On every figure of a page the same.
    colors = family_colors(entry.cell.kernel for entry in results.entries)

    def panel(axes: Axes) -> None:
        values = [quantity.of(entry) for entry in shown]
        axes.grid(visible=False, axis="y")
        for place, (entry, value) in enumerate(zip(shown, values, strict=True)):
            axes.barh(place, value, height=0.72, color=colors[entry.cell.kernel])
            text = number(value, 3)
            axes.annotate(text, (value, place), (4, 0), textcoords="offset points", va="center", fontsize=8)
        axes.set_yticks(range(len(shown)), [_name(entry) for entry in shown])
        axes.tick_params(axis="y", length=0)
        axes.set(xlim=(0, 1.12 * max(values)), ylim=(-0.6, len(shown) - 0.4))
        axes.set_xlabel(quantity.label, color=INK)

    how = "" if results.emulated else f", {entries[0].cell.how} L2"
    usual = " float32 unless it says otherwise." if any(entry.dtype == "float32" for entry in shown) else ""
    title = f"{quantity.name} at n = {n}" + (", each kernel in its best config" if many else "")
    return Drawing(
        "bars",
        f"{results.title}: {title}" if results.whole else title,
        f"m = n = k = {n}{how}.{usual} {quantity.text} A colour for each lecture or package.",
        caption(results),
        (Panel("", panel, 0.55 + 0.235 * len(shown)),),
    )


def _name(entry: Entry) -> str:
    return entry.cell.label if entry.dtype == "float32" else f"{entry.cell.label}, {entry.dtype}"


def roofline(results: Results, n: int | None = None) -> Drawing:
    """Every kernel at one n, in its fastest config, under the ceilings of its GPU.

    Raises InvalidResults where the GPU's ceilings are not known, MmcoreError where a kernel cannot be counted here.
    """
    if results.emulated:
        raise InvalidResults("a roofline takes measured rates, and the emulator measures no time")
    entries = best_configs(at_size(results, n), RATE)
    n = entries[0].cell.n
    peaks, cache = ceilings(results.machine, sorted({entry.dtype for entry in entries}))
    points = {entry.cell.label: (_intensity(entry.cell), RATE.of(entry)) for entry in entries}
    look = looks({entry.cell.label: (entry.cell.kernel, "") for entry in sorted(entries, key=lambda e: e.cell.kernel)})

    def panel(axes: Axes) -> None:
        x, y = zip(*points.values(), strict=True)
        ends = min(x) / 2, max(x) * 2
        axes.set(xscale="log", yscale="log", xlim=ends, ylim=(min(y) / 2, 2.5 * max(peaks.values())))
        _draw_roofs(axes, peaks, cache, ends)
        for label, point in points.items():
            axes.plot(*point, label=label, color=look[label].color, marker=look[label].marker, **_HOLLOW)
        axes.xaxis.set_major_formatter(plain)
        axes.xaxis.set_minor_formatter("")
        axes.yaxis.set_major_formatter(plain)
        x_label = "useful flop (2·m·n·k) per byte of global sectors, as counted"
        axes.set(xlabel=x_label, ylabel="GFLOP/s, as measured")

    counted = "" if counted_size(n) == n else f" at n = {counted_size(n)}"
    return Drawing(
        "roofline",
        f"Roofline at n = {n}, each kernel in its fastest config",
        "Bytes are those of the 32-byte sectors that the warps' requests to global memory touch, before any cache, "
        f"as the emulator counts them{counted}: so the slanted roof is the first-level caches', not the memory's.",
        caption(results),
        (Panel("", panel, 4.2),),
    )


def counted_size(n: int) -> int:
    """The size whose counts stand for n: n itself, or a smaller one with the same remainders."""
    return n if n <= _COUNTED_UP_TO else _COUNTED_UP_TO - (-n % _MULTIPLE)


def _intensity(cell: Cell) -> float:
    """Useful flop per byte, as the emulator counts it."""
    config = {"block": list(cell.block), **(parse_config(cell.parameters) if cell.parameters else {})}
    for n in dict.fromkeys((counted_size(cell.n), cell.n)):
        try:
            counters = profiled(Asked(cell.kernel, n, n, n, config=config, device="emulator", seed=0)).counters
        except MmcoreError:
            if n == cell.n:
                raise
            continue
        if counters.global_sectors:
            return 2 * n**3 / (SECTOR_BYTES * counters.global_sectors)
    raise InvalidResults(f"{cell.kernel} touches no global memory, so it has no place on a roofline")


def ceilings(machine: Mapping[str, object], dtypes: Sequence[str]) -> tuple[dict[str, float], float | None]:
    """A GPU's peaks in GFLOP/s, by what they are of, and its first-level caches' GB/s, where that is known."""
    capability, clock, count = (machine.get(name) for name in ("compute_capability", "clock_mhz", "multiprocessors"))
    if not (isinstance(capability, list) and isinstance(clock, int) and isinstance(count, int)):
        raise InvalidResults("the results do not say which GPU they are of, so its ceilings are not known")
    known = tuple(capability)
    found = known_peaks(known, multiprocessors=count, clock_hz=clock * 1e6, bytes_per_second=1.0, cache_bytes=0)
    if found is None:
        raise InvalidResults(f"the ceilings of compute capability {'.'.join(map(str, capability))} are not known")
    in_tensor_cores = {dtype for dtype, flops in found.flops.items() if flops >= 4 * found.flops["float32"]}
    if known in _FLOAT64_TENSOR_CORES:
        in_tensor_cores.add("float64")
    named = {f"{dtype} in tensor cores" if dtype in in_tensor_cores else dtype: dtype for dtype in dtypes}
    per_clock = _CACHE_BYTES_PER_CLOCK.get(known)
    cache = None if per_clock is None else per_clock * count * clock * 1e-3
    return {name: found.flops[dtype] / 1e9 for name, dtype in named.items()}, cache


def _draw_roofs(axes: Axes, peaks: Mapping[str, float], cache: float | None, ends: tuple[float, float]) -> None:
    """Slanted as far as the highest peak, level from there on."""
    highest = max(peaks.values())
    for peak in dict.fromkeys(peaks.values()):
        names = " and of ".join(name for name, each in peaks.items() if each == peak)
        start = max(ends[0], peak / cache) if cache else ends[0]
        axes.plot([start, ends[1]], [peak, peak], color=INK, linewidth=1.2)
        text = f"peak of {names}: {peak / 1e3:.3g} TFLOP/s"
        axes.annotate(text, (ends[1], peak), (-3, 3), textcoords="offset points", ha="right", fontsize=8)
    if cache:
        corner = highest / cache
        axes.plot([ends[0], corner], [cache * ends[0], highest], color=INK, linewidth=1.2, linestyle="--")
        lower = ends[0] ** 0.75 * corner**0.25
        text = f"first-level caches: {cache / 1e3:.3g} TB/s"
        axes.annotate(text, (lower, cache * lower), (6, -9), textcoords="offset points", fontsize=8)

"""The choice of a figure, and the figures of one size: bars, the best kernel on top, and the roofline."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from matplotlib import rcParams
from matplotlib.axes import Axes

from mmcore.cell import Cell
from mmcore.errors import MmcoreError
from mmcore.kernel.configs import parse_config
from mmcore_cuda.peaks import peaks as known_peaks
from mmcore_emulator.adapter.api import profiled
from mmcore_tools.plots.drawing import PLAIN, Drawing, looks
from mmcore_tools.plots.ladder import ladder
from mmcore_tools.plots.results import RATE, SECTOR_BYTES, Entry, Results, at_size, best_configs, number
from mmcore_tools.plots.sweeps import blocks, remainders, sizes, transfers
from mmcore_tools.saved import InvalidResults

_OF_ONE_SIZE = ("ladder", "bars", "roofline")
_MOST_BARS = 24  # of more, only each kernel's best config is drawn
# Bytes that the first-level cache of a multiprocessor delivers in a clock, from NVIDIA's tuning guides.
_CACHE_BYTES_PER_CLOCK = {(7, 0): 128, (7, 5): 64, (8, 0): 128, (8, 6): 128, (8, 9): 128, (9, 0): 128, (10, 0): 128}
# Cards whose float64 peak is the tensor cores', twice the other units'.
_FLOAT64_TENSOR_CORES = ((8, 0), (9, 0))
_COUNTED_UP_TO = 256  # beyond this size flop per byte hardly change, and emulation takes long


def figure(results: Results, kind: str = "", size: int | None = None) -> Drawing:
    """Return a figure of some results: of a kind in :data:`KINDS`, or the :func:`usual_kind`.

    ``size`` is the n of a figure of one size; None for the largest n with the most kernels. Raises InvalidResults if
    the results do not fit the kind.
    """
    kind = kind or usual_kind(results)
    if kind not in KINDS:
        raise InvalidResults(f"there is no figure {kind!r}; there are {', '.join(KINDS)}")
    if size is None:
        return KINDS[kind](results)
    if kind not in _OF_ONE_SIZE:
        raise InvalidResults(f"a figure of {kind} is not of one size; leave --size out")
    return KINDS[kind](results, size)


def figures(results: Results) -> list[Drawing]:
    """Return the figures of a page: an experiment's, or bars at every size."""
    kind = usual_kind(results)
    found = sorted({entry.n for entry in results.kernel_entries}) if kind == "bars" else ()
    return [figure(results, kind, n) for n in found or (None,)]


def usual_kind(results: Results) -> str:
    """Return the kind of figure that fits the sizes and configs of an experiment; bars for other results."""
    if not results.experiment:
        return "bars"
    if any(entry.measure == "end-to-end" for entry in results.entries):
        return "transfers"
    entries = results.kernel_entries
    found = sorted({entry.n for entry in entries})
    if results.baseline:
        return "sizes" if len(found) > 1 else "ladder"
    if any(there - here == 1 for here, there in pairwise(found)):
        return "remainders"
    configs = {entry.config for entry in entries} | {each.config for each in results.skipped}
    if len(found) > 1 and len(configs) > 1:
        return "sizes"
    return "blocks" if len(configs) > len({entry.kernel for entry in entries}) else "bars"


def bars(results: Results, n: int | None = None) -> Drawing:
    """Draw a bar for each kernel and config at one n, or only for each kernel in its best config if there are many."""
    entries, quantity = at_size(results, n), results.rate
    n, many = entries[0].n, len(entries) > _MOST_BARS
    shown = sorted(best_configs(entries, quantity) if many else entries, key=quantity.of)
    # The same colours in every figure of a page.
    families = sorted({entry.kernel.partition(".")[0] for entry in results.entries})

    def panel(axes: Axes) -> None:
        values = [quantity.of(entry) for entry in shown]
        names = [entry.label + (f", {entry.dtype}" if entry.dtype != "float32" else "") for entry in shown]
        colors = [f"C{families.index(entry.kernel.partition('.')[0])}" for entry in shown]
        drawn = axes.barh(range(len(shown)), values, 0.72, color=colors, tick_label=names)
        axes.bar_label(drawn, [number(value, 3) for value in values], padding=4, fontsize=8)
        axes.grid(visible=False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.set(xlabel=quantity.label, xlim=(0, 1.12 * max(values)), ylim=(-0.6, len(shown) - 0.4))

    how = "" if results.emulated else f", {entries[0].how} L2"
    usual = " float32 unless it says otherwise." if any(entry.dtype == "float32" for entry in shown) else ""
    title = f"{quantity.name} at n = {n}" + (", each kernel in its best config" if many else "")
    return Drawing(
        f"{results.title}: {title}" if results.whole else title,
        f"m = n = k = {n}{how}.{usual} {quantity.text} A colour for each lecture or package.",
        results.caption,
        {"": panel},
        height=0.55 + 0.235 * len(shown),
    )


def roofline(results: Results, n: int | None = None) -> Drawing:
    """Draw every kernel at one n, in its fastest config, under the ceilings of its GPU.

    Raises InvalidResults if the GPU's ceilings are unknown, MmcoreError if a kernel cannot be emulated.
    """
    if results.emulated:
        raise InvalidResults("a roofline takes measured rates, and the emulator measures no time")
    entries = best_configs(at_size(results, n), RATE)
    n = entries[0].n
    peaks, cache = ceilings(results.machine, sorted({entry.dtype for entry in entries}))
    points = {entry.label: (_intensity(entry), RATE.of(entry)) for entry in entries}
    look = looks({entry.label: (entry.kernel, "") for entry in sorted(entries, key=lambda each: each.kernel)})

    def panel(axes: Axes) -> None:
        x, y = zip(*points.values(), strict=True)
        ends = min(x) / 2, max(x) * 2
        axes.set(xscale="log", yscale="log", xlim=ends, ylim=(min(y) / 2, 2.5 * max(peaks.values())))
        _draw_roofs(axes, peaks, cache, ends)
        for label, point in points.items():
            axes.plot(*point, label=label, **look[label].points)
        axes.xaxis.set_major_formatter(PLAIN)
        axes.xaxis.set_minor_formatter("")
        axes.yaxis.set_major_formatter(PLAIN)
        axes.set(xlabel="useful flop (2·m·n·k) per byte of global sectors, as counted", ylabel="GFLOP/s, as measured")

    counted = "" if counted_size(n) == n else f" at n = {counted_size(n)}"
    return Drawing(
        f"Roofline at n = {n}, each kernel in its fastest config",
        "Bytes are those of the 32-byte sectors that the warps' requests to global memory touch, before any cache, "
        f"as the emulator counts them{counted}: so the slanted roof is the first-level caches', not the memory's.",
        results.caption,
        {"": panel},
        height=4.2,
    )


def counted_size(n: int) -> int:
    """Return the size to emulate for n: n itself, or a smaller one with the same remainder by 32."""
    return n if n <= _COUNTED_UP_TO else _COUNTED_UP_TO - (-n % 32)


def _intensity(entry: Entry) -> float:
    """Return the useful flop per byte that the emulator counts, at n itself if a smaller size is not allowed."""
    try:
        return _counted(entry, counted_size(entry.n))
    except MmcoreError:
        return _counted(entry, entry.n)


def _counted(entry: Entry, n: int) -> float:
    config = {"block": list(entry.block), **(parse_config(entry.parameters) if entry.parameters else {})}
    sectors = profiled(Cell(entry.kernel, n, n, n, config=config, device="emulator", seed=0)).counters.global_sectors
    if not sectors:
        raise InvalidResults(f"{entry.kernel} touches no global memory, so it has no place on a roofline")
    return 2 * n**3 / (SECTOR_BYTES * sectors)


def ceilings(machine: Mapping[str, object], dtypes: Sequence[str]) -> tuple[dict[str, float], float]:
    """Return a GPU's peaks in GFLOP/s by name, and its first-level caches' GB/s, infinite if unknown."""
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
    cache = _CACHE_BYTES_PER_CLOCK.get(known, math.inf) * count * clock * 1e-3
    return {name: found.flops[dtype] / 1e9 for name, dtype in named.items()}, cache


def _draw_roofs(axes: Axes, peaks: Mapping[str, float], cache: float, ends: tuple[float, float]) -> None:
    """Draw a roof for each peak: slanted up to the peak, level from there on."""
    for peak in dict.fromkeys(peaks.values()):
        roof = [ends[0], max(ends[0], peak / cache), ends[1]]
        axes.plot(roof, [min(peak, cache * x) for x in roof], color=rcParams["axes.edgecolor"], linewidth=1.2)
        names = " and of ".join(name for name, each in peaks.items() if each == peak)
        text = f"peak of {names}: {peak / 1e3:.3g} TFLOP/s"
        axes.annotate(text, (ends[1], peak), (-3, 3), textcoords="offset points", ha="right", fontsize=8)
    lower = ends[0] ** 0.75 * (max(peaks.values()) / cache) ** 0.25
    if lower:
        text = f"first-level caches: {cache / 1e3:.3g} TB/s"
        axes.annotate(text, (lower, cache * lower), (6, -9), textcoords="offset points", fontsize=8)


KINDS: Mapping[str, Callable[..., Drawing]] = {
    each.__name__: each for each in (sizes, remainders, transfers, blocks, ladder, bars, roofline)
}
"""The functions that draw each kind of figure, by the kind's name."""

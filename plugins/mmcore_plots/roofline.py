"""The roofline: each kernel's rate over how much it computes for a byte that it asks global memory for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mmcore_emulator.api import profile
from mmcore.errors import InvalidResults, MmcoreError
from mmcore.planning.peaks import peaks
from mmcore_plots.bars import at_size, best_blocks
from mmcore_plots.drawing import Drawing, Panel
from mmcore_plots.quantity import RATE, caption, intensity
from mmcore_plots.results import COUNTS, Entry, Results
from mmcore_plots.series import plain
from mmcore_plots.style import FAINT, INK, families, family

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND = "roofline"

# Bytes that the first-level cache of a multiprocessor hands over in a clock: NVIDIA's tuning guides by architecture.
_CACHE_BYTES_PER_CLOCK = {(7, 0): 128, (7, 5): 64, (8, 0): 128, (8, 6): 128, (8, 9): 128, (9, 0): 128, (10, 0): 128}
# What a kernel does to a byte hardly changes beyond this size, and an emulator takes long.
_COUNTED_UP_TO = 256
# Sizes that differ by a multiple of this leave the same remainders, by every block and by a sector.
_MULTIPLE = 32
# Height of a name in the column, as a share of the axes'.
_LINE = 0.058


@dataclass(frozen=True)
class Roofs:
    """A GPU's ceilings.

    Attributes:
        gflops: by element type.
        cache_gb_per_second: what the first-level caches hand over; None where it is not known.
    """

    gflops: Mapping[str, float]
    cache_gb_per_second: float | None


@dataclass(frozen=True)
class Place:
    """Where a kernel stands."""

    entry: Entry
    intensity: float


def drawing(results: Results, n: int) -> Drawing:
    """Every kernel at one n, in its fastest block, under the ceilings of its GPU.

    Raises:
        InvalidResults: there are no times at that size, or the GPU's ceilings are not known.
        MmcoreError: a kernel can not be counted here, because it is not installed.
    """
    if results.emulated:
        raise InvalidResults("a roofline takes measured rates, and the emulator keeps no time")
    roofs = _roofs(results.machine)
    places = [Place(entry, _intensity(entry)) for entry in best_blocks(at_size(results, n), RATE)]
    counted = counted_size(n)
    where = "" if counted == n else f" at n = {counted}"
    return Drawing(
        KIND,
        f"Roofline at n = {n}, each kernel in its fastest block",
        "Bytes are those of the 32-byte sectors that the warps' requests to global memory touch, before any cache, "
        f"as the emulator counts them{where}: so the slanted roof is the first-level caches', not the memory's.",
        caption(results),
        (Panel("", partial(_panel, places, families(each.cell.kernel for each in results.entries), roofs), 4.2),),
        n=n,
    )


def counted_size(n: int) -> int:
    """The size whose counts stand for n: n itself, or a smaller one with the same remainders."""
    if n <= _COUNTED_UP_TO:
        return n
    return _COUNTED_UP_TO - _MULTIPLE + n % _MULTIPLE if n % _MULTIPLE else _COUNTED_UP_TO


def _intensity(entry: Entry) -> float:
    """Floating-point operations per byte, as the results have it or as the emulator counts it now."""
    if entry.counts.keys() >= set(COUNTS):
        return intensity(entry)
    cell = entry.cell
    for size in (counted_size(cell.n), cell.n):
        try:
            counted = profile(cell.kernel, size, block=cell.block, seed=0).ratios()["arithmetic_intensity"]
        except MmcoreError:
            if size == cell.n:
                raise
            continue
        if counted:
            return counted
    raise InvalidResults(f"{cell.kernel} touches no global memory, so it has no place on a roofline")


def _roofs(machine: Mapping[str, object]) -> Roofs:
    capability, clock, count = (machine.get(name) for name in ("compute_capability", "clock_mhz", "multiprocessors"))
    if not (isinstance(capability, list) and isinstance(clock, int) and isinstance(count, int)):
        raise InvalidResults("the results do not say which GPU they are of, so its ceilings are not known")
    known = tuple(capability)
    found = peaks(known, multiprocessors=count, clock_hz=clock * 1e6, bytes_per_second=1.0, cache_bytes=0)
    if found is None:
        version = ".".join(map(str, capability))
        raise InvalidResults(f"the ceilings of compute capability {version} are not known")
    per_clock = _CACHE_BYTES_PER_CLOCK.get(known)
    cache = None if per_clock is None else per_clock * count * clock * 1e-3
    return Roofs({dtype: flops / 1e9 for dtype, flops in found.flops.items()}, cache)


def _panel(places: Sequence[Place], fills: Mapping[str, str], roofs: Roofs, axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    rates = [RATE.of(place.entry) for place in places]
    lowest, left = min(rates) / 2, min(place.intensity for place in places) / 2
    right = max(place.intensity for place in places) * 3
    axes.set_xlim(left, right)
    axes.set_ylim(lowest, 2.5 * max(roofs.gflops[place.entry.dtype] for place in places))
    _draw_roofs(axes, {place.entry.dtype for place in places}, roofs, (left, right))
    for place, rate in zip(places, rates, strict=True):
        color = fills[family(place.entry.cell.kernel)]
        axes.plot(place.intensity, rate, marker="o", color=color, linestyle="", zorder=3)
    _draw_names(axes, places)
    axes.xaxis.set_major_formatter(plain)
    axes.xaxis.set_minor_formatter("")
    axes.yaxis.set_major_formatter(plain)
    axes.set_xlabel("floating-point operations per byte of global sectors (as counted)")
    axes.set_ylabel("GFLOP/s (as measured)")


def _draw_roofs(axes: Axes, dtypes: set[str], roofs: Roofs, ends: tuple[float, float]) -> None:
    """Slanted as far as the highest peak, level from there on."""
    by_peak: dict[float, list[str]] = {}
    for dtype in sorted(dtypes):
        by_peak.setdefault(roofs.gflops[dtype], []).append(dtype)
    cache = roofs.cache_gb_per_second
    for peak, names in by_peak.items():
        start = max(ends[0], peak / cache) if cache else ends[0]
        axes.plot([start, ends[1]], [peak, peak], color=INK, linewidth=1.2)
        text = f"{' and '.join(names)} peak: {peak / 1e3:.3g} TFLOP/s"
        axes.annotate(text, (ends[1], peak), (-3, 3), textcoords="offset points", ha="right", fontsize=8)
    if cache:
        corner = max(by_peak) / cache
        axes.plot([ends[0], corner], [cache * ends[0], max(by_peak)], color=INK, linewidth=1.2, linestyle="--")
        text = f"first-level caches: {cache / 1e3:.3g} TB/s"
        lower = ends[0] ** 0.75 * corner**0.25
        axes.annotate(text, (lower, cache * lower), (6, -9), textcoords="offset points", fontsize=8)


def _draw_names(axes: Axes, places: Sequence[Place]) -> None:
    """The kernels' names in a column on the right, each with a thin line to its point, so that none hides another."""
    ordered = sorted(places, key=lambda place: RATE.of(place.entry))
    low, high = (math.log(value) for value in axes.get_ylim())
    wanted = [(math.log(RATE.of(place.entry)) - low) / (high - low) for place in ordered]
    for place, height in zip(ordered, _spread(wanted), strict=True):
        point = (place.intensity, RATE.of(place.entry))
        axes.annotate(
            f"{place.entry.cell.kernel}, b={place.entry.cell.edge}",
            point,
            (1.02, height),
            textcoords="axes fraction",
            va="center",
            fontsize=7.5,
            arrowprops={
                "arrowstyle": "-",
                "color": FAINT,
                "linewidth": 0.6,
                "shrinkA": 1,
                "shrinkB": 3,
                "relpos": (0, 0.5),
            },
            annotation_clip=False,
        )


def _spread(heights: Sequence[float]) -> list[float]:
    """Ascending heights from 0 to 1, moved as little as it takes that none is closer than a line to the next."""
    apart = min(_LINE, 1 / max(1, len(heights) - 1))
    spread = list(heights)
    for index in range(1, len(spread)):
        spread[index] = max(spread[index], spread[index - 1] + apart)
    ceiling = 1.0
    for index in range(len(spread) - 1, -1, -1):
        spread[index] = min(spread[index], ceiling)
        ceiling = spread[index] - apart
    return spread

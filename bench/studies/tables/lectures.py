"""The lectures on the H200: times of every kernel beside the published ones, and their presets."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from bench.studies.study import ROOT
from bench.studies.tables.table import percent
from mmcore_cuda.occupancy.theoretical import occupancy
from mmcore_tools.plots.published import published

OF_CUBLAS = 3
"""The place of of-cublas.json among the files of times."""


class Point(NamedTuple):
    """A figure's subject: m = n = k, square blocks, and a measure such as "kernel warm" or "end-to-end pinned"."""

    kernel: str
    n: int
    block: int
    measure: str = "kernel warm"


def point_of(benchmark: Mapping[str, Any]) -> Point:
    """Return the subject of a saved benchmark."""
    info = benchmark["extra_info"]
    how = info["memory"] if info["measure"] == "end-to-end" else info["caches"]
    return Point(info["kernel"], info["problem"]["n"], info["config"]["block"][0], f"{info['measure']} {how}")


def measured(*documents: Mapping[str, Any]) -> dict[Point, float]:
    """Return median times in seconds."""
    return {point_of(each): float(each["stats"]["median"]) for found in documents for each in found["benchmarks"]}


def printed() -> dict[Point, float]:
    """Return the lectures' own times in seconds."""
    return {point: seconds for point, _, seconds in printed_rows()}


def printed_rows() -> list[tuple[Point, str, float]]:
    """Return the lectures' own figures: subject, GPU, seconds."""
    return [(Point(x.kernel, x.n, x.block, f"{x.measure} {x.how}"), x.gpu, x.ms / 1e3) for x in published()]


SIZES = (640, 641, 1024, 2048, 3200)
Cells: TypeAlias = Iterator[Sequence[str]]
_NONE = Point("", 0, 0)


def best_times(*documents: Any) -> Cells:
    """Yield every kernel at 640 and 3200 in its fastest block, with its lecture's time at 640."""
    seconds, of_cublas = measured(*documents), documents[OF_CUBLAS]
    shares = {point_of(each): each["extra_info"]["percent_of_baseline"] for each in of_cublas["benchmarks"]}
    warm = [each for each in printed_rows() if each[0].measure == "kernel warm" and each[0].n == 640]
    fastest = {each[0].kernel: each for each in sorted(warm, key=lambda each: -each[2])}
    # The fastest block is the last of its kernel and size.
    ordered = sorted(seconds, key=lambda point: -seconds[point])
    best = {(point.kernel, point.n): point for point in ordered if point.measure == "kernel warm"}
    for kernel in sorted({point.kernel for point in seconds}, key=lambda kernel: (seconds[best[kernel, 640]], kernel)):
        points = [best.get((kernel, n), _NONE) for n in (640, 3200)]
        cells = [cell for point in points for cell in _time_and_rate(point, seconds)]
        share = f"{shares[points[1]]:.0f} %" if points[1] in shares else ""
        point, gpu, then = fastest.get(kernel, (_NONE, "", 0.0))
        lecture = f"{then * 1e6:.0f} ({gpu}, b={point.block})" if then else ""
        yield [kernel, *cells, share, lecture]


def _time_and_rate(point: Point, seconds: Mapping[Point, float]) -> list[str]:
    if point is _NONE:
        return ["", "", ""]
    return [str(point.block), in_us(seconds[point]), f"{2 * point.n**3 / seconds[point] / 1e9:.0f}"]


def in_us(seconds: float) -> str:
    """Return a time in µs."""
    microseconds = seconds * 1e6
    return f"{microseconds:.1f}" if microseconds < 1e4 else f"{microseconds:.0f}"


def by_size(measures: Sequence[str], *documents: Any) -> Cells:
    """Yield times by kernel, block and size, where the last of the measures was taken."""
    seconds = measured(*documents)
    pairs = {(point.kernel, point.block) for point in seconds if point.measure == measures[-1] and point.n in SIZES}
    for kernel, block in sorted(pairs):
        times = [[seconds.get(Point(kernel, n, block, measure)) for measure in measures] for n in SIZES]
        yield [kernel, str(block), *(" / ".join(in_us(time) for time in each if time) for each in times)]


def then_and_now(*documents: Any) -> Iterator[dict[str, Any]]:
    seconds = measured(*documents)
    for point, gpu, then in printed_rows():
        if point in seconds:
            what = "kernel" if point.measure == "kernel warm" else point.measure
            now = {"then": then * 1e3, "now": seconds[point] * 1e3, "ratio": then / seconds[point]}
            yield {**point._asdict(), "what": what, "gpu": gpu, **now}


def copies(*documents: Any) -> Cells:
    """Yield the share of the copies in UPC's end-to-end times."""
    then, now = printed(), measured(*documents)
    for point in sorted(point for point in then if point.measure.startswith("end-to-end")):
        kernel = point._replace(measure="kernel warm")
        if point in now and kernel in now:
            shares = [percent(1 - seconds[kernel] / seconds[point]) for seconds in (then, now)]
            yield [point.kernel, str(point.n), str(point.block), point.measure.partition(" ")[2], *shares]


def sizes(document: Any) -> Cells:
    """Yield the highest rate of each kernel and block, and the n from which it reaches 90 % of it."""
    for (kernel, block), rates in _by_series(document).items():
        n = max(rates, key=lambda n: rates[n])
        slow = [each for each, rate in rates.items() if rate < 0.9 * rates[n]]
        steady = min(each for each in rates if each > max(slow, default=0))
        yield [kernel, str(block), f"{rates[n]:.0f}", str(n), str(steady)]


def remainders(document: Any) -> Cells:
    """Yield median rates where n is a multiple of b, one more than a multiple, and anything else."""
    for (kernel, block), rates in _by_series(document).items():
        parts = [
            [rate for n, rate in rates.items() if n % block in residues] for residues in ([0], [1], range(2, block))
        ]
        lowest = min(rates, key=lambda n: rates[n])
        medians = [f"{statistics.median(each):.0f}" for each in parts]
        yield [kernel, str(block), *medians, f"{rates[lowest]:.0f}", str(lowest)]


def _by_series(document: Any) -> dict[tuple[str, int], dict[int, float]]:
    """Return a preset's rates by kernel and block, and by size, in order."""
    series: dict[tuple[str, int], dict[int, float]] = {}
    for point, rate in sorted((point_of(each), each["extra_info"]["gflops"]) for each in document["benchmarks"]):
        series.setdefault((point.kernel, point.block), {})[point.n] = rate
    return series


def transfers(document: Any) -> Cells:
    """Yield the share of the copies in the end-to-end time, by n."""
    seconds = {(point.kernel, point.n, point.measure): each for point, each in measured(document).items()}
    for kernel, n in sorted({(kernel, n) for kernel, n, _ in seconds}):
        whole = [seconds[kernel, n, f"end-to-end {memory}"] for memory in ("pageable", "pinned")]
        shares = [percent(1 - seconds[kernel, n, "kernel warm"] / each) for each in whole]
        yield [kernel, str(n), *shares, f"{whole[0] / whole[1]:.2f}"]


def coalescing(document: Any) -> Cells:
    """Yield rates with x along the rows and along the columns, in double precision."""
    rates = {(kernel, n): rate for (kernel, _), each in _by_series(document).items() for n, rate in each.items()}
    for n in sorted({n for _, n in rates}):
        pairs = [(rates[f"lezione9.{name}", n], rates[f"mmcore.{name}_columns", n]) for name in ("kernel1", "kernel2")]
        cells = [(f"{rows:.0f}", f"{columns:.0f}", f"{columns / rows:.1f}") for rows, columns in pairs]
        yield [str(n), *cells[0], *cells[1]]


def occupancies() -> Cells:
    """Yield the report's occupancy for compute capability 1.2, and mmcore's where they differ."""
    names = ("limit_blocks_warps", "limit_blocks_registers", "limit_blocks_shared", "active_blocks")
    with (ROOT / "tests" / "data" / "poznan_occupancy.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            threads, registers, shared = (
                int(row[name]) for name in ("threads_per_block", "registers_per_thread", "shared_bytes_per_block")
            )
            found = occupancy((1, 2), threads=threads, registers=registers, shared_bytes=shared)
            ours = [found.limit_warps, found.limit_registers, found.limit_shared, found.active_blocks]
            if row["version"] == "v1":
                # A grid of one block: the report prints no limits for it.
                ours = [1]
            was = [row[name] for name in names if row[name]]
            cells = [
                then if then == str(now) else f"**{then}**, calculated {now}"
                for then, now in zip(was, ours, strict=True)
            ]
            block = f"{row['block']}×{row['block']}"
            yield [row["version"], block, str(registers), str(shared), *([""] * (4 - len(cells))), *cells]


def cgma(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the report's CGMA beside the emulator's, with the coalescing of compute capability 1.2."""
    for row in document["cgma"]:
        yield row | {"difference": round(100 * (row["counted"] / float(row["printed"]) - 1), 1) + 0.0}

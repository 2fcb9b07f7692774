"""The lectures on the H200: times of every kernel beside the published ones, and their presets."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from bench.studies.tables.markdown import in_gflops, in_us, markdown
from bench.studies.tables.sources import Measured, Point, baseline_seconds, percents_of_cublas, preset, published_points

SIZES = (640, 641, 1024, 2048, 3200)


def best_kernel_times() -> str:
    """Return every kernel at 640 and 3200 in its fastest block, with its lecture's time at 640."""
    seconds, of_cublas = baseline_seconds(), percents_of_cublas()
    printed = {(point.kernel, point.n): (gpu, ms, point) for point, gpu, ms in _best_published()}
    rows = []
    for kernel in sorted({point.kernel for point in seconds}):
        cells = [kernel]
        for n in (640, 3200):
            best = _best(seconds, kernel, n)
            cells += (
                ["", "", ""] if best is None else [str(best.block), in_us(seconds[best]), in_gflops(n, seconds[best])]
            )
        percent = of_cublas.get(best) if best else None
        cells.append("" if percent is None else f"{percent:.0f} %")
        gpu, time, point = printed.get((kernel, 640), ("", 0.0, None))
        cells.append("" if point is None else f"{time * 1e6:.0f} ({gpu}, b={point.block})")
        rows.append((seconds.get(_best(seconds, kernel, 640) or Point("", 0, 0, ""), 0.0), cells))
    header = "kernel | b at 640 | µs | GFLOP/s | b at 3200 | µs | GFLOP/s | of cuBLAS | the lecture's µs at 640"
    return markdown(header, [cells for _, cells in sorted(rows, key=lambda row: row[0])])


def _best(seconds: dict[Point, float], kernel: str, n: int) -> Point | None:
    points = [point for point in seconds if point[:2] == (kernel, n) and point.measure == "kernel warm"]
    return min(points, key=lambda point: seconds[point], default=None)


def _best_published() -> Iterable[tuple[Point, str, float]]:
    kernel_times = [each for each in published_points() if each[0].measure == "kernel warm"]
    return sorted(kernel_times, key=lambda each: -each[2])


def kernel_times() -> str:
    """Return kernel times by kernel, block and size."""
    return _by_size(lambda point: point.measure == "kernel warm", ("kernel warm",))


def end_to_end_times() -> str:
    """Return end-to-end times by kernel, block and size, pageable and pinned."""
    return _by_size(lambda point: point.measure == "end-to-end pinned", ("end-to-end pageable", "end-to-end pinned"))


def _by_size(wanted: Callable[[Point], bool], measures: Sequence[str]) -> str:
    seconds = baseline_seconds()
    pairs = sorted({(point.kernel, point.block) for point in seconds if wanted(point) and point.n in SIZES})
    rows = []
    for kernel, block in pairs:
        times = [[seconds.get(Point(kernel, n, block, measure)) for measure in measures] for n in SIZES]
        rows.append([kernel, str(block), *(" / ".join(in_us(time) for time in each if time) for each in times)])
    return markdown(" | ".join(("kernel", "b", *(f"n = {n}" for n in SIZES))), rows)


def then_and_now() -> str:
    """Return every published figure beside the H200's."""
    seconds = baseline_seconds()
    rows = []
    for point, gpu, then in published_points():
        now = seconds.get(point)
        if now is not None:
            what = "kernel" if point.measure == "kernel warm" else point.measure
            figures = [f"{then * 1e3:.3f}", f"{now * 1e3:.4f}", f"{then / now:.0f}"]
            rows.append([point.kernel, str(point.n), str(point.block), what, gpu, *figures])
    return markdown("kernel | n | b | time | the lecture's GPU | its ms | H200, ms | ratio", rows)


def copies() -> str:
    """Return the share of the copies in UPC's end-to-end times."""
    then, now = {point: seconds for point, _, seconds in published_points()}, baseline_seconds()
    rows = []
    for point in sorted(point for point in then if point.measure.startswith("end-to-end")):
        kernel = point._replace(measure="kernel warm")
        if point in now and kernel in now:
            shares = [f"{100 * (1 - seconds[kernel] / seconds[point]):.0f} %" for seconds in (then, now)]
            rows.append([point.kernel, str(point.n), str(point.block), point.measure.partition(" ")[2], *shares])
    return markdown("kernel | n | b | host memory | share of the copies then | H200", rows)


def sizes() -> str:
    """Return the highest rate of each kernel and block, and the n from which it reaches 90 % of it."""
    rows = []
    for (kernel, block), cells in _by_series("upc-sizes").items():
        best = max(cells, key=lambda cell: cell.gflops)
        slow = [cell.point.n for cell in cells if cell.gflops < 0.9 * best.gflops]
        steady = min(cell.point.n for cell in cells if cell.point.n > max(slow, default=0))
        rows.append([kernel, str(block), f"{best.gflops:.0f}", str(best.point.n), str(steady)])
    return markdown("kernel | b | highest GFLOP/s | at n | 90 % of it from n on", rows)


def remainders() -> str:
    """Return median rates where n is a multiple of b, one more than a multiple, and anything else."""
    rows = []
    for (kernel, block), cells in _by_series("upc-remainders").items():
        rates = [
            [cell.gflops for cell in cells if cell.point.n % block in residues]
            for residues in ([0], [1], range(2, block))
        ]
        lowest = min(cells, key=lambda cell: cell.gflops)
        medians = [f"{statistics.median(each):.0f}" for each in rates]
        rows.append([kernel, str(block), *medians, f"{lowest.gflops:.0f}", str(lowest.point.n)])
    return markdown("kernel | b | at multiples of b | one more | anywhere else | lowest GFLOP/s | at n", rows)


def transfers() -> str:
    """Return the share of the copies in the end-to-end time, by n."""
    seconds = {(cell.point.kernel, cell.point.n, cell.point.measure): cell.seconds for cell in preset("upc-transfers")}
    rows = []
    for kernel, n in sorted({(kernel, n) for kernel, n, _ in seconds}):
        whole = [seconds[kernel, n, f"end-to-end {memory}"] for memory in ("pageable", "pinned")]
        shares = [f"{100 * (1 - seconds[kernel, n, 'kernel warm'] / each):.0f} %" for each in whole]
        rows.append([kernel, str(n), *shares, f"{whole[0] / whole[1]:.2f}"])
    return markdown("kernel | n | share of the copies, pageable | pinned | pinned: times faster in all", rows)


def coalescing() -> str:
    """Return rates with x along the rows and along the columns, in double precision."""
    rates = {(cell.point.kernel, cell.point.n): cell.gflops for cell in preset("lezione9-coalescing")}
    rows = []
    for n in sorted({n for _, n in rates}):
        cells = [str(n)]
        for kernel in ("kernel1", "kernel2"):
            along_rows, along_columns = rates[f"lezione9.{kernel}", n], rates[f"mmcore.{kernel}_columns", n]
            cells += [f"{along_rows:.0f}", f"{along_columns:.0f}", f"{along_columns / along_rows:.1f}"]
        rows.append(cells)
    header = [f"{kernel}, {what}" for kernel in ("kernel1", "kernel2") for what in ("rows", "columns", "times faster")]
    return markdown(" | ".join(("n", *header)), rows)


def _by_series(name: str) -> dict[tuple[str, int], list[Measured]]:
    """Return a preset's cells by kernel and block, small products first."""
    series: dict[tuple[str, int], list[Measured]] = {}
    for cell in preset(name):
        series.setdefault((cell.point.kernel, cell.point.block), []).append(cell)
    return series

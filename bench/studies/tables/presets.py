"""The lectures' presets on the H200, in figures."""

from __future__ import annotations

import statistics

from bench.studies.tables.markdown import markdown
from bench.studies.tables.sources import Measured, preset


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

"""The lectures' experiments on the H200, in figures."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from bench.tables.markdown import markdown
from bench.tables.sources import Measured, experiment


def sizes() -> str:
    """The highest rate of each kernel and block, and from which n on it is nearly reached."""
    rows = []
    for (kernel, block), cells in _by_series(experiment("upc-sizes")).items():
        best = max(cells, key=lambda cell: cell.gflops)
        slow = [cell.n for cell in cells if cell.gflops < 0.9 * best.gflops]
        steady = min(cell.n for cell in cells if cell.n > max(slow, default=0))
        rows.append([kernel, str(block), f"{best.gflops:.0f}", str(best.n), str(steady)])
    return markdown(("kernel", "b", "highest GFLOP/s", "at n", "90 % of it from n on"), rows)


def remainders() -> str:
    """Median rates where n is a multiple of b, one more than that, and anything else."""
    rows = []
    for (kernel, block), cells in _by_series(experiment("upc-remainders")).items():
        rates = [
            [cell.gflops for cell in cells if cell.n % block in residues] for residues in ([0], [1], range(2, block))
        ]
        lowest = min(cells, key=lambda cell: cell.gflops)
        medians = [f"{statistics.median(each):.0f}" for each in rates]
        rows.append([kernel, str(block), *medians, f"{lowest.gflops:.0f}", str(lowest.n)])
    return markdown(("kernel", "b", "at multiples of b", "one behind", "anywhere else", "lowest GFLOP/s", "at n"), rows)


def transfers() -> str:
    """Share of the copies in the global time, against n."""
    seconds = {(cell.kernel, cell.n, cell.measure): cell.seconds for cell in experiment("upc-transfers")}
    rows = []
    for kernel, n in sorted({(kernel, n) for kernel, n, _ in seconds}):
        whole = [seconds[kernel, n, f"global {memory}"] for memory in ("pageable", "pinned")]
        shares = [f"{100 * (1 - seconds[kernel, n, 'kernel'] / each):.0f} %" for each in whole]
        rows.append([kernel, str(n), *shares, f"{whole[0] / whole[1]:.2f}"])
    header = ("kernel", "n", "share of the copies, pageable", "pinned", "pinned: times faster in all")
    return markdown(header, rows)


def coalescing() -> str:
    """x along the rows against x along the columns, in double precision."""
    rates = {(cell.kernel, cell.n): cell.gflops for cell in experiment("lezione9-coalescing")}
    rows = []
    for n in sorted({n for _, n in rates}):
        cells = [str(n)]
        for kernel in ("kernel1", "kernel2"):
            along_rows, along_columns = rates[f"lezione9.{kernel}", n], rates[f"mmcore.{kernel}_columns", n]
            cells += [f"{along_rows:.0f}", f"{along_columns:.0f}", f"{along_columns / along_rows:.1f}"]
        rows.append(cells)
    header = [f"{kernel}, {what}" for kernel in ("kernel1", "kernel2") for what in ("rows", "columns", "times faster")]
    return markdown(("n", *header), rows)


def _by_series(cells: Iterable[Measured]) -> dict[tuple[str, int], list[Measured]]:
    """Cells by kernel and block, small products first."""
    series: dict[tuple[str, int], list[Measured]] = {}
    for cell in sorted(cells):
        series.setdefault((cell.kernel, cell.block), []).append(cell)
    return series

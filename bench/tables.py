"""The documentation's tables of figures, made from the committed results.

``python bench/tables.py`` writes them between their markers in README.md and docs/; a test tells when a table and the
results part company.
"""

from __future__ import annotations

import csv
import json
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from mmcore.planning.occupancy import occupancy
from mmcore.plotting.published import published

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"
H200 = RESULTS / "nvidia-h200"
SIZES = (640, 641, 1024, 2048, 3200)


class Point(NamedTuple):
    """What a figure is of: m = n = k, square blocks."""

    kernel: str
    n: int
    block: int
    measure: str


def _seconds() -> dict[Point, float]:
    """Median times on the H200, in seconds."""
    found = {}
    for path in sorted(H200.glob("*.json")):
        with _results(path) as document:
            for benchmark in document.get("benchmarks", ()):
                info = benchmark["extra_info"]
                how = info["memory"] if info["measure"] == "global" else info["caches"]
                point = Point(info["kernel"], info["problem"]["n"], info["block"][0], f"{info['measure']} {how}")
                found[point] = float(benchmark["stats"]["median"])
    return found


@contextmanager
def _results(path: Path) -> Iterator[Any]:
    """A file of results, to be read in the context.

    Raises:
        ValueError: it is no JSON, or does not hold what is read from it.
    """
    try:
        yield json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _published() -> Iterable[tuple[Point, str, float]]:
    """The lectures' own figures: what of, on which GPU, seconds."""
    for figure in published():
        measure = f"global {figure.memory}" if figure.measure == "global" else "kernel warm"
        yield Point(figure.kernel, figure.n, figure.block, measure), figure.gpu, figure.ms / 1e3


def best_kernel_times() -> str:
    """Every kernel at 640 and 3200 in its fastest block, beside what its lecture published for 640."""
    seconds = _seconds()
    printed = {(point.kernel, point.n): (gpu, ms, point) for point, gpu, ms in _best_published()}
    rows = []
    for kernel in sorted({point.kernel for point in seconds}):
        cells = [kernel]
        for n in (640, 3200):
            best = _best(seconds, kernel, n)
            cells += ["", "", ""] if best is None else [str(best.block), _us(seconds[best]), _gflops(n, seconds[best])]
        gpu, time, point = printed.get((kernel, 640), ("", 0.0, None))
        cells.append("" if point is None else f"{time * 1e6:.0f} ({gpu}, b={point.block})")
        rows.append((seconds.get(_best(seconds, kernel, 640) or Point("", 0, 0, ""), 0.0), cells))
    header = ("kernel", "b at 640", "µs", "GFLOP/s", "b at 3200", "µs", "GFLOP/s", "the lecture's µs at 640")
    return _markdown(header, [cells for _, cells in sorted(rows, key=lambda row: row[0])])


def _best(seconds: dict[Point, float], kernel: str, n: int) -> Point | None:
    points = [point for point in seconds if point[:2] == (kernel, n) and point.measure == "kernel warm"]
    return min(points, key=lambda point: seconds[point], default=None)


def _best_published() -> Iterable[tuple[Point, str, float]]:
    kernel_times = [each for each in _published() if each[0].measure == "kernel warm"]
    return sorted(kernel_times, key=lambda each: -each[2])


def kernel_times() -> str:
    """Kernel times by kernel, block and size."""
    return _by_size(lambda point: point.measure == "kernel warm", ("kernel warm",))


def global_times() -> str:
    """Global times by kernel, block and size, pageable and pinned."""
    return _by_size(lambda point: point.measure == "global pinned", ("global pageable", "global pinned"))


def _by_size(wanted: Callable[[Point], bool], measures: Sequence[str]) -> str:
    seconds = _seconds()
    pairs = sorted({(point.kernel, point.block) for point in seconds if wanted(point) and point.n in SIZES})
    rows = []
    for kernel, block in pairs:
        times = [[seconds.get(Point(kernel, n, block, measure)) for measure in measures] for n in SIZES]
        rows.append([kernel, str(block), *(" / ".join(_us(time) for time in each if time) for each in times)])
    return _markdown(("kernel", "b", *(f"n = {n}" for n in SIZES)), rows)


def then_and_now() -> str:
    """Every published figure beside the H200's."""
    seconds = _seconds()
    rows = []
    for point, gpu, then in _published():
        now = seconds.get(point)
        if now is not None:
            what = "kernel" if point.measure == "kernel warm" else point.measure
            figures = [f"{then * 1e3:.3f}", f"{now * 1e3:.4f}", f"{then / now:.0f}"]
            rows.append([point.kernel, str(point.n), str(point.block), what, gpu, *figures])
    return _markdown(("kernel", "n", "b", "time", "the lecture's GPU", "its ms", "H200, ms", "ratio"), rows)


class Comparison(NamedTuple):
    """Two published figures of one lecture, and what it is about.

    The rate of the first is held against the second's, because the report compares versions at sizes of their own too.
    """

    what: str
    first: Point
    second: Point


def _of_kernels(first: str, second: str, n: int, *blocks: int) -> list[Comparison]:
    what = f"{first} over {second.partition('.')[2]}"
    return [Comparison(what, Point(first, n, b, "kernel warm"), Point(second, n, b, "kernel warm")) for b in blocks]


def _of_blocks(kernel: str, n: int, *blocks: int) -> list[Comparison]:
    points = [Point(kernel, n, b, "kernel warm") for b in blocks]
    return [
        Comparison(f"{kernel}: b={larger.block} over b={smaller.block}", larger, smaller)
        for smaller, larger in pairwise(points)
    ]


def _of_remainders(kernel: str, block: int) -> Comparison:
    whole, rest = (Point(kernel, n, block, "kernel warm") for n in (640, 641))
    return Comparison(f"{kernel}, b={block}: 640 over 641", whole, rest)


def _of_memory(kernel: str) -> Comparison:
    pinned, pageable = (Point(kernel, 640, 32, f"global {memory}") for memory in ("pinned", "pageable"))
    return Comparison(f"{kernel}: global time, pinned over pageable", pinned, pageable)


def _between_sizes(first: str, n: int, second: str, at: int, block: int) -> Comparison:
    what = f"{first} at {n} over {second.partition('.')[2]} at {at}"
    return Comparison(what, Point(first, n, block, "kernel warm"), Point(second, at, block, "kernel warm"))


UPC = (
    *_of_kernels("upc.kernel10", "upc.kernel00", 640, 32),
    *_of_kernels("upc.kernel11", "upc.kernel01", 640, 32),
    *_of_kernels("upc.kernel11", "upc.kernel01", 641, 32),
    *_of_kernels("upc.kernel11", "upc.kernel01", 3200, 32),
    *_of_blocks("upc.kernel11", 640, 16, 32),
    *_of_blocks("upc.kernel11", 641, 16, 32),
    *(_of_remainders(kernel, b) for kernel, b in (("upc.kernel01", 32), ("upc.kernel11", 16), ("upc.kernel11", 32))),
    *(_of_memory(kernel) for kernel in ("upc.kernel00", "upc.kernel10")),
)
UNSA = (
    *_of_kernels("unsa.tiled", "unsa.traditional", 500, 5, 10, 20, 25),
    *_of_blocks("unsa.traditional", 500, 5, 10, 20, 25),
    *_of_blocks("unsa.tiled", 500, 5, 10, 20, 25),
)
POZNAN = (
    *_of_kernels("poznan.v2", "poznan.v1", 528, 8, 16, 22),
    *_of_kernels("poznan.v3", "poznan.v2", 528, 8, 16, 22),
    *(_between_sizes("poznan.v4a", 640, "poznan.v3", 528, b) for b in (8, 16)),
    *_of_kernels("poznan.v4b", "poznan.v4a", 640, 8, 16),
    *_of_kernels("poznan.v5", "poznan.v4a", 640, 8, 16),
    *(each for v in ("v1", "v2", "v3") for each in _of_blocks(f"poznan.{v}", 528, 8, 16, 22)),
    *(each for v in ("v4a", "v4b", "v5") for each in _of_blocks(f"poznan.{v}", 640, 8, 16)),
)
# Up to so many hundredths apart, neither is the faster.
_SAME = 2


def conclusions(comparisons: Sequence[Comparison]) -> str:
    """How many times faster the first of each two is, as published and on the H200, and whether that is the same."""
    then, now = {point: seconds for point, _, seconds in _published()}, _seconds()
    rows = []
    for what, first, second in comparisons:
        n, b = (str(getattr(first, name)) for name in ("n", "block"))
        if first in now and second in now:
            was, is_now = (_times_faster(first, second, seconds) for seconds in (then, now))
            rows.append([what, n, b, f"{was:.2f}", f"{is_now:.2f}", _verdict(was, is_now)])
    header = ("times faster", "n", "b", "then", "H200", "does it still hold?")
    return _markdown(header, rows)


def _times_faster(first: Point, second: Point, seconds: Mapping[Point, float]) -> float:
    return (first.n**3 / seconds[first]) / (second.n**3 / seconds[second])


def _verdict(then: float, now: float) -> str:
    was, is_now = _side(then), _side(now)
    return "yes" if was == is_now else f"no: it was {was}, it is {is_now}"


def _side(times: float) -> str:
    hundredths = round(100 * times) - 100
    return "as fast" if abs(hundredths) <= _SAME else "faster" if hundredths > 0 else "slower"


def copies() -> str:
    """The share of the copies in UPC's global times."""
    then, now = {point: seconds for point, _, seconds in _published()}, _seconds()
    rows = []
    for point in sorted(point for point in then if point.measure.startswith("global")):
        kernel = point._replace(measure="kernel warm")
        if point in now and kernel in now:
            shares = [f"{100 * (1 - seconds[kernel] / seconds[point]):.0f} %" for seconds in (then, now)]
            rows.append([point.kernel, str(point.n), str(point.block), point.measure.partition(" ")[2], *shares])
    return _markdown(("kernel", "n", "b", "host memory", "share of the copies then", "H200"), rows)


def occupancies() -> str:
    """The report's occupancy tables, compute capability 1.2, beside the calculation from the same figures."""
    names = ("limit_blocks_warps", "limit_blocks_registers", "limit_blocks_shared", "active_blocks")
    rows = []
    for row in _rows(ROOT / "tests" / "data" / "poznan_occupancy.csv"):
        threads, registers, shared = (
            int(row[name]) for name in ("threads_per_block", "registers_per_thread", "shared_bytes_per_block")
        )
        found = occupancy((1, 2), threads=threads, registers=registers, shared_bytes=shared)
        ours = [found.limit_warps, found.limit_registers, found.limit_shared, found.active_blocks]
        if row["version"] == "v1":
            # A grid of one block: the report prints no limits for it.
            ours = [1]
        printed = [row[name] for name in names if row[name]]
        cells = [
            was if was == str(now) else f"**{was}**, calculated {now}" for was, now in zip(printed, ours, strict=True)
        ]
        block = f"{row['block']}×{row['block']}"
        rows.append([row["version"], block, str(registers), str(shared), *([""] * (4 - len(cells))), *cells])
    header = ("version", "block", "registers", "shared, B", "by warps", "by registers", "by shared memory", "active")
    return _markdown(header, rows)


def cgma() -> str:
    """The report's CGMA beside what the emulator counts with compute capability 1.2's coalescing."""
    rows = []
    for case in json.loads((RESULTS / "emulator" / "cgma.json").read_text())["cgma"]:
        printed, ours = float(case["printed"]), case["counted"]
        figures = [case["printed"], f"{ours:.3f}", f"{round(100 * (ours / printed - 1), 1) + 0.0:+.1f} %"]
        rows.append([case["version"], f"{case['block']}×{case['block']}", str(case["size"]), *figures])
    return _markdown(("version", "block", "n", "printed", "counted", "difference"), rows)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def clock() -> str:
    """mmcore's clock beside CUPTI's."""
    rows = []
    with _results(H200 / "clock.json") as document:
        for case in document["microseconds"]:
            cells = [case["kernel"], str(case["n"]), str(case["block"]), f"{case['events_around_one']:.2f}"]
            for state in ("warm", "cold"):
                ours, truth = case[f"mmcore_{state}"], case[f"cupti_{state}"]
                cells += [f"{ours:.2f}", f"{truth:.2f}", f"{ours - truth:+.2f} ({100 * (ours / truth - 1):+.1f} %)"]
            rows.append(cells)
    states = [f"{name}, {state}" for state in ("warm", "cold") for name in ("mmcore", "CUPTI", "difference")]
    return _markdown(("kernel", "n", "b", "events around one launch", *states), rows)


def launch_cost() -> str:
    """What a launch costs the host."""
    with _results(H200 / "launch.json") as document:
        rows = [[way, f"{cost:.2f}"] for way, cost in document["microseconds"].items()]
    return _markdown(("launched by", "µs of host time"), rows)


def counters() -> str:
    """The emulator's counters beside ncu's."""
    columns = {
        "load requests": "global_load_requests",
        "load sectors": "global_load_sectors",
        "store requests": "global_store_requests",
        "store sectors": "global_store_sectors",
        "fused multiply-adds": "fmas",
        "shared load requests": "shared_load_requests",
        "shared load wavefronts": "shared_load_wavefronts",
        "shared store wavefronts": "shared_store_wavefronts",
    }
    rows = []
    with _results(H200 / "counters.json") as document:
        for case in document["emulator_and_ncu"]:
            figures = [" / ".join(f"{count:,}" for count in dict.fromkeys(case[name])) for name in columns.values()]
            rows.append([case["kernel"], str(case["n"]), str(case["block"]), *figures])
    return _markdown(("kernel", "n", "b", *columns), rows)


class Fuzzed(NamedTuple):
    """What came of bench/fuzz.py on a device: outcomes by kernel, and how often each."""

    date: str
    seeds: str
    seconds: int
    outcomes: dict[str, Counter[str]]

    @property
    def by_outcome(self) -> Counter[str]:
        return sum(self.outcomes.values(), Counter[str]())


def fuzzing() -> str:
    """Fuzzed cases by device, and what came of them."""
    runs = _fuzzed()
    found = [run.by_outcome for run in runs.values()]
    rows = [
        ["seeds", *(run.seeds for run in runs.values())],
        ["seconds", *(str(run.seconds) for run in runs.values())],
        ["cases", *(str(counts.total()) for counts in found)],
    ]
    for outcome in sorted(set().union(*found)):
        rows.append([outcome, *(str(counts[outcome]) for counts in found)])
    return _markdown(("", *(f"{device}, {run.date}" for device, run in runs.items())), rows)


def fuzzing_by_kernel() -> str:
    """Fuzzed cases by kernel and device."""
    runs = _fuzzed()
    titles = {"verified": "verified", "refused": "refused", "forced": "forced", "damaged": "damaged and rejected"}
    rows = []
    for kernel in sorted(set().union(*(run.outcomes for run in runs.values()))):
        cells = [kernel]
        for run in runs.values():
            counts = run.outcomes.get(kernel, Counter())
            for kind in titles:
                cells.append(str(sum(count for name, count in counts.items() if name.partition(":")[0] == kind)))
        rows.append(cells)
    return _markdown(("kernel", *(f"{device}: {title}" for device in runs for title in titles.values())), rows)


def _fuzzed() -> dict[str, Fuzzed]:
    """The fuzzing's results by device."""
    found = {}
    for path in sorted(RESULTS.glob("*/fuzz.json")):
        with _results(path) as document:
            seeds = ", ".join(map(str, document["seeds"]))
            outcomes = {kernel: Counter(counts) for kernel, counts in document["outcomes"].items()}
            found[path.parent.name] = Fuzzed(document["date"], seeds, int(document["seconds"]), outcomes)
    return found


def zoo() -> str:
    """What was reported of each bad plugin, on the emulator and on the H200."""
    columns = ("on the emulator", "on an H200")
    reported = [_reported(folder) for folder in (RESULTS / "emulator", H200)]
    rows = []
    for plugin in json.loads((RESULTS / "emulator" / "zoo.json").read_text(encoding="utf-8"))["plugins"]:
        said = [_in_a_cell(each.get(plugin["plugin"], "not run")) for each in reported]
        command = f"`mmcore {plugin['command']}`" if plugin["command"] else ""
        rows.append([f"`{plugin['plugin']}`", plugin["does"], *said, command])
    return _words(("plugin", "what it does", *columns, "where a benchmark cannot show it"), rows)


def _reported(folder: Path) -> dict[str, str]:
    """What a folder's run with the zoo said, by plugin; nothing where it was not made."""
    path = folder / "zoo.json"
    if not path.exists():
        return {}
    return {row["plugin"]: row["reported"] for row in json.loads(path.read_text(encoding="utf-8"))["plugins"]}


def _in_a_cell(text: str) -> str:
    """Text that Markdown shows as it is, inside a table."""
    return re.sub(r"([|*_<>`\\])", r"\\\1", text)


class Measured(NamedTuple):
    """One cell of an experiment: GFLOP/s and seconds of a product."""

    kernel: str
    n: int
    block: int
    measure: str
    gflops: float
    seconds: float


def _experiment(name: str) -> list[Measured]:
    """The cells of a committed experiment on the H200."""
    with _results(H200 / "experiments" / f"{name}.json") as document:
        found = []
        for benchmark in document["benchmarks"]:
            info, seconds = benchmark["extra_info"], benchmark["stats"]["median"]
            measure = f"global {info['memory']}" if info["measure"] == "global" else "kernel"
            cell = info["kernel"], info["problem"]["n"], info["block"][0], measure
            found.append(Measured(*cell, info["gflops"], seconds))
        return found


def _by_series(cells: Iterable[Measured]) -> dict[tuple[str, int], list[Measured]]:
    """Cells by kernel and block, small products first."""
    series: dict[tuple[str, int], list[Measured]] = {}
    for cell in sorted(cells):
        series.setdefault((cell.kernel, cell.block), []).append(cell)
    return series


def sizes() -> str:
    """The highest rate of each kernel and block, and from which n on it is nearly reached."""
    rows = []
    for (kernel, block), cells in _by_series(_experiment("upc-sizes")).items():
        best = max(cells, key=lambda cell: cell.gflops)
        slow = [cell.n for cell in cells if cell.gflops < 0.9 * best.gflops]
        steady = min(cell.n for cell in cells if cell.n > max(slow, default=0))
        rows.append([kernel, str(block), f"{best.gflops:.0f}", str(best.n), str(steady)])
    return _markdown(("kernel", "b", "highest GFLOP/s", "at n", "90 % of it from n on"), rows)


def remainders() -> str:
    """Median rates where n is a multiple of b, one more than that, and anything else."""
    rows = []
    for (kernel, block), cells in _by_series(_experiment("upc-remainders")).items():
        rates = [
            [cell.gflops for cell in cells if cell.n % block in residues] for residues in ([0], [1], range(2, block))
        ]
        lowest = min(cells, key=lambda cell: cell.gflops)
        medians = [f"{statistics.median(each):.0f}" for each in rates]
        rows.append([kernel, str(block), *medians, f"{lowest.gflops:.0f}", str(lowest.n)])
    return _markdown(
        ("kernel", "b", "at multiples of b", "one behind", "anywhere else", "lowest GFLOP/s", "at n"), rows
    )


def transfers() -> str:
    """Share of the copies in the global time, against n."""
    seconds = {(cell.kernel, cell.n, cell.measure): cell.seconds for cell in _experiment("upc-transfers")}
    rows = []
    for kernel, n in sorted({(kernel, n) for kernel, n, _ in seconds}):
        whole = [seconds[kernel, n, f"global {memory}"] for memory in ("pageable", "pinned")]
        shares = [f"{100 * (1 - seconds[kernel, n, 'kernel'] / each):.0f} %" for each in whole]
        rows.append([kernel, str(n), *shares, f"{whole[0] / whole[1]:.2f}"])
    header = ("kernel", "n", "share of the copies, pageable", "pinned", "pinned: times faster in all")
    return _markdown(header, rows)


def coalescing() -> str:
    """x along the rows against x along the columns, in double precision."""
    rates = {(cell.kernel, cell.n): cell.gflops for cell in _experiment("lezione9-coalescing")}
    rows = []
    for n in sorted({n for _, n in rates}):
        cells = [str(n)]
        for kernel in ("kernel1", "kernel2"):
            along_rows, along_columns = rates[f"lezione9.{kernel}", n], rates[f"mmcore.{kernel}_columns", n]
            cells += [f"{along_rows:.0f}", f"{along_columns:.0f}", f"{along_columns / along_rows:.1f}"]
        rows.append(cells)
    header = [f"{kernel}, {what}" for kernel in ("kernel1", "kernel2") for what in ("rows", "columns", "times faster")]
    return _markdown(("n", *header), rows)


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"kernel times": best_kernel_times},
    "docs/measuring.md": {"clock": clock, "launch cost": launch_cost},
    "docs/why.md": {"counters": counters},
    "docs/results.md": {"kernel times": kernel_times, "global times": global_times, "then and now": then_and_now},
    "docs/trust.md": {"zoo": zoo, "fuzzing": fuzzing, "fuzzing by kernel": fuzzing_by_kernel},
    "docs/lectures.md": {
        "upc": partial(conclusions, UPC),
        "copies": copies,
        "sizes": sizes,
        "remainders": remainders,
        "transfers": transfers,
        "coalescing": coalescing,
        "unsa": partial(conclusions, UNSA),
        "poznan": partial(conclusions, POZNAN),
        "occupancy": occupancies,
        "cgma": cgma,
    },
}


def with_tables(page: str, text: str) -> str:
    """A page's text with its tables between their markers.

    Raises:
        ValueError: a marker is missing.
    """
    for name, make in TABLES[page].items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        table = begin + make() + end
        text, count = re.subn(pattern, lambda _, table=table: table, text, flags=re.DOTALL)  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"{page} has {count} places for the table {name!r}")
    return text


def _us(seconds: float) -> str:
    microseconds = seconds * 1e6
    return f"{microseconds:.1f}" if microseconds < 1e4 else f"{microseconds:.0f}"


def _gflops(n: int, seconds: float) -> str:
    return f"{2 * n**3 / seconds / 1e9:.0f}"


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of figures: all columns but the first to the right."""
    return _lines(header, ["---:" if index else "---" for index in range(len(header))], *rows)


def _words(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of text."""
    return _lines(header, ["---"] * len(header), *rows)


def _lines(*rows: Sequence[str]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


if __name__ == "__main__":
    for page in TABLES:
        path = ROOT / page
        path.write_text(with_tables(page, path.read_text(encoding="utf-8")), encoding="utf-8")

"""The documentation's tables of figures, made from the committed results.

``python bench/tables.py`` writes them between their markers in README.md and docs/; a test tells when a table and the
results part company.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mmcore.sweeping.published import published_rows

ROOT = Path(__file__).parent.parent
H200 = ROOT / "bench" / "results" / "nvidia-h200"
PUBLISHED = tuple(ROOT / "plugins" / f"mmcore_{lecture}" / "published.csv" for lecture in ("upc", "poznan", "unsa"))
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
    for path in PUBLISHED:
        for row in published_rows(path):
            measure = f"global {row['memory']}" if row["measure"] == "global" else "kernel warm"
            yield Point(row["kernel"], row["n"], row["block"], measure), row["gpu"], row["ms"] / 1e3


def best_kernel_times() -> str:
    """Every kernel at 640 and 3200 in its fastest block, beside what its lecture published for 640."""
    seconds = _seconds()
    published = {(point.kernel, point.n): (gpu, ms, point) for point, gpu, ms in _best_published()}
    rows = []
    for kernel in sorted({point.kernel for point in seconds}):
        cells = [kernel]
        for n in (640, 3200):
            best = _best(seconds, kernel, n)
            cells += ["", "", ""] if best is None else [str(best.block), _us(seconds[best]), _gflops(n, seconds[best])]
        gpu, time, point = published.get((kernel, 640), ("", 0.0, None))
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


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"kernel times": best_kernel_times},
    "docs/measuring.md": {"clock": clock, "launch cost": launch_cost},
    "docs/why.md": {"counters": counters},
    "docs/results.md": {"kernel times": kernel_times, "global times": global_times, "then and now": then_and_now},
    "docs/trust.md": {"zoo": zoo, "fuzzing": fuzzing, "fuzzing by kernel": fuzzing_by_kernel},
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

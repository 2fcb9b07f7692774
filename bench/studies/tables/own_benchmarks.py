"""mmcore's times beside those of the benchmark functions of a kernel's compiler or repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from bench.studies.tables import sources
from bench.studies.tables.markdown import markdown
from bench.studies.tables.sources import results

_WARM, _COLD, _RESTED = "mmcore, warm", "mmcore, cold", "mmcore, warm, after a pause"
# mmcore's time of the same kind: with an emptied cache, or after a pause; warm for the others.
_SAME: Mapping[str, tuple[str, ...]] = {
    "do_bench": (_COLD,),
    "its own program": (_RESTED, _WARM),
    "its own program, mmcore's inputs": (_RESTED,),
}
_Lines: TypeAlias = Iterator[list[str]]
_HEADER = "kernel | n | by | µs | beside | µs | ratio | of cuBLAS"


def own_benchmarks() -> str:
    """Return each other clock beside mmcore's time of the same kind."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    percents: dict[tuple[str, int], float] = {}
    with results(sources.H200 / "own_benchmarks.json") as document:
        for row in document["rows"]:
            key = row["kernel"], row["n"]
            found.setdefault(key, {})[row["clock"]] = row["microseconds"]
            if row.get("percent_of_cublas") is not None:
                percents[key] = row["percent_of_cublas"]
    return markdown(_HEADER, [line for key, clocks in found.items() for line in _lines(key, clocks, percents)])


def _lines(key: tuple[str, int], clocks: Mapping[str, float], percents: Mapping[tuple[str, int], float]) -> _Lines:
    """Yield the lines of one kernel and size; the first has mmcore's share of cuBLAS's rate."""
    percent = f"{percents[key]:.1f} %" if key in percents else ""
    for theirs, ours in _pairs(clocks):
        times = clocks[theirs], clocks[ours]
        ratio = f"{100 * times[0] / times[1]:.1f} %"
        yield [key[0], str(key[1]), theirs, _shown(times[0]), ours, _shown(times[1]), ratio, percent]
        percent = ""


def _pairs(clocks: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Yield each other clock with mmcore's time of the same kind."""
    for theirs in clocks:
        if not theirs.startswith("mmcore"):
            yield from ((theirs, ours) for ours in _SAME.get(theirs, (_WARM,)) if ours in clocks)


def _shown(microseconds: float) -> str:
    return f"{microseconds:.2f}" if microseconds < 100 else f"{microseconds:.1f}"

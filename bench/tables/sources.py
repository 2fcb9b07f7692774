"""The committed results, read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mmcore_plots.published import published

ROOT = Path(__file__).parent.parent.parent
RESULTS = ROOT / "bench" / "results"
H200 = RESULTS / "nvidia-h200"


class Point(NamedTuple):
    """What a figure is of: m = n = k, square blocks."""

    kernel: str
    n: int
    block: int
    measure: str


def baseline_seconds() -> dict[Point, float]:
    """Median times on the H200, in seconds."""
    found = {}
    for path in sorted(H200.glob("*.json")):
        with results(path) as document:
            for benchmark in document.get("benchmarks", ()):
                info = benchmark["extra_info"]
                how = info["memory"] if info["measure"] == "global" else info["caches"]
                point = Point(info["kernel"], info["problem"]["n"], info["block"][0], f"{info['measure']} {how}")
                found[point] = float(benchmark["stats"]["median"])
    return found


@contextmanager
def results(path: Path) -> Iterator[Any]:
    """A file of results, to be read in the context.

    Raises:
        ValueError: it is no JSON, or does not hold what is read from it.
    """
    try:
        yield json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def published_points() -> Iterable[tuple[Point, str, float]]:
    """The lectures' own figures: what of, on which GPU, seconds."""
    for figure in published():
        measure = f"global {figure.memory}" if figure.measure == "global" else "kernel warm"
        yield Point(figure.kernel, figure.n, figure.block, measure), figure.gpu, figure.ms / 1e3


class Measured(NamedTuple):
    """One cell of an experiment: GFLOP/s and seconds of a product."""

    kernel: str
    n: int
    block: int
    measure: str
    gflops: float
    seconds: float


def experiment(name: str) -> list[Measured]:
    """The cells of a committed experiment on the H200."""
    with results(H200 / "experiments" / f"{name}.json") as document:
        found = []
        for benchmark in document["benchmarks"]:
            info, seconds = benchmark["extra_info"], benchmark["stats"]["median"]
            measure = f"global {info['memory']}" if info["measure"] == "global" else "kernel"
            cell = info["kernel"], info["problem"]["n"], info["block"][0], measure
            found.append(Measured(*cell, info["gflops"], seconds))
        return found

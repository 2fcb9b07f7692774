"""Readers of the committed results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.studies.study import RESULTS as RESULTS
from bench.studies.study import ROOT as ROOT
from mmcore_tools.plots.published import published

H200 = RESULTS / "nvidia-h200"
H100 = RESULTS / "nvidia-h100"

opened: list[Path] = []
"""The files that tables were made from, in order."""


class Point(NamedTuple):
    """A figure's subject: m = n = k, square blocks, and a measure such as "kernel warm" or "end-to-end pinned"."""

    kernel: str
    n: int
    block: int
    measure: str


def _point(info: Mapping[str, Any]) -> Point:
    how = info["memory"] if info["measure"] == "end-to-end" else info["caches"]
    return Point(info["kernel"], info["problem"]["n"], info["config"]["block"][0], f"{info['measure']} {how}")


def baseline_seconds() -> dict[Point, float]:
    """Return median times on the H200, in seconds."""
    found = {}
    for path in sorted(H200.glob("*.json")):
        with _document(path) as document:
            if "benchmarks" in document:
                opened.append(path)
            for benchmark in document.get("benchmarks", ()):
                found[_point(benchmark["extra_info"])] = float(benchmark["stats"]["median"])
    return found


def percents_of_cublas() -> dict[Point, float]:
    """Return rates in percent of cuBLAS's, measured in turns with it on the H200."""
    with results(H200 / "of-cublas.json") as document:
        infos = [benchmark["extra_info"] for benchmark in document["benchmarks"]]
        return {_point(info): float(info["percent_of_baseline"]) for info in infos}


@contextmanager
def results(path: Path) -> Iterator[Any]:
    """Yield the document of a file of results.

    Raises:
        ValueError: the file is not JSON, or the context did not find its values in it.
    """
    opened.append(path)
    with _document(path) as document:
        yield document


@contextmanager
def _document(path: Path) -> Iterator[Any]:
    try:
        yield json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def published_points() -> Iterable[tuple[Point, str, float]]:
    """Yield the lectures' own figures: subject, GPU, seconds."""
    for figure in published():
        point = Point(figure.kernel, figure.n, figure.block, f"{figure.measure} {figure.how}")
        yield point, figure.gpu, figure.ms / 1e3


class Measured(NamedTuple):
    """One cell of a preset: GFLOP/s and seconds of a product."""

    point: Point
    gflops: float
    seconds: float


def preset(name: str) -> list[Measured]:
    """Return the cells of a preset's committed run on the H200, sorted by kernel, size and block."""
    with results(H200 / "experiments" / f"{name}.json") as document:
        found = [
            Measured(_point(each["extra_info"]), each["extra_info"]["gflops"], each["stats"]["median"])
            for each in document["benchmarks"]
        ]
        return sorted(found)

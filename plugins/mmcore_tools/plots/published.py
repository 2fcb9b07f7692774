"""What lectures published of their kernels' speed, so that it can stand beside a measurement.

A lecture's figures lie in ``published.csv`` beside its kernels' sources.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mmcore.files import read_text
from mmcore.kernel.geometry import Dim3
from mmcore.registry import registry
from mmcore_tools.plots.results import Entry, InvalidResults


class Published(NamedTuple):
    """One published time, of a product with m = n = k in square blocks; ``measure`` and ``how`` are as of a cell."""

    kernel: str
    gpu: str
    n: int
    block: int
    measure: str
    how: str
    ms: float

    @property
    def entry(self) -> Entry:
        """The time and its rate as a result's."""
        numbers = {"median_ms": self.ms, "gflops": 2 * self.n**3 / self.ms / 1e6}
        block = Dim3(self.block, self.block)
        return Entry(self.kernel, self.n, self.n, self.n, block, "", self.measure, self.how, numbers=numbers)


def published() -> tuple[Published, ...]:
    """What is published of any registered kernel, in the files' order; InvalidResults for a damaged file."""
    paths = {each.item.source.parent / "published.csv" for each in registry().kernels.values()}
    return tuple(figure for path in sorted(paths) if path.is_file() for figure in _read(path))


@cache
def _read(path: Path) -> tuple[Published, ...]:
    try:
        rows = csv.DictReader(read_text(path).splitlines())
        return tuple(_figure(row, f"{path}:{number}") for number, row in enumerate(rows, 2))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidResults(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _figure(row: Mapping[str, str], where: str) -> Published:
    try:
        n, block, ms = int(row["n"]), int(row["block"]), float(row["ms"])
        measure, how = row["measure"], row["memory"] or "warm"
        return Published(row["kernel"], row["gpu"], n, block, measure, how, ms)
    except (KeyError, TypeError, ValueError):
        raise InvalidResults(f"{where} is no published time: kernel, gpu, n, block, measure, memory, ms") from None

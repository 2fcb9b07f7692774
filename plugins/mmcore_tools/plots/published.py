"""Times that lectures published of their kernels, for comparison with measurements.

They are in ``published.csv`` beside the kernels' sources.
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
from mmcore_tools.plots.results import Entry
from mmcore_tools.saved import InvalidResults


class Published(NamedTuple):
    """A published time of a product with m = n = k in square blocks; ``measure`` and ``how`` are those of a cell."""

    kernel: str
    gpu: str
    n: int
    block: int
    measure: str
    how: str
    ms: float

    @property
    def entry(self) -> Entry:
        numbers = {"median_ms": self.ms, "gflops": 2 * self.n**3 / self.ms / 1e6}
        block = Dim3(self.block, self.block)
        return Entry(self.kernel, self.n, self.n, self.n, block, "", self.measure, self.how, numbers=numbers)


def published() -> tuple[Published, ...]:
    """Return the published times of all registered kernels. Raises InvalidResults for a damaged file."""
    paths = {each.item.source.parent / "published.csv" for each in registry().kernels.values()}
    return tuple(time for path in sorted(paths) if path.is_file() for time in _read(path))


@cache
def _read(path: Path) -> tuple[Published, ...]:
    try:
        rows = csv.DictReader(read_text(path).splitlines())
        return tuple(_time(row, f"{path}:{line}") for line, row in enumerate(rows, 2))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidResults(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _time(row: Mapping[str, str], where: str) -> Published:
    try:
        n, block, ms = int(row["n"]), int(row["block"]), float(row["ms"])
        return Published(row["kernel"], row["gpu"], n, block, row["measure"], row["memory"] or "warm", ms)
    except (KeyError, TypeError, ValueError):
        raise InvalidResults(f"{where} is no published time: kernel, gpu, n, block, measure, memory, ms") from None

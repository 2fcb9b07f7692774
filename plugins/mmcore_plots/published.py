"""What lectures published of their kernels' speed, so that it can stand beside a measurement.

A lecture's figures lie in ``published.csv`` beside its kernels' sources, with the columns of :data:`COLUMNS`.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mmcore.registry import registry
from mmcore_plots.results import InvalidResults

COLUMNS = ("kernel", "gpu", "n", "block", "measure", "memory", "ms")


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
    def gflops(self) -> float:
        """2n³ over the time."""
        return 2 * self.n**3 / self.ms / 1e6

    @property
    def label(self) -> str:
        """The kernel and its config, as a cell's label."""
        return f"{self.kernel}, b={self.block}"


def published() -> tuple[Published, ...]:
    """What is published of any registered kernel, in the files' order; InvalidResults for a damaged file."""
    paths = {each.item.source.parent / "published.csv" for each in registry().kernels.values()}
    return tuple(figure for path in sorted(paths) if path.is_file() for figure in _read(path))


@cache
def _read(path: Path) -> tuple[Published, ...]:
    found = []
    with path.open(newline="", encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            try:
                n, block, ms = int(row["n"]), int(row["block"]), float(row["ms"])
                # mmcore 0.1 called it a global time.
                measure, how = row["measure"].replace("global", "end-to-end"), row["memory"] or "warm"
                found.append(Published(row["kernel"], row["gpu"], n, block, measure, how, ms))
            except (KeyError, TypeError, ValueError):
                raise InvalidResults(f"{path}:{number} is no published time: {', '.join(COLUMNS)}") from None
    return tuple(found)

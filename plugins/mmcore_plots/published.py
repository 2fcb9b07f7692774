"""What lectures published of their kernels' speed, so that it can stand beside a measurement.

A lecture's figures lie in ``published.csv`` beside its kernels' sources, with the columns of :data:`COLUMNS`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mmcore.registry import registry
from mmcore_plots.results import InvalidResults

FILE = "published.csv"
COLUMNS = ("kernel", "gpu", "n", "block", "measure", "memory", "ms")


@dataclass(frozen=True)
class Published:
    """One published time, of a product with m = n = k in square blocks.

    ``measure`` is "kernel" or "end-to-end"; ``memory`` is "pageable" or "pinned" for an end-to-end time, else empty.
    """

    kernel: str
    gpu: str
    n: int
    block: int
    measure: str
    memory: str
    ms: float

    @property
    def gflops(self) -> float:
        """2n³ over the time."""
        return 2 * self.n**3 / self.ms / 1e6

    @property
    def how(self) -> str:
        """How it was measured, as a cell says it."""
        return self.memory or "warm"


def published() -> tuple[Published, ...]:
    """What is published of any registered kernel, in the files' order.

    Raises:
        InvalidResults: a file is damaged.
    """
    return _published(tuple({each.item.source.parent / FILE: None for each in registry().kernels.values()}))


@cache
def _published(paths: tuple[Path, ...]) -> tuple[Published, ...]:
    return tuple(figure for path in sorted(paths) if path.is_file() for figure in _read(path))


def _read(path: Path) -> Iterable[Published]:
    with path.open(newline="", encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            try:
                n, block, ms = int(row["n"]), int(row["block"]), float(row["ms"])
                # mmcore 0.1 called it a global time.
                measure = row["measure"].replace("global", "end-to-end")
                yield Published(row["kernel"], row["gpu"], n, block, measure, row["memory"], ms)
            except (KeyError, TypeError, ValueError):
                raise InvalidResults(f"{path}:{number} is no published time: {', '.join(COLUMNS)}") from None

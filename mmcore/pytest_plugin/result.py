"""What a cell came to: the record that the live lines, the summary, the JSON and the CSV are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mmcore.pytest_plugin.cells import Cell
from mmcore.outcome import Outcome


@dataclass(frozen=True)
class Result:
    """One cell, verified and measured.

    Attributes:
        cell: what was measured.
        outcome: what came of the run; the time measured is in it where the device keeps one.
        seconds: median time of a product; of its emulation on the host where the device keeps no time.
        spread: distance between the quartiles of the rounds, as a share of the median.
        rounds: how many were measured.
        launches: products in a round.
        clock: how the time was read.
        occupancy: share of a multiprocessor's warps that the launch can keep active; None where it is not known.
        peak: FLOP/s that the device can do at most in the kernel's type; None where that is not known.
    """

    cell: Cell
    outcome: Outcome
    seconds: float
    spread: float
    rounds: int
    launches: int
    clock: str
    occupancy: float | None
    peak: float | None

    @property
    def gflops(self) -> float | None:
        """2·m·n·k over the time, in GFLOP/s; None for emulation."""
        return self.outcome.kernel_gflops if self.cell.measure.what == "kernel" else self.outcome.end_to_end_gflops

    @property
    def percent_of_peak(self) -> float | None:
        """The rate beside the device's highest."""
        return None if self.gflops is None or self.peak is None else 100 * self.gflops * 1e9 / self.peak

    def to_json(self) -> dict[str, Any]:
        """What pytest-benchmark stores beside its statistics."""
        return {
            **self.outcome.to_json(),
            "measure": self.cell.measure.what,
            "caches": self.cell.measure.how if self.cell.measure.what == "kernel" else None,
            "memory": self.cell.measure.how if self.cell.measure.what == "global" else None,
            "median_ms": self.seconds * 1e3,
            "spread_percent": 100 * self.spread,
            "clock": self.clock,
            "gflops": self.gflops,
            "percent_of_peak": self.percent_of_peak,
            "occupancy": self.occupancy,
        }

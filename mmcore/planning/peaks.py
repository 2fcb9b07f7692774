"""The peak rates of a device, which measured rates are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mmcore.kernel.problem import Problem, dtype_named


class Bound(NamedTuple):
    """The least seconds that a product takes on a device, and what takes them: "arithmetic", "memory" or "launch"."""

    seconds: float
    by: str


@dataclass(frozen=True)
class Peaks:
    """A device's peak rates.

    Attributes:
        flops: FLOP/s by the type that a unit multiplies (a fused multiply-add is two); "float8" is both of 8 bits.
        bytes_per_second: between device memory and the chip.
        cache_bytes: size of the L2 cache.
        launch_seconds: seconds that a launch takes at least; 0 if unknown.
    """

    flops: Mapping[str, float]
    bytes_per_second: float
    cache_bytes: int
    launch_seconds: float = 0.0

    def of(self, unit: str) -> float | None:
        """Return the FLOP/s of the unit that multiplies a type; None if there is none."""
        return self.flops.get("float8" if unit.startswith("float8") else unit.removeprefix("u"))

    def least_seconds(self, problem: Problem, unit: str, *, cold: bool) -> float:
        """Return the seconds that ``problem`` takes at least on a unit, by its arithmetic and memory traffic.

        When ``cold``, A and B are not in the L2 cache beforehand. Writes may stay there.
        """
        return max(self._limits(problem, unit, cold).values())

    def bound(self, problem: Problem, unit: str, *, cold: bool) -> Bound | None:
        """Return the same, or the time of an empty launch if that is longer; None if the unit's rate is unknown."""
        if self.of(unit) is None:
            return None
        limits = {**self._limits(problem, unit, cold), "launch": self.launch_seconds}
        by = max(limits, key=limits.__getitem__)
        return Bound(limits[by], by)

    def _limits(self, problem: Problem, unit: str, cold: bool) -> dict[str, float]:
        inputs = problem.m * problem.k + problem.k * problem.n
        moved = inputs * dtype_named(problem.dtype).itemsize if cold else problem.compulsory_bytes - self.cache_bytes
        arithmetic = self.of(unit)
        return {
            "arithmetic": problem.flops / arithmetic if arithmetic else 0.0,
            "memory": moved / self.bytes_per_second,
        }

"""The peak rates of a device, which measured rates are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mmcore.kernel.problem import Problem, dtype_named


@dataclass(frozen=True)
class Peaks:
    """A device's peak rates.

    Attributes:
        flops: FLOP/s by the type that a unit multiplies (a fused multiply-add is two); "float8" is both of 8 bits.
        bytes_per_second: between device memory and the chip.
        cache_bytes: size of the L2 cache.
    """

    flops: Mapping[str, float]
    bytes_per_second: float
    cache_bytes: int

    def of(self, unit: str) -> float | None:
        """Return the FLOP/s of the unit that multiplies a type; None if there is none."""
        return self.flops.get("float8" if unit.startswith("float8") else unit.removeprefix("u"))

    def least_seconds(self, problem: Problem, unit: str, *, cold: bool) -> float:
        """Return the seconds that ``problem`` takes at least on a unit, by its arithmetic and memory traffic.

        When ``cold``, A and B are not in the L2 cache beforehand. Writes may stay there.
        """
        inputs = problem.m * problem.k + problem.k * problem.n
        moved = inputs * dtype_named(problem.dtype).itemsize if cold else problem.compulsory_bytes - self.cache_bytes
        arithmetic = self.of(unit)
        return max(problem.flops / arithmetic if arithmetic else 0.0, moved / self.bytes_per_second)

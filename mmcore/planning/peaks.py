"""The peak rates of a GPU, which measured rates are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mmcore.kernel.problem import Problem, dtype_named

# Fused multiply-adds per clock and multiprocessor, by the fastest unit that keeps the type's precision (dense tensor
# cores but for float32, and for float64 where they have it); 0 where there is no such unit: the CUDA C++ Programming
# Guide's table of arithmetic throughput, and NVIDIA's architecture papers for the tensor cores.
_TYPES = ("float16", "bfloat16", "float32", "float64", "tf32", "float8", "int8")
_FMAS = {
    (6, 0): (128, 64, 64, 32, 0, 0, 0),
    (6, 1): (128, 128, 128, 4, 0, 0, 0),
    (7, 0): (512, 64, 64, 32, 0, 0, 0),
    (7, 5): (512, 64, 64, 2, 0, 0, 1024),
    (8, 0): (1024, 1024, 64, 64, 512, 0, 2048),
    (8, 6): (512, 512, 128, 2, 128, 0, 1024),
    (8, 9): (512, 512, 128, 2, 128, 1024, 1024),
    (9, 0): (2048, 2048, 128, 128, 1024, 4096, 4096),
    (10, 0): (4096, 4096, 128, 64, 2048, 8192, 8192),
    (12, 0): (512, 512, 128, 2, 128, 1024, 1024),
}


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
        """The FLOP/s of the unit that multiplies a type; None where there is none."""
        return self.flops.get("float8" if unit.startswith("float8") else unit)

    def least_seconds(self, problem: Problem, unit: str, *, cold: bool) -> float:
        """No kernel computes ``problem`` in less: its arithmetic and its memory traffic each take their time.

        Args:
            problem: the product.
            unit: the type that the unit multiplies which computes it.
            cold: whether nothing of A and B is in the L2 cache beforehand. What is written may stay there.
        """
        inputs = problem.m * problem.k + problem.k * problem.n
        moved = inputs * dtype_named(problem.dtype).itemsize if cold else problem.compulsory_bytes - self.cache_bytes
        arithmetic = self.of(unit)
        return max(problem.flops / arithmetic if arithmetic else 0.0, moved / self.bytes_per_second)


def peaks(
    capability: tuple[int, int], *, multiprocessors: int, clock_hz: float, bytes_per_second: float, cache_bytes: int
) -> Peaks | None:
    """The peak rates of a GPU of some compute capability; None where its arithmetic is not known.

    Args:
        capability: (major, minor).
        multiprocessors: how many it has.
        clock_hz: its highest clock.
        bytes_per_second: its memory's bandwidth.
        cache_bytes: size of its L2 cache.
    """
    if capability not in _FMAS:
        return None
    fmas = zip(_TYPES, _FMAS[capability], strict=True)
    rates = {dtype: 2.0 * each * multiprocessors * clock_hz for dtype, each in fmas if each}
    return Peaks(rates, bytes_per_second, cache_bytes)

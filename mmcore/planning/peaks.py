"""The peak rates of a GPU, which measured rates are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mmcore.kernel.problem import Problem, dtype_named

# Fused multiply-adds per clock and multiprocessor, by the fastest unit that keeps the type's precision (dense tensor
# cores for the half types, and for float64 where they have it): the CUDA C++ Programming Guide's table of arithmetic
# throughput, and NVIDIA's architecture papers for the tensor cores.
_FMAS = {
    (6, 0): {"float16": 128, "bfloat16": 64, "float32": 64, "float64": 32},
    (6, 1): {"float16": 128, "bfloat16": 128, "float32": 128, "float64": 4},
    (7, 0): {"float16": 512, "bfloat16": 64, "float32": 64, "float64": 32},
    (7, 5): {"float16": 512, "bfloat16": 64, "float32": 64, "float64": 2},
    (8, 0): {"float16": 1024, "bfloat16": 1024, "float32": 64, "float64": 64},
    (8, 6): {"float16": 512, "bfloat16": 512, "float32": 128, "float64": 2},
    (8, 9): {"float16": 512, "bfloat16": 512, "float32": 128, "float64": 2},
    (9, 0): {"float16": 2048, "bfloat16": 2048, "float32": 128, "float64": 128},
    (10, 0): {"float16": 4096, "bfloat16": 4096, "float32": 128, "float64": 64},
    (12, 0): {"float16": 512, "bfloat16": 512, "float32": 128, "float64": 2},
}


@dataclass(frozen=True)
class Peaks:
    """A device's peak rates.

    Attributes:
        flops: FLOP/s by element type of A and B (a fused multiply-add is two).
        bytes_per_second: between device memory and the chip.
        cache_bytes: size of the L2 cache.
    """

    flops: Mapping[str, float]
    bytes_per_second: float
    cache_bytes: int

    def least_seconds(self, problem: Problem, *, cold: bool) -> float:
        """No kernel computes ``problem`` in less: its arithmetic and its memory traffic each take their time.

        Args:
            problem: the product.
            cold: whether nothing of A and B is in the L2 cache beforehand. What is written may stay there.
        """
        inputs = problem.m * problem.k + problem.k * problem.n
        moved = inputs * dtype_named(problem.dtype).itemsize if cold else problem.compulsory_bytes - self.cache_bytes
        return max(problem.flops / self.flops[problem.dtype], moved / self.bytes_per_second)


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
    rates = {dtype: 2.0 * fmas * multiprocessors * clock_hz for dtype, fmas in _FMAS[capability].items()}
    return Peaks(rates, bytes_per_second, cache_bytes)

"""The peak rates of NVIDIA's GPUs."""

from __future__ import annotations

from mmcore.planning.peaks import Peaks

# Fused multiply-adds per clock and multiprocessor, by the fastest unit that keeps the type's precision; 0 if there is
# none. That unit is the tensor cores without sparsity, except for float32 and for float64 on most cards. Sources: the
# CUDA C++ Programming Guide's table of arithmetic throughput, and NVIDIA's architecture papers.
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

_LAUNCH_SECONDS = 1e-6  # an estimate, less than an empty kernel takes within a graph


def peaks(
    capability: tuple[int, int], *, multiprocessors: int, clock_hz: float, bytes_per_second: float, cache_bytes: int
) -> Peaks | None:
    """Return the peak rates of a GPU with its highest clock; None if its arithmetic rates are unknown."""
    if capability not in _FMAS:
        return None
    fmas = zip(_TYPES, _FMAS[capability], strict=True)
    rates = {dtype: 2.0 * each * multiprocessors * clock_hz for dtype, each in fmas if each}
    return Peaks(rates, bytes_per_second, cache_bytes, _LAUNCH_SECONDS)

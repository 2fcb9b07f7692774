"""The predicted time of a kernel on a card: the busiest unit's time, and what it cannot hide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mmcore.kernel.geometry import ceil_div
from mmcore_emulator.profiler.counters import total
from mmcore_performance.evidence import Evidence, LaunchEvidence


@dataclass(frozen=True)
class Prediction:
    """A predicted kernel time, which was not measured.

    Attributes:
        seconds: the predicted time; about half of all kernels are faster.
        low, high: an interval that holds eight of ten measured times.
        limiter: the unit of ``units`` that takes longest.
        units: seconds that each unit is busy, by name.
    """

    seconds: float
    low: float
    high: float
    limiter: str
    units: Mapping[str, float]


_ISSUES = 4.0  # instructions of warps that a multiprocessor issues in a cycle
_BYTES_L2 = 64.0  # bytes in a cycle between a multiprocessor and the L2 cache
_START, _OVERLAP, _SPREAD = 3e-6, 4.0, 1.8


def predict(evidence: Evidence) -> Prediction:
    """Return the predicted time of a product. It is a pure function of the evidence."""
    launches = [_unit_seconds(launch, evidence) for launch in evidence.launches]
    units = {name: sum(launch[name] for launch in launches) for name in launches[0]}
    units["start"] = _START * len(launches)
    seconds = sum(_START + sum(time**_OVERLAP for time in launch.values()) ** (1 / _OVERLAP) for launch in launches)
    return Prediction(seconds, seconds / _SPREAD, seconds * _SPREAD, max(units, key=lambda name: units[name]), units)


def _unit_seconds(launch: LaunchEvidence, evidence: Evidence) -> dict[str, float]:
    """Return the seconds for which each unit is busy at its peak rate."""
    card, counters = evidence.card, total(launch.lines.values())
    blocks = launch.grid.size
    # The multiprocessor with the most blocks decides; where all have some, it is the mean rounded up.
    busiest = ceil_div(blocks, card.multiprocessors) / blocks
    cycle = busiest / card.clock_hz
    peaks = card.peaks
    flops = peaks.flops if peaks else {}
    vector = "float64" if evidence.kernel.dtype == "float64" else "float32"
    vector_rate = flops.get(vector, 1e12) / (2 * card.multiprocessors * card.clock_hz)
    if vector == "float64":
        vector_rate = min(vector_rate, 64.0)  # without tensor cores
    tensor = flops.get(evidence.kernel.unit, flops.get("float16", 1e14))
    return {
        "dispatch": (counters.warp_instructions - launch.mix.get("free", 0.0)) / _ISSUES * cycle,
        "fma": counters.fmas / vector_rate * cycle,
        "tensor": counters.tensor_flops / tensor * busiest * card.multiprocessors,
        "lsu": (launch.traffic.l1_passes + counters.shared_wavefronts) * cycle,
        "l2": launch.traffic.l2_bytes / _BYTES_L2 * cycle,
        "dram": launch.traffic.dram_bytes / card.dram_bytes_per_second,
    }

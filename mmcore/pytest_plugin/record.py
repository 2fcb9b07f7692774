"""What pytest-benchmark stores of a result beside its statistics."""

from __future__ import annotations

from typing import Any

from mmcore.cell import Timing
from mmcore.result import Result


def record(result: Result, timing: Timing) -> dict[str, Any]:
    """The result as JSON-ready values, with what was measured; times in ms, rates in GFLOP/s, null where there is none.

    Args:
        result: a verified result.
        timing: what was timed.
    """
    time = next(iter(result.times), None)
    seconds = None if time is None else time.seconds
    rate = result.gflops(seconds)
    values = result.to_json()
    # pytest-benchmark keeps the rounds' statistics, and the rounds themselves where the user wants them.
    values["times"] = [{**each, "rounds": None} for each in values["times"]]
    return values | {
        "measure": timing.what,
        "caches": timing.how if timing.what == "kernel" else None,
        "memory": timing.how if timing.what == "end-to-end" else None,
        "median_ms": None if seconds is None else seconds * 1e3,
        "spread_percent": None if time is None else 100 * time.spread,
        "clock": "the host's clock around the emulation" if time is None else time.method,
        "gflops": rate,
        "percent_of_peak": None if rate is None or not result.peak_flops else 100e9 * rate / result.peak_flops,
        "emulation_ms": None if result.supports_timing else result.host_seconds * 1e3,
    }

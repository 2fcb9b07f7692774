"""The conditions on a GPU during a measurement: clock, power, temperature, and what limits the clock."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from cuda.core import Device, system

_PERIOD_SECONDS = 0.02
_POWER_INSTANT = 186  # NVML_FI_DEV_POWER_INSTANT, in mW
_TOTAL_ENERGY = 83  # NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, in mJ
# Limits of the clock other than the card's own power limit.
_THROTTLES = {"hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"}
_NORMAL = {"none", "gpu_idle"}


@contextmanager
def conditions(gpu: Device) -> Iterator[dict[str, Any]]:
    """Watch a GPU from a thread during a measurement, and yield a dictionary that is filled at the end.

    It has the median SM clock in MHz, the largest power in W and temperature in °C, and the reasons that limited the
    clock ("clock_reasons"). "throttled" is True if one of them is a fault of cooling or power supply. The dictionary
    stays empty without NVIDIA's management library.
    """
    seen: dict[str, Any] = {}
    readings: list[tuple[float, float, float, set[str]]] = []
    ended = threading.Event()
    try:
        watched = _watched(gpu)
        readings.append(_reading(watched))
    except Exception:  # no library, or no readings from this card
        yield seen
        return

    def watch() -> None:
        while not ended.wait(_PERIOD_SECONDS):
            with suppress(Exception):  # the power reading fails sometimes
                readings.append(_reading(watched))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()
        clocks, powers, temperatures, reasons = zip(*readings[1:] or readings, strict=True)
        held = sorted(set().union(*reasons) - _NORMAL)
        seen.update(
            clock_mhz=statistics.median(clocks),
            power_w=max(powers),
            temperature_c=max(temperatures),
            clock_reasons=held,
            throttled=not _THROTTLES.isdisjoint(held),
        )


def joules(gpu: Device) -> float | None:
    """Return the energy that a GPU has taken since its driver was loaded; None where it is not counted."""
    try:
        return float(_watched(gpu).get_field_values([_TOTAL_ENERGY])[0].value) * 1e-3
    except Exception:  # no library, or no counter on this card
        return None


def _watched(gpu: Device) -> Any:
    """Return a GPU as NVIDIA's management library knows it."""
    return system.Device(uuid=gpu.uuid if gpu.uuid.startswith("GPU-") else f"GPU-{gpu.uuid}")


def _reading(gpu: Any) -> tuple[float, float, float, set[str]]:
    power = gpu.get_field_values([_POWER_INSTANT])[0].value * 1e-3
    reasons = {str(reason) for reason in gpu.current_clock_event_reasons}
    return gpu.get_clock("sm").get_current_mhz(), power, gpu.temperature.get_sensor(), reasons

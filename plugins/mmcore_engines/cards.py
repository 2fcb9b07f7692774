"""Comparison of workers: their software, their card model, and their time for the reference kernel."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from mmcore.cell import Cell
from mmcore.errors import DeviceError, DeviceLost, NoDevice

OUTLIER = 0.03
"""The relative distance from the median time of the reference kernel above which a card is reported."""

_DEVICE_ERRORS = {error.__name__ for error in (DeviceLost, DeviceError, NoDevice)}
_LAUNCH_FAILURES = ("illegal-address", "launch-failure", "misaligned", "process-death")
_EQUAL_FACTS = ("name", "compute_capability", "multiprocessors", "driver")


def incompatibility(hello: Mapping[str, Any], common: Mapping[str, str], first: Mapping[str, Any] | None) -> str:
    """Return the reason why a worker's results are not comparable with the others'; empty if they are.

    Args:
        hello: the worker's answer to its hello.
        common: the head's :func:`~mmcore_engines.device_worker.identity`.
        first: the device of the run's first worker; None for the first itself.
    """
    identity = hello["identity"]
    if identity != common:
        name = min(name for name in {*identity, *common} if identity.get(name) != common.get(name))
        there, here = (versions.get(name, "none") for versions in (identity, common))
        return f"{hello['host']} has another {name} than this host: {there} there, {here} here"
    facts, first_facts = hello["device"]["facts"], (first or hello["device"])["facts"]
    for fact in _EQUAL_FACTS:
        if facts.get(fact) != first_facts.get(fact):
            return (
                f"its {fact.replace('_', ' ')} is {facts.get(fact)}, but the first worker's is {first_facts.get(fact)}"
            )
    return ""


def is_doubtful(answer: Mapping[str, Any]) -> bool:
    """Return True if the card may have caused the outcome: the device or a launch failed."""
    if "error" in answer:
        return answer["error"] in _DEVICE_ERRORS
    values = answer["result"]
    violations = values.get("violations", ()) if isinstance(values, Mapping) else ()
    return any(violation["kind"] in _LAUNCH_FAILURES for violation in violations)


def card_differences(times: Mapping[str, float], reference: Cell | None) -> list[str]:
    """Return sentences on how much the cards' times differ and which cards are outliers; none for a single card.

    Args:
        times: seconds by worker's name.
        reference: the cell that they measured.
    """
    if len(times) < 2 or reference is None:
        return []
    median = statistics.median(times.values())
    percent = 100 * (max(times.values()) / min(times.values()) - 1)
    kernel = f"{reference.kernel} at {reference.m}×{reference.n}×{reference.k}"
    lines = [f"{len(times)} cards differ by {percent:.1f} % in the time of {kernel}"]
    for name, seconds in times.items():
        if abs(seconds / median - 1) > OUTLIER:
            word = "slower" if seconds > median else "faster"
            lines.append(f"{name} is {100 * abs(seconds / median - 1):.1f} % {word} than the median card")
    return lines

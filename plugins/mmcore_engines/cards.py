"""Whether workers may measure one run together, and how much their cards differ."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from mmcore.cell import Cell
from mmcore.errors import DeviceError, DeviceLost, NoDevice

OUTLIER = 0.03
"""How far a card's time for the reference kernel may be from the median of all before it is named."""

_OF_THE_DEVICE = {error.__name__ for error in (DeviceLost, DeviceError, NoDevice)}
_OF_LAUNCHES = ("illegal-address", "launch-failure", "misaligned", "process-death")
_ALIKE = ("name", "compute_capability", "multiprocessors", "driver")


def stranger(found: Mapping[str, Any], common: Mapping[str, str], first: Mapping[str, Any] | None) -> str:
    """Why a worker's results are not comparable with the others', in a clause; empty where they are.

    Args:
        found: the worker's answer to its hello.
        common: the head's :func:`~mmcore_engines.device_worker.identity`.
        first: the device of the run's first worker; None for the first itself.
    """
    theirs = found["identity"]
    if theirs != common:
        name = min(name for name in {*theirs, *common} if theirs.get(name) != common.get(name))
        there, here = (each.get(name, "none") for each in (theirs, common))
        return f"{found['host']} has another {name} than this host: {there} there, {here} here"
    facts, others = found["device"]["facts"], (first or found["device"])["facts"]
    for what in _ALIKE:
        if facts.get(what) != others.get(what):
            return f"its {what.replace('_', ' ')} is {facts.get(what)}, that of the first worker {others.get(what)}"
    return ""


def is_doubtful(answer: Mapping[str, Any]) -> bool:
    """Whether what came of a cell may be its card's fault: the device failed, or a launch did."""
    if "error" in answer:
        return answer["error"] in _OF_THE_DEVICE
    values = answer["result"]
    violations = values.get("violations", ()) if isinstance(values, Mapping) else ()
    return any(violation["kind"] in _OF_LAUNCHES for violation in violations)


def compared_cards(times: Mapping[str, float], reference: Cell | None) -> list[str]:
    """How much cards differ in the time of the reference kernel, and which are far off; nothing for one card.

    Args:
        times: seconds by worker's name.
        reference: the cell that they measured.
    """
    if len(times) < 2 or reference is None:
        return []
    middle = statistics.median(times.values())
    spread = 100 * (max(times.values()) / min(times.values()) - 1)
    what = f"{reference.kernel} at {reference.m}×{reference.n}×{reference.k}"
    lines = [f"{len(times)} cards differ by {spread:.1f} % in the time of {what}"]
    for name, seconds in times.items():
        if abs(seconds / middle - 1) > OUTLIER:
            word = "slower" if seconds > middle else "faster"
            lines.append(f"{name} is {100 * abs(seconds / middle - 1):.1f} % {word} than the median card")
    return lines

"""The reason of much arithmetic of integers beside the multiply-adds."""

from __future__ import annotations

from collections.abc import Iterable

from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.profiler.counters import total
from mmcore_performance.costs import costs, instructions
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.reasons.reason import Reason

_MANY = 3  # instructions on integers for each multiply-add
_LEFT = 2  # of them, about, when addresses advance by constants


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the line with the most arithmetic of integers, if there is much more of it than of multiply-adds.

    It matters where instructions are issued at the highest rate.
    """
    integers = {line: mix["integer"] for line, mix in launch.mix.items() if "integer" in mix}
    fmas, number = total(launch.lines.values()).fmas / WARP, sum(integers.values())
    if not fmas or number < _MANY * fmas or costs(launch, observation.card).limiter != "issue":
        return
    yield Reason(
        "index arithmetic",
        f"{number / fmas:.2g} instructions on integers for each multiply-add, mostly for indices",
        "compute addresses before the loop and add to them, with strides that are constants (template parameters), and "
        "unroll the loop",
        max(integers, key=integers.__getitem__),
        0,
        instructions({"integer": round(number - _LEFT * fmas)}, observation.card),
    )

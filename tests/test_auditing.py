"""Launches on fresh inputs beside repeated ones, read from timeres with made-up times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mmcore.auditing import audit
from mmcore.experiment import Experiment
from mmcore.compile.module import CompiledModule
from mmcore.devices.base import BoundLaunch, Refresh
from mmcore.registry import registry
from tests.timed_emulator import TimedEmulator, TimedModule

Script = Callable[[int], float]


class ScriptedTimer:
    """Says of each reading what a function of the reading's number makes up, in seconds for one of ``count``."""

    method = "a script"
    resolution = 2e-7

    def __init__(self, script: Script) -> None:
        self._script = script
        self.readings: list[float] = []

    def seconds(self, count: int) -> float:
        self.readings.append(count * self._script(len(self.readings)))
        return self.readings[-1]

    def close(self) -> None:
        pass


class ScriptedEmulator(TimedEmulator):
    """A device on which launches and copies take as long as three scripts say.

    Args:
        repeated: launches on the same inputs.
        fresh: launches on fresh inputs, with the copies between them.
        copies: the copies alone.
    """

    def __init__(self, repeated: Script, fresh: Script, copies: Script) -> None:
        super().__init__(lambda source: 1.0)
        self.timeres = {
            (True, False): ScriptedTimer(repeated),
            (True, True): ScriptedTimer(fresh),
            (False, True): ScriptedTimer(copies),
        }

    def load(self, code: CompiledModule) -> TimedModule:
        timeres = self.timeres

        class LoadedModule(TimedModule):
            def timer(self, calls: Sequence[BoundLaunch], *, cold: bool = False, refresh: Sequence[Refresh] = ()) -> Any:
                return timeres[bool(calls), bool(refresh)]

        return LoadedModule(self._memory, code, self.deadline, lambda source: 1.0)


def always(seconds: float) -> Script:
    return lambda reading: seconds


def disturbed(seconds: float, *, until: int, by: float) -> Script:
    """Longer in the first readings, now more and now less, as if somebody else used the device."""
    return lambda reading: seconds + (by * (1 + reading % 2) if reading < until else 0.0)


def audited(repeated: Script, fresh: Script, copies: Script) -> tuple[list[str], float, int]:
    """What an audit finds, the device seconds it takes, and how many readings of each kind at most."""
    kernel = registry().kernel("upc.kernel01")
    device = ScriptedEmulator(repeated, fresh, copies)
    with Experiment(kernel, kernel.problem(8, 8, 8), kernel.block("8"), device) as experiment:
        outcome = audit(experiment, experiment.verify())
    readings = [timer.readings for timer in device.timeres.values()]
    return [str(violation) for violation in outcome.violations], sum(map(sum, readings)), max(map(len, readings))


@pytest.mark.parametrize("seconds", [2e-6, 1e-4, 1e-2, 1.1, 30.0])
def test_a_kernel_that_does_the_same_work_each_time_is_not_accused(seconds: float) -> None:
    found, _, most = audited(always(seconds), always(seconds + 4e-6), always(4e-6))
    assert not found
    assert most <= 4


@pytest.mark.parametrize("seconds", [2e-5, 1e-4, 1e-2, 1.1, 30.0])
def test_a_kernel_that_is_faster_when_repeated_is_accused(seconds: float) -> None:
    found, _, _ = audited(always(seconds), always(1.4 * seconds + 4e-6), always(4e-6))
    assert len(found) == 1
    assert found[0].startswith(f"unrepeatable: launched again on the same inputs it takes {seconds * 1e6:.2f} µs, ")


def test_who_disturbs_the_first_readings_misleads_it_neither_way() -> None:
    right, wrong = 1e-4, 1.4e-4
    assert not audited(always(right), disturbed(right, until=6, by=3e-4), always(4e-6))[0]
    assert audited(disturbed(right, until=6, by=3e-4), always(wrong), always(4e-6))[0]
    assert audited(always(right), always(wrong), disturbed(4e-6, until=6, by=1e-4))[0]


def test_a_slow_kernel_is_not_read_again_because_its_copies_take_now_longer_now_shorter() -> None:
    found, seconds, most = audited(always(1.1), always(1.1), lambda reading: 4e-6 * (1 + reading % 2))
    assert not found
    assert most <= 2
    assert seconds < 4


def test_an_accused_slow_kernel_is_read_three_times() -> None:
    found, seconds, most = audited(always(1.1), always(2.2), always(4e-6))
    assert len(found) == 1
    assert most == 4
    assert seconds == pytest.approx(2.2 + 3 * 3.3, rel=1e-3)

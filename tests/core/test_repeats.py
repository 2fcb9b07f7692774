"""Launches on fresh inputs compared with repeated ones, with timers that return made-up readings."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmcore import Kernel
from mmcore.cell import Cell, Timing
from mmcore.devices.base import Call, Refresh
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.executor.choose_device import open_device
from mmcore.measure import measure
from mmcore.planning.plan import plan
from mmcore.registry import registry
from mmcore.verify.inputs import draw
from mmcore.verify.outcome import Verification
from mmcore.verify.repeatability import compare_repeats
from mmcore.verify.verify_launches import Verified, verify_launches
from mmcore_emulator.adapter.device import EmulatedBuffer, Emulator
from tests.conftest import DEVICES
from tests.kernel_sources import kernel_source
from tests.timed_emulator import ScriptedTimer

Script = Callable[[int], float]
"""Seconds of one launch, by the number of the reading."""
RESOLUTION = 2e-7


def always(seconds: float) -> Script:
    return lambda reading: seconds


def disturbed(seconds: float, *, until: int, by: float) -> Script:
    """Return a script with longer first readings, like those of a device in use."""
    return lambda reading: seconds + (by * (1 + reading % 2) if reading < until else 0.0)


@pytest.fixture(scope="module")
def loaded() -> Iterator[LoadedKernel]:
    """Yield a loaded 8×8×8 kernel after its verification."""
    kernel, device = registry().kernel("upc.kernel01"), Emulator()
    planned = plan(kernel, kernel.problem(8, 8, 8), kernel.config(block=(8, 8)), device.properties)
    with LoadedKernel(planned, device) as found:
        assert verify_launches(found, planned.problem, draw(planned.problem, 1)).right
        yield found


class SharedCard:
    """A card that other processes use too, for some milliseconds now and then.

    Args:
        seed: of its random numbers.
        share: how often a reading is interrupted before its launches begin, and in each two milliseconds of them.
        slices: how long an interruption lasts, from and to.
    """

    def __init__(self, seed: int, share: float, slices: tuple[float, float]) -> None:
        self.random, self.share, self.slices = random.Random(seed), share, slices
        self.clock = 1.0

    def seconds(self, own: float) -> float:
        """Return the time between events around launches of this duration."""
        self.clock = min(max(self.clock * self.random.uniform(0.997, 1.003), 0.97), 1.03)
        total = own * self.clock * self.random.uniform(1.0, 1.01) + 4e-6
        for _ in range(1 + int(own / 2e-3)):
            if self.random.random() < self.share:
                total += self.random.uniform(*self.slices) + self.random.uniform(0, 2e-5)  # L2 is filled again
        return round(total / 5e-7) * 5e-7


class Comparison:
    """The outcome of a comparison, with the timers that it read.

    The timers are those of launches (True) and of the copies before them (False), each with the number of their inputs.
    """

    def __init__(
        self, loaded: LoadedKernel, timers: dict[tuple[bool, int], ScriptedTimer], *host_seconds: float | None
    ) -> None:
        self.timers = timers
        self.refresh: Sequence[Refresh] = ()
        verification = Verification(verified=True, max_error=0.0, mismatch=None, method="made up", wrong=0, compared=64)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loaded.module, "timer", self._timer)
            patch.setattr(loaded, "device", Emulator())
            first, launched = host_seconds or (1e9, None)
            assert first is not None
            verified = Verified(verification, (), first)
            outcome = compare_repeats(loaded, loaded.plan.problem, 1, verified, launched)
        self.found = list(outcome.violations)
        assert outcome.verification
        self.note = outcome.verification.method
        self.readings = [timer.readings for timer in self.timers.values()]
        assert all(timer.closed or not timer.readings for timer in self.timers.values())

    def _timer(self, calls: Sequence[Call], *, cold: bool = False, refresh: Sequence[Refresh] = ()) -> Any:
        self.refresh = (*self.refresh, *refresh) if calls else self.refresh
        return self.timers[bool(calls), len(refresh)]

    @property
    def verdict(self) -> str:
        return "accused" if self.found else "unclear" if "cannot tell" in self.note else "innocent"


def compared(
    loaded: LoadedKernel,
    repeated: Script,
    fresh: Script,
    copies: Script,
    *host_seconds: float | None,
    many: Script | None = None,
    same_copies: Script | None = None,
) -> Comparison:
    """Compare by scripts: launches on the same inputs, on fresh ones, and the copies before either.

    ``many`` are launches without copies, and ``same_copies`` those before launches on the same inputs; by default they
    take as long as launches on the same inputs, and as other copies.
    """
    same = same_copies or copies
    scripts: dict[tuple[bool, int], Script] = {
        (True, 0): many or repeated,
        (True, 1): lambda reading: repeated(reading) + same(reading),
        (False, 1): same,
        (True, 2): fresh,
        (False, 2): copies,
    }
    return Comparison(loaded, {which: scripted(each) for which, each in scripts.items()}, *host_seconds)


def scripted(script: Script) -> ScriptedTimer:
    return ScriptedTimer(lambda count, number: count * script(number), RESOLUTION)


def on_a_shared_card(loaded: LoadedKernel, card: SharedCard, own: float, fresh: float, copies: float) -> str:
    """Return the verdict on a kernel on a card that other processes use, whose launches always take equally long."""

    def timer(each: float) -> ScriptedTimer:
        return ScriptedTimer(lambda count, number: card.seconds(count * each), RESOLUTION)

    seconds = {(True, 0): own, (True, 1): own + copies, (False, 1): copies, (True, 2): fresh + copies}
    return Comparison(loaded, {which: timer(each) for which, each in {**seconds, (False, 2): copies}.items()}).verdict


SLICES = (5e-4, 2.5e-3)
UNITED = (2e-3, 2.02e-3)  # all equally long


@pytest.mark.parametrize("slices", [SLICES, UNITED])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9, 1.0])
@pytest.mark.parametrize(("seconds", "copies"), [(2e-6, 4e-6), (8e-6, 2e-5), (1e-4, 3e-5), (5e-3, 5e-5)])
def test_a_kernel_that_does_the_same_work_is_not_accused_on_a_shared_card(
    loaded: LoadedKernel, seconds: float, copies: float, share: float, slices: tuple[float, float]
) -> None:
    cards = (SharedCard(seed, share, slices) for seed in range(6))
    verdicts = [on_a_shared_card(loaded, card, seconds, 1.05 * seconds, copies) for card in cards]
    assert "accused" not in verdicts
    if share <= 0.3 and seconds < 1e-3:
        assert set(verdicts) == {"innocent"}


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6])
@pytest.mark.parametrize(("seconds", "copies"), [(8e-6, 2e-5), (1e-4, 3e-5), (5e-3, 5e-5)])
def test_remembering_is_found_on_a_shared_card(
    loaded: LoadedKernel, seconds: float, copies: float, share: float
) -> None:
    cards = (SharedCard(seed, share, SLICES) for seed in range(6))
    verdicts = [on_a_shared_card(loaded, card, seconds, 3 * seconds, copies) for card in cards]
    assert "innocent" not in verdicts
    if share <= 0.3:
        assert set(verdicts) == {"accused"}


def test_the_method_of_verification_names_an_unclear_comparison(loaded: LoadedKernel) -> None:
    noise = random.Random(1)
    made = compared(loaded, *(lambda reading: noise.uniform(1e-4, 9e-4),) * 3)
    assert not made.found
    assert made.note == (
        "made up; cannot tell whether repeated launches do the whole work: readings of their time differ too much"
    )


def test_repeated_launches_that_seem_to_take_no_time_are_no_proof(loaded: LoadedKernel) -> None:
    """Copies that took longer, whenever they were read, than copies and a launch: the difference is not above 0."""
    scripts = always(8e-6), always(8.19e-6 + 1e-5), always(1e-5)
    assert not compared(loaded, *scripts, same_copies=always(1.9e-5), many=always(8e-6)).found


@pytest.mark.parametrize("seconds", [2e-6, 1e-4, 1e-2, 1.1, 30.0])
def test_a_kernel_that_does_the_same_work_each_time_is_not_accused(loaded: LoadedKernel, seconds: float) -> None:
    made = compared(loaded, always(seconds), always(1.2 * seconds + 4e-6), always(4e-6))
    assert not made.found
    assert max(map(len, made.readings)) <= 15


@pytest.mark.parametrize("seconds", [2e-5, 1e-4, 1e-2, 1.1, 30.0])
def test_a_kernel_that_is_faster_when_repeated_is_accused(loaded: LoadedKernel, seconds: float) -> None:
    made = compared(loaded, always(seconds), always(1.4 * seconds + 4e-6), always(4e-6))
    assert [str(violation) for violation in made.found] == [
        f"unrepeatable: launched again on the same inputs it takes {seconds * 1e6:.2f} µs, "
        f"but {1.4 * seconds * 1e6:.2f} µs on fresh ones: repeated launches do not do the whole work"
    ]


def test_copies_of_the_same_inputs_may_be_faster_than_those_of_fresh_ones(loaded: LoadedKernel) -> None:
    assert not compared(loaded, always(8e-6), always(18e-6), always(10e-6), same_copies=always(6e-6)).found


@pytest.mark.parametrize(("many", "accused"), [(6e-5, False), (4e-5, True)])
def test_back_to_back_launches_may_be_a_bit_faster(loaded: LoadedKernel, many: float, accused: bool) -> None:
    """Such launches find other data in L2, but a launch that is too fast may have found its work already done."""
    made = compared(loaded, always(1e-4), always(1e-4), always(0.0), many=always(many))
    assert bool(made.found) == accused


def test_a_launch_that_fails_is_what_is_found(loaded: LoadedKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    failure = Violation("launch-failure", "it failed", fatal=True)
    monkeypatch.setattr(loaded.module, "run", lambda calls: [failure])
    assert compared(loaded, always(1e-4), always(1e-4), always(0.0)).found == [failure]


def test_each_reading_has_as_many_launches_on_the_one_inputs_as_on_the_other(loaded: LoadedKernel) -> None:
    for seconds in (2.9e-4, 5e-3, 0.3):
        made = compared(loaded, always(seconds), always(seconds), always(0.0))
        counts = {round(reading / seconds) for reading in made.timers[True, 2].readings} - {1}  # 1 to find out how long
        assert len(counts) == 1
        assert all(count > 0 and count % 2 == 0 for count in counts)


def test_disturbed_first_readings_mislead_it_neither_way(loaded: LoadedKernel) -> None:
    right, wrong = 1e-4, 1.4e-4
    assert not compared(loaded, always(right), disturbed(right, until=6, by=3e-4), always(4e-6)).found
    assert compared(loaded, disturbed(right, until=6, by=3e-4), always(wrong), always(4e-6)).found
    assert compared(loaded, always(right), always(wrong), disturbed(4e-6, until=6, by=1e-4)).found


def uneven(reading: int) -> float:
    return 4e-6 * (1 + reading % 2)


def slower(reading: int) -> float:
    """Return more seconds than the first launch takes, which alone decides how many launches a reading has."""
    return 1e-6 if reading == 0 else 1e-3


@pytest.mark.parametrize(
    ("repeated", "fresh", "copies", "accused", "counts"),
    [
        pytest.param(1.1, always(1.1), uneven, False, [2, 2, 11, 2, 11], id="uneven copies beside slow launches"),
        pytest.param(1e-3, always(1e-3), uneven, False, [15] * 5, id="copies of a small part of a launch"),
        pytest.param(1.1, always(2.2), always(4e-6), True, [4, 4, 13, 4, 13], id="an accused kernel is read again"),
        pytest.param(1e-3, slower, always(0.0), False, [11] * 5, id="readings end after a second together"),
        pytest.param(5e-4, slower, always(0.0), True, [13] * 5, id="accused readings end after a second"),
    ],
)
def test_how_often_times_are_read(
    loaded: LoadedKernel, repeated: float, fresh: Script, copies: Script, accused: bool, counts: list[int]
) -> None:
    made = compared(loaded, always(repeated), fresh, copies)
    assert len(made.found) == accused
    assert [len(readings) for readings in made.readings] == counts


def test_a_launch_that_took_no_longer_than_the_timed_ones_is_comparison_enough(loaded: LoadedKernel) -> None:
    scripts = always(0.05), always(1.0), always(0.0)
    assert not compared(loaded, *scripts, 0.06, 0.05).found
    assert compared(loaded, *scripts, 0.07, 0.05).found
    assert compared(loaded, *scripts, 0.01, None).found
    assert compared(loaded, always(1e-6), always(0.05), always(0.0), 0.05, 1e-6).found


def test_fresh_launches_find_other_inputs_and_no_product_in_turns(loaded: LoadedKernel) -> None:
    made = compared(loaded, always(1e-4), always(1e-4), always(0.0))
    same, first, second = ({copy.target.label: copy for copy in refresh} for refresh in made.refresh)
    assert set(first) == set(second) == {"A", "B", "C"}
    for label in "ABC":
        assert first[label].target is second[label].target is loaded.buffers[label]
        assert same[label].target is first[label].target
        copies = (first[label], second[label], same[label])
        one, other, again = (bytes(copy.source.array.content) for copy in copies)  # type: ignore[attr-defined]
        assert (one == other) == (label == "C")
        assert (one == again) == (label != "C")


def test_repeated_launches_find_their_product(loaded: LoadedKernel) -> None:
    *_, copy = compared(loaded, always(1e-4), always(1e-4), always(0.0)).refresh[0]
    matrices = draw(loaded.plan.problem, 1)
    product = np.frombuffer(bytes(copy.source.array.content), np.float32)  # type: ignore[attr-defined]
    np.testing.assert_allclose(product[:64].reshape(8, 8), matrices.a @ matrices.b, rtol=1e-5)


def test_a_lack_of_memory_skips_the_comparison(loaded: LoadedKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_emulator.adapter.device.host_memory_bytes", lambda: 4 * loaded.plan.device_bytes)
    made = compared(loaded, always(1e-6), always(1.0), always(0.0))
    assert made.found == [] == [reading for readings in made.readings for reading in readings]


def test_the_inputs_are_freed_afterwards(loaded: LoadedKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[EmulatedBuffer] = []
    closed: list[EmulatedBuffer] = []

    class Noting(Emulator):
        def allocate(self, label: str, nbytes: int, over_read_bytes: int = 0) -> EmulatedBuffer:
            opened.append(super().allocate(label, nbytes, over_read_bytes))
            return opened[-1]

    monkeypatch.setattr(EmulatedBuffer, "close", lambda buffer: closed.append(buffer))
    monkeypatch.setattr("tests.core.test_repeats.Emulator", Noting)
    compared(loaded, always(1e-4), always(1e-4), always(0.0))
    assert len(opened) == 9
    assert closed == opened[::-1]


# On a GPU that other processes use.

LOAD = """
from mmcore.cell import Cell, Timing
from mmcore.executor.choose_device import open_device
from mmcore.measure import Phases, measure
phases = Phases(lambda phase: print("busy", flush=True) if phase == "time" else None)
timing = Timing(max_seconds=120.0, min_rounds=1)
measure(Cell("upc.kernel11", 640, 640, 640, timings=(timing,)), open_device("cuda"), phases=phases)
"""

REMEMBERS = kernel_source("remembers")


@pytest.fixture
def other_processes() -> Iterator[None]:
    """Run two processes that use the GPU, for at most two minutes."""
    with ExitStack() as running:
        for _ in range(2):
            process = subprocess.Popen([sys.executable, "-c", LOAD], stdout=subprocess.PIPE, text=True)
            running.callback(process.wait)
            running.callback(process.kill)
            assert process.stdout
            running.callback(process.stdout.close)
            assert process.stdout.readline() == "busy\n"
        yield


@pytest.mark.slow
@pytest.mark.skipif("cuda" not in DEVICES, reason="there is no GPU on this machine")
@pytest.mark.usefixtures("other_processes")
def test_while_two_other_processes_use_the_gpu_right_kernels_are_right_and_what_remembers_is_not(cu_file: Path) -> None:
    cu_file.write_text(REMEMBERS)
    remembers = Kernel(name="acme.remembers", source=cu_file, configs=[{"block": (16, 16)}])
    device = open_device("cuda")
    timings = (Timing("kernel", "warm", max_seconds=0.05),)
    for _ in range(15):
        for name in ("upc.kernel01", "hpsee.tiled", "poznan.v5"):
            result = measure(Cell(name, 256, 256, 256, timings=timings), device)
            assert result.verified, result.failures()
    result = measure(Cell(remembers.name, 256, 256, 256, timings=timings), device, remembers)
    assert result.verification
    assert "launched again on the same inputs" in str(result.violations) or "cannot tell" in result.verification.method

"""Times beside those of saved runs: the answer of each cell, and the report."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from mmcore.baseline_comparison import BEFORE, BaselineComparison
from mmcore.cell import Cell, Timing
from mmcore.result import Result
from mmcore.timing import Time
from mmcore_pytest.report import before_and_now
from mmcore_pytest.run_comparison import compared_runs, run_ratio

TEST = "bench/test_kernels.py::test_kernel[acme.fast-8]"


def now(rounds: Sequence[float], clock: float | None = None) -> Result:
    conditions = {} if clock is None else {"clock_mhz": clock}
    return Result(Cell("acme.fast", 8, 8, 8), "acme.fast", times=(timed(rounds),), conditions=conditions)


def timed(rounds: Sequence[float]) -> Time:
    return Time(Timing(), tuple(rounds), 1, "made up")


def saved(median: float, clock: float | None = None, spread: float = 0.001) -> dict[str, Any]:
    """Return a saved benchmark as pytest-benchmark writes it."""
    bounds = [1e3 * median * (1 - spread), 1e3 * median * (1 + spread)]
    stats = {"median": median, "q1": 0.9 * median, "q3": 1.1 * median}
    return {"stats": stats, "extra_info": {"median_interval_ms": bounds, "conditions": {"clock_mhz": clock}}}


@pytest.mark.parametrize(
    ("before", "seconds", "answer"),
    [
        ([1.0], 1.0, "same"),
        ([1.0], 1.019, "same"),
        ([1.0], 0.95, "faster"),
        ([1.0], 1.05, "slower"),
        ([1.0], 0.975, "same"),
        ([1.0, 1.08], 1.03, "cannot tell"),  # the saved runs differ by more than is called the same
        ([1.0, 1.04], 1.10, "slower"),
        ([1.0, 1.001, 0.999], 1.01, "slower"),  # three runs show that runs agree better than single ones are trusted to
        ([1.0, 1.06, 0.94], 1.1, "cannot tell"),  # and that they agree less
    ],
)
def test_a_time_is_compared_with_how_much_runs_differ(before: list[float], seconds: float, answer: str) -> None:
    ratio = run_ratio(now([seconds] * 9), [saved(each) for each in before])
    assert ratio is not None
    assert ratio.answer == answer


def test_wide_rounds_cannot_tell() -> None:
    rounds = [0.9, 0.92, 0.95, 0.97, 1.0, 1.03, 1.05, 1.08, 1.1]
    for result, run in ((now(rounds), saved(1.0)), (now([1.0] * 9), saved(1.0, spread=0.1))):
        ratio = run_ratio(result, [run])
        assert ratio is not None
        assert ratio.answer == "cannot tell"
    old = saved(1.0)
    del old["extra_info"]  # the quartiles stand in for the interval
    assert getattr(run_ratio(now([1.0] * 9), [old]), "interval", (0, 0))[0] == pytest.approx(0.9 * 0.98)
    for rounds_of_run in (["a"], [1.0] * 8, None):
        run = saved(1.0)
        run["stats"]["data"] = rounds_of_run
        assert getattr(run_ratio(now([1.0] * 9), [run]), "answer", "") == "same"


@pytest.mark.parametrize(
    ("clock", "seconds", "answer"),
    [
        (1900.0, 1.06, "slower"),  # more cycles, too
        (1700.0, 1.10, "cannot tell"),  # the clock fell by more than the time grew
        (None, 1.10, "slower"),
    ],
)
def test_clock_cycles_confirm_an_answer_where_the_clock_moved(clock: float | None, seconds: float, answer: str) -> None:
    ratio = run_ratio(now([seconds] * 9, clock), [saved(1.0, 1980.0)])
    assert ratio is not None
    assert ratio.answer == answer
    lines = [*compared_runs({TEST: now([seconds] * 9, clock)}, {"0001.json": {TEST: saved(1.0, 1980.0)}}).lines()]
    assert lines[:2] == [f"mmcore: beside 0001.json: 1 {answer}", f"  {answer}: test_kernel[acme.fast-8]"]
    assert ("times in clock cycles, at 1980 and" in lines[2]) is (clock is not None)


@pytest.mark.parametrize("runs", [1, 3, 6])
def test_of_equal_code_few_cells_are_called_faster_or_slower(runs: int) -> None:
    source = random.Random(runs)
    answers = []
    for _ in range(400):
        medians = [source.lognormvariate(0, 0.005) for _ in range(runs + 1)]
        ratio = run_ratio(now([medians[0]] * 9), [saved(each) for each in medians[1:]])
        assert ratio is not None
        answers.append(ratio.answer)
    wrong = sum(answer in ("faster", "slower") for answer in answers)
    assert wrong <= 400 * 0.05 + 2 * (400 * 0.05 * 0.95) ** 0.5


def test_only_cells_with_a_time_in_both_are_compared() -> None:
    result = now([1.0] * 9)
    assert compared_runs({TEST: result}, {}).ratios == {}
    assert compared_runs({TEST: replace(result, times=())}, {"0001.json": {TEST: saved(1.0)}}).ratios == {}
    assert compared_runs({TEST: result}, {"0001.json": {TEST: saved(0.0)}}).ratios == {}
    both = compared_runs({TEST: result}, {"0001.json": {TEST: saved(1.0)}, "0002.json": {TEST: saved(1.0)}})
    assert [*both.lines()] == ["mmcore: beside 0001.json and 0002.json: 1 same"]


def test_another_version_in_the_same_run_has_an_answer_too() -> None:
    def beside(factor: float, rounds: int = 9) -> Result:
        own, other = (timed([seconds] * rounds) for seconds in (1.0, factor))
        compared = BaselineComparison("acme.fast", BEFORE, other, "", factor, (factor * 0.999, factor * 1.001))
        return replace(now(own.rounds), compared=(compared,), config_id="b8")

    lines = [*before_and_now([beside(1.0), beside(1.2), beside(0.5), beside(1.2, rounds=3)])]
    assert lines == [
        "mmcore: beside the other version: 1 same, 1 faster, 1 slower, 1 cannot tell",
        "  acme.fast 8×8×8 b8: 120.0 % of before (119.9–120.1 %): faster",
        "  acme.fast 8×8×8 b8: 50.0 % of before (50.0–50.0 %): slower",
        "  acme.fast 8×8×8 b8: 120.0 % of before (119.9–120.1 %): cannot tell",
    ]
    assert [*before_and_now([now([1.0])])] == []
    (compared,) = beside(1.2).compared
    assert compared.to_json()["answer"] == "faster"
    assert BaselineComparison.from_json(compared.to_json()) == compared

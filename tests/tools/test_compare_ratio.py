"""The ratio of two times: its interval over made-up rounds, and the answer that follows."""

from __future__ import annotations

import random

import pytest

from mmcore import kernels
from mmcore.baseline_comparison import BaselineComparison
from mmcore.cell import Timing
from mmcore.time_ratio import Ratio
from mmcore.timing import Time
from mmcore_tools.compare import report

DRAWS = 200


def ratio(a: list[float], b: list[float]) -> Ratio:
    """Return the ratio of rounds that took turns."""
    this, other = (Time(Timing(), tuple(rounds), 1, "made up") for rounds in (b, a))
    found = BaselineComparison.of(kernels()["upc.kernel11"], this, other)
    assert found.faster is not None
    assert found.interval is not None
    return Ratio(found.faster, found.interval)


def draw(source: random.Random, true: float, noise: float, rounds: int) -> Ratio:
    """Return a ratio of rounds whose times drift together, with log-normal noise of their own and slow outliers."""
    a, b = list[float](), list[float]()
    drift = 1.0
    for _ in range(rounds):
        drift *= source.lognormvariate(0, 0.005)
        late = 1.5 if source.random() < 0.05 else 1.0
        a.append(1e-3 * drift * true * source.lognormvariate(0, noise) * late)
        b.append(1e-3 * drift * source.lognormvariate(0, noise))
    return ratio(a, b)


@pytest.mark.parametrize("rounds", [9, 20, 50])
@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_the_interval_contains_the_true_ratio_in_95_of_100_draws(noise: float, rounds: int) -> None:
    source = random.Random(rounds)
    drawn = [draw(source, 1.3, noise, rounds) for _ in range(DRAWS)]
    # The outliers move the median by 5 % of the noise or less.
    covered = sum(low <= 1.3 <= high for low, high in (each.interval for each in drawn))
    assert covered >= 0.95 * DRAWS - 2 * (DRAWS * 0.95 * 0.05) ** 0.5


@pytest.mark.parametrize(
    ("true", "noise", "rounds", "answers"),
    [
        (1.3, 0.02, 20, {"faster"}),
        (1 / 1.3, 0.02, 20, {"slower"}),
        (1.0, 0.001, 20, {"same"}),
        (1.004, 0.001, 20, {"same"}),
    ],
)
def test_clear_rounds_have_one_answer(true: float, noise: float, rounds: int, answers: set[str]) -> None:
    source = random.Random(1)
    assert {draw(source, true, noise, rounds).answer for _ in range(DRAWS)} == answers


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_equal_kernels_are_seldom_called_different(noise: float) -> None:
    source = random.Random(2)
    answers = [draw(source, 1.0, noise, 20).answer for _ in range(DRAWS)]
    assert sum(each in ("faster", "slower") for each in answers) <= 0.05 * DRAWS + 2 * (DRAWS * 0.05 * 0.95) ** 0.5
    assert "cannot tell" in answers


@pytest.mark.parametrize(
    ("interval", "clocks", "cycles", "answer"),
    [
        ((1.02, 1.05), None, None, "faster"),
        ((0.90, 0.95), None, None, "slower"),
        ((0.99, 1.01), None, None, "same"),
        ((1.001, 1.009), None, None, "same"),
        ((0.98, 1.02), None, None, "cannot tell"),
        ((1.0, 1.3), None, None, "cannot tell"),
        ((1.001, 1.05), None, None, "faster"),
        ((1.02, 1.05), (1980.0, 1500.0), 1.04, "faster"),
        ((1.02, 1.05), (1980.0, 1500.0), 0.9, "cannot tell"),
        ((1.02, 1.05), (1980.0, 1975.0), 0.9, "faster"),  # the clock has not moved
        ((0.90, 0.95), (1500.0, 1980.0), 1.1, "cannot tell"),
        ((0.90, 0.95), (1500.0, 1980.0), 0.9, "slower"),
    ],
)
def test_the_answer_follows_from_the_interval_and_the_clock(
    interval: tuple[float, float], clocks: tuple[float, float] | None, cycles: float | None, answer: str
) -> None:
    assert Ratio(sum(interval) / 2, interval, clocks, cycles).answer == answer


@pytest.mark.parametrize(
    ("seconds", "text"), [(960e-6, "960 µs"), (9.553e-6, "9.55 µs"), (1.0903e-3, "1.09 ms"), (999.7e-6, "1.00 ms")]
)
def test_a_predicted_time_has_the_unit_that_fits(seconds: float, text: str) -> None:
    assert report._predicted(seconds) == text

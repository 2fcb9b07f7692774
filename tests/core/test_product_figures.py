"""Figures of a timed product besides its time: the error against the exact product, and energy."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mmcore import product_figures
from mmcore.cell import Cell, Timing
from mmcore.kernel.problem import Problem
from mmcore.measure import measure
from mmcore.product_figures import exact_error
from mmcore.verify.inputs import draw
from tests.timed_emulator import ScriptedTimer, TimedEmulator

BRIEF = (Timing(max_seconds=0.05, min_rounds=3),)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_the_error_is_that_against_the_exact_product(dtype: str) -> None:
    problem = Problem(5, 6, 301, dtype, "float64")
    matrices = draw(problem, 1)
    c = matrices.a.astype(np.float64) @ matrices.b.astype(np.float64)
    if dtype != "float64":  # of these numbers, the sum in float64 is exact
        c = c.astype(np.float32).astype(np.float64)
    places: list[Any] = [(0, 0), (4, 5), (2, 3)]
    squares = []
    for row, column in places:
        terms = [
            Fraction(float(a)) * Fraction(float(b)) for a, b in zip(matrices.a[row], matrices.b[:, column], strict=True)
        ]
        squares.append(((Fraction(float(c[row, column])) - sum(terms)) / sum(map(abs, terms))) ** 2)
    expected = math.sqrt(sum(squares) / 3)
    assert 0 < expected < (1e-16 if dtype == "float64" else 1e-7)
    assert exact_error(problem, matrices, c, places) == pytest.approx(expected, rel=1e-9)
    c[0, 0] = float(
        sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(matrices.a[0], matrices.b[:, 0], strict=True))
    )
    assert exact_error(problem, matrices, c, places[:1]) < 2e-17 / math.sqrt(301)


def test_a_cell_has_the_figures_that_it_asks_for_of_what_took_turns_with_it_too() -> None:
    device = TimedEmulator(lambda source: 1e-3)
    cell = Cell("upc.kernel01", 64, 64, 64, timings=BRIEF, baseline="upc.kernel10")
    plain, asked = measure(cell, device), measure(Cell(**{**vars(cell), "figures": ("error", "energy")}), device)
    assert "error" not in plain.figures
    assert plain.compared[0].figures == {}
    (other,) = asked.compared
    for figures in (asked.figures, other.figures):
        assert 0 < (figures["error"] or 0) < 1e-7
        assert "gflops_per_watt" not in figures  # the product is small
    assert type(asked).from_json(asked.to_json()) == asked


@pytest.mark.parametrize(
    ("size", "power", "period", "found"),
    [(4096, 500.0, 0.02, True), (4096, None, 0.02, False), (1024, 500.0, 0.02, False), (4096, 500.0, 100.0, False)],
)
def test_energy_is_counted_between_two_moves_of_the_counter(
    size: int, power: float | None, period: float, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(product_figures, "_SECONDS", 0.4)
    monkeypatch.setattr(product_figures, "_WARM_SECONDS", 0.1)
    begin = time.perf_counter()

    def joules() -> float | None:
        return None if power is None else power * period * math.floor((time.perf_counter() - begin) / period)

    def run(count: int, number: int) -> float:
        time.sleep(2e-3 * count)
        return 2e-3 * count

    timer = ScriptedTimer(run)
    module = SimpleNamespace(timer=lambda calls: timer)
    plan = SimpleNamespace(problem=Problem(size, size, size))
    loaded: Any = SimpleNamespace(plan=plan, device=SimpleNamespace(joules=joules), module=module, calls=())
    figures = product_figures.product_figures(("error", "energy"), loaded, None, 2e-3)
    assert figures.keys() == ({"gflops_per_watt"} if found else set())
    if found:
        assert figures["gflops_per_watt"] == pytest.approx(2 * size**3 / 2e-3 / 1e9 / 500, rel=0.2)
        assert timer.counts == [200, 200]

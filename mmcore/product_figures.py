"""Figures of a product besides its time: its error against the exact product, and the work for each joule."""

from __future__ import annotations

import math
import threading
import time
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.kernel.problem import Problem
from mmcore.verify.elements import widen
from mmcore.verify.inputs import Matrices
from mmcore.verify.verify_launches import rows_of

_ELEMENTS = 64
_SPLITTER = 2.0**27 + 1
# A smaller product does not keep a card busy. The counter of energy moves some ten times a second.
_LEAST_FLOPS, _SECONDS, _WARM_SECONDS, _PERIOD_SECONDS = 1e11, 1.2, 0.2, 0.005
_LEAST_MOVES = 3


def product_figures(
    names: tuple[str, ...], loaded: LoadedKernel, matrices: Matrices | None, seconds: float
) -> dict[str, float | None]:
    """Return the named figures of a timed kernel that the device and the product have.

    Args:
        names: names in :data:`mmcore.cell.FIGURES`.
        loaded: the kernel with its inputs.
        matrices: these inputs; None if they are unknown.
        seconds: the kernel time.
    """
    problem, figures = loaded.plan.problem, dict[str, float | None]()
    if "error" in names and matrices is not None and problem.alpha == 1 and not problem.accumulate:
        figures["error"] = _error(loaded, matrices)
    if "energy" in names and problem.flops >= _LEAST_FLOPS:
        joules = _joules(loaded, seconds)
        figures["gflops_per_watt"] = joules and problem.flops / joules / 1e9
    return {name: value for name, value in figures.items() if value is not None}


def _error(loaded: LoadedKernel, matrices: Matrices) -> float | None:
    """Return the root mean square of |C - A·B| over |A|·|B| of random elements; None if the launches fail."""
    problem = loaded.plan.problem
    if loaded.run():
        return None
    content = np.empty(problem.span("C"), problem.dtype_of("C").storage)
    loaded.buffers["C"].download(content)
    rng = np.random.default_rng()
    places = zip(rng.integers(problem.m, size=_ELEMENTS), rng.integers(problem.n, size=_ELEMENTS), strict=True)
    return exact_error(problem, matrices, rows_of(loaded.plan, "C", content), [*places])


def exact_error(problem: Problem, matrices: Matrices, c: NDArray[Any], places: list[tuple[np.intp, np.intp]]) -> float:
    """Return the root mean square of |C - A·B| over |A|·|B| of the elements of ``c`` at these rows and columns."""
    squares = []
    for row, column in places:
        a, b = widen(matrices.a[row], problem.dtype), widen(matrices.b[:, column], problem.dtype)
        products = a * b
        (got,) = widen(c[row : row + 1, column], problem.output)
        # The sum of the products, of their rounding errors and of -C is rounded once.
        difference = math.fsum([*products, *_rounding_errors(a, b, products), -float(got)])
        squares.append((difference / math.fsum(np.abs(products))) ** 2)
    return math.sqrt(math.fsum(squares) / len(squares))


def _rounding_errors(a: NDArray[np.float64], b: NDArray[np.float64], products: NDArray[np.float64]) -> Any:
    """Return a·b - products exactly, from halves of the numbers, whose products are exact (T. J. Dekker, 1971)."""
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return a_low * b_low - (((products - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _halves(numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scaled = _SPLITTER * numbers
    high = scaled - (scaled - numbers)
    return high, numbers - high


def _joules(loaded: LoadedKernel, seconds: float) -> float | None:
    """Return the energy of one product in a run of a second or more; None if the device does not count energy.

    The launches follow each other without a pause, while a thread reads the counter. It moves seldom: the power is
    that from one of its moves to another.
    """
    joules, moves, ended = loaded.device.joules, list[tuple[float, float]](), threading.Event()
    last = joules()
    if last is None:
        return None
    count = max(1, math.ceil(_SECONDS / seconds))
    timer = loaded.module.timer(loaded.calls)
    assert timer is not None, "the device supports timing"

    def watch(last: float) -> None:
        warm = time.perf_counter() + _WARM_SECONDS
        while not ended.wait(_PERIOD_SECONDS):
            now = joules()
            if now is not None and now != last:
                moves.append((time.perf_counter(), now))
                last = now
        moves[:] = [move for move in moves if move[0] >= warm]

    with closing(timer):
        timer.seconds(count)  # makes the graph, and warms the device up
        thread = threading.Thread(target=watch, args=(last,), daemon=True)
        thread.start()
        try:
            spent = timer.seconds(count)
        finally:
            ended.set()
            thread.join()
    if len(moves) < _LEAST_MOVES:
        return None
    (begin, first), *_, (end, final) = moves
    return (final - first) / (end - begin) * spent / count

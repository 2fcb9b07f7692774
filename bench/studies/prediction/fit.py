"""Fitting the parameters of predicted times to measured ones, by a deterministic optimiser."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mmcore_performance import prediction
from mmcore_performance.evidence import Evidence
from mmcore_performance.features import features, resident_blocks
from mmcore_performance.prediction import IN_TURN, WAITS, Parameters, parameters_from, predict, queued

Numbers = NDArray[np.float64]
_TINY = 1e-12  # seconds, of launches without work
_STEPS, _DELTA = 120, 1e-4  # of the optimiser; the step of its numerical derivatives
_FOLDS = 5
COVERED = 0.8
"""The fraction of measured times of kernels that were not fitted to that an interval is meant to hold."""
_HUBER, _PRIOR = 0.25, 0.04  # log ratio from which an error counts linearly; weight of the parameters' first values


_HEADING = """\
# Fitted by "python -m bench.studies prediction fit" to the times of one half of the kernels on an H200 and an H100,
# which docs/prediction.md describes. Weights multiply the nominal seconds of mmcore_performance/features.py.
"""


def initial() -> Parameters:
    """Return the parameters that the fit begins with."""
    return parameters_from(Path(__file__).with_name("initial.toml").read_text(encoding="utf-8"))


def write_parameters(fitted: Parameters) -> None:
    """Write parameters.toml."""
    lines = [
        f"overlap = {fitted.overlap}",
        f"parts = {fitted.parts}",
        f"start = {list(fitted.start)}",
        f"spread = {list(fitted.spread)}",
    ]
    lines += ["", "[weights]"]
    for unit, kinds in fitted.weights.items():
        lines.append(f"{unit} = {{ {', '.join(f'{kind} = {weight}' for kind, weight in kinds.items())} }}")
    Path(prediction.__file__).with_name("parameters.toml").write_text(_HEADING + "\n".join(lines) + "\n", "utf-8")


def fold(kernel: str) -> int:
    """Return the part of the fitted kernels that a kernel belongs to in the calibration of intervals."""
    return zlib.crc32(kernel.encode()) // 2 % _FOLDS


def spread(known: Sequence[tuple[str, Evidence, float]], initial: Parameters) -> tuple[float, float]:
    """Return the quantiles of measured over predicted times between which :data:`COVERED` of them are.

    Each fold's times are predicted with the parameters that fit the other folds. Each kernel has the same weight.
    """
    ratios, names = list[float](), list[str]()
    for left_out in range(_FOLDS):
        fitted = fit([each for each in known if fold(each[0]) != left_out], initial)
        for name, evidence, seconds in known:
            if fold(name) == left_out:
                ratios.append(seconds / predict(evidence, fitted).seconds)
                names.append(name)
    cells, order = Counter(names), np.argsort(ratios)
    below = np.cumsum([1 / cells[names[at]] for at in order]) / len(cells)
    low, high = (ratios[order[np.searchsorted(below, share)]] for share in ((1 - COVERED) / 2, (1 + COVERED) / 2))
    return float(f"{low:.3g}"), float(f"{high:.3g}")


def fitted_half(kernel: str) -> bool:
    """Return True if the model is fitted to a kernel; the others test it."""
    return zlib.crc32(kernel.encode()) % 2 == 0


class Model:
    """The model as arrays: predicted times of many products from a vector of the parameters' logarithms."""

    def __init__(self, evidences: Sequence[Evidence], initial: Parameters) -> None:
        self._initial = initial
        self._names = [(unit, kind) for unit, kinds in initial.weights.items() for kind in kinds]
        launches = [(index, features(each, launch)) for index, each in enumerate(evidences) for launch in each.launches]
        work = [[each.get(unit, {}).get(kind, 0.0) for unit, kind in self._names] for _, each in launches]
        self._work = np.array(work)
        in_turn = [
            [each[IN_TURN].get(kind, 0.0) * (unit == WAITS) for unit, kind in self._names] for _, each in launches
        ]
        self._in_turn = np.array(in_turn)
        units = list(initial.weights)
        self._units = np.array([[unit == name for name in units] for unit, _ in self._names], np.float64)
        self._waits = np.array([name == WAITS for name in units])
        self._resident = np.array([resident_blocks(each, launch) for each in evidences for launch in each.launches])
        self._cells = np.array([index for index, _ in launches])
        self._further = np.bincount(self._cells) - 1.0

    @property
    def first(self) -> Numbers:
        """The parameters that the fit begins with, as a vector."""
        initial = self._initial
        weights = [initial.weights[unit][kind] for unit, kind in self._names]
        vector: Numbers = np.log([*weights, initial.overlap, initial.parts, *initial.start])
        return vector

    def seconds(self, vector: Numbers) -> Numbers:
        """Return the predicted times."""
        *weights, overlap, parts, first, further = np.exp(vector)
        times = (self._work * np.array(weights)) @ self._units
        busy = _together(times[:, ~self._waits], overlap)
        waits = times[:, self._waits].sum(axis=1)
        queues = np.vectorize(queued, otypes=[float])(busy, waits, parts * self._resident)
        queues = np.vectorize(queued, otypes=[float])(queues, self._in_turn @ np.array(weights), self._resident)
        seconds: Numbers = np.bincount(self._cells, queues) + first + further * self._further
        return seconds

    def parameters(self, vector: Numbers) -> Parameters:
        """Return the parameters of a vector, rounded to three digits."""
        *values, overlap, parts, first, further = (float(f"{value:.3g}") for value in np.exp(vector))
        weights: dict[str, dict[str, float]] = {unit: {} for unit in self._initial.weights}
        for (unit, kind), value in zip(self._names, values, strict=True):
            weights[unit][kind] = value
        return replace(self._initial, weights=weights, overlap=overlap, parts=parts, start=(first, further))


def fit(known: Sequence[tuple[str, Evidence, float]], initial: Parameters) -> Parameters:
    """Return the parameters that fit measured times best, given as (kernel, evidence, seconds).

    Each kernel has the same weight, however many times it has.

    Gauss and Newton's method with Levenberg's damping, on the logarithms of times and parameters.
    """
    names, evidences, seconds = zip(*known, strict=True)
    model, measured = Model(evidences, initial), np.log(np.array(seconds))
    cells = Counter(names)
    share = np.array([1 / cells[name] for name in names])
    vector = first = model.first
    damping, best = 1.0, np.inf
    for _ in range(_STEPS):
        errors = np.log(model.seconds(vector)) - measured
        slopes = np.stack(
            [
                (np.log(model.seconds(vector + step)) - measured - errors) / _DELTA
                for step in np.eye(len(first)) * _DELTA
            ],
            axis=1,
        )
        weight = share / np.sqrt(1 + (errors / _HUBER) ** 2)
        pull = _PRIOR * np.eye(len(first))
        normal = slopes.T @ (slopes * weight[:, np.newaxis]) + pull
        downhill = -(slopes.T @ (errors * weight) + _PRIOR * (vector - first))
        best = _loss(model, vector, first, measured, share)
        while damping < 1e6:
            candidate = vector + np.linalg.solve(normal + damping * np.diag(np.diag(normal)), downhill)
            if _loss(model, candidate, first, measured, share) < best:
                vector, damping = candidate, damping / 3
                break
            damping *= 4
    return model.parameters(vector)


def _together(times: Numbers, overlap: float) -> Numbers:
    """Return the time of each row's units, which overlap."""
    scale = np.maximum(times.max(axis=1), _TINY)
    together: Numbers = scale * ((times / scale[:, np.newaxis]) ** overlap).sum(axis=1) ** (1 / overlap)
    return together


def _loss(model: Model, vector: Numbers, first: Numbers, measured: Numbers, share: Numbers) -> float:
    errors = np.log(model.seconds(vector)) - measured
    robust = share * _HUBER**2 * (np.sqrt(1 + (errors / _HUBER) ** 2) - 1)
    return float(robust.sum() + _PRIOR / 2 * ((vector - first) ** 2).sum())

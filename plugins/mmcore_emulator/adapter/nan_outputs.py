"""NaN in C although A and B are numbers: from memory that was never written, or from the kernel's own arithmetic."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mmcore.devices.base import HostArray
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import TimeLimit
from mmcore.kernel.problem import accumulator_named, dtype_named
from mmcore.verify.elements import is_poison, widen
from mmcore.verify.verify_launches import rows_of
from mmcore_emulator.adapter.conversions import execute
from mmcore_emulator.adapter.device import EmulatedBuffer, emulated_runs
from mmcore_emulator.machine.memory.arrays import UNWRITTEN_HALFWORD, Array, poisoned
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.numerics.types import Flags

_EXPLAINED = ("out-of-bounds-read", "uninitialized-read", "unfinished-copy")
_UNWRITTEN = "an unwritten value has reached it, from behind a matrix or between its rows, or from a variable never set"
_COMPUTED = (
    "the kernel computes it, for example as inf - inf or from a register never set, or stores elements of another type"
)


def contents(loaded: LoadedKernel) -> dict[str, NDArray[np.uint8]]:
    """Return copies of the matrices and workspaces of a kernel, by name."""
    return {name: array.content.copy() for name, array in _arrays(loaded)}


def nan_outputs(
    loaded: LoadedKernel,
    before: Mapping[str, NDArray[np.uint8]],
    kinds: Collection[str],
    types: Sequence[Violation] = (),
) -> list[Violation]:
    """Return a violation if C contains NaN although the inputs are numbers, and no kind of violation explains it.

    Reading the area behind a matrix is no hazard if the values have no effect. ``before`` has the :func:`contents`
    before the launches, with which the kernel is run again to find the cause. ``types`` has the matrices whose elements
    are of another type in the source, so that their bits are NaN.
    """
    if not {*kinds}.isdisjoint(_EXPLAINED):
        return []
    wrong = _is_nan(loaded) & ~_may_overflow(loaded)
    if "unwritten-output" in kinds:
        wrong &= ~is_poison(output_of(loaded))
    if not wrong.any():
        return []
    row, column = (int(index) for index in np.argwhere(wrong)[0])
    if types:
        message = f"element ({row}, {column}) of C is NaN although A and B are numbers: {types[0].message}"
        return [Violation("wrong-product", message, "C", count=int(wrong.sum()))]
    kind, why = "uninitialized-read", f"{_UNWRITTEN}; or {_COMPUTED}"
    with contextlib.suppress(TimeLimit):
        _run_without_poison(loaded, before)
        kind, why = ("wrong-product", _COMPUTED) if _is_nan(loaded)[row, column] else (kind, _UNWRITTEN)
    message = f"element ({row}, {column}) of C is NaN although A and B are numbers: {why}"
    return [Violation(kind, message, "C", count=int(wrong.sum()))]


def output_of(loaded: LoadedKernel) -> HostArray:
    """Return the elements of C by row and column."""
    problem = loaded.plan.problem
    flat = np.empty(problem.span("C"), dtype_named(problem.output).storage)
    loaded.buffers["C"].download(flat)
    return rows_of(loaded.plan, "C", flat)


def _is_nan(loaded: LoadedKernel) -> Flags:
    return np.asarray(np.isnan(widen(output_of(loaded), loaded.plan.problem.output)))


def _run_without_poison(loaded: LoadedKernel, before: Mapping[str, NDArray[np.uint8]]) -> None:
    """Run a kernel again on the same memory, with zeros in place of what was never written."""
    for name, array in _arrays(loaded):
        array.content[:] = before[name]
        halfwords = array.content.view(np.uint16)
        halfwords[halfwords == UNWRITTEN_HALFWORD] = 0
    for run in emulated_runs(loaded, lambda translation: Observer()):
        run.write, run.fresh = None, lambda nbytes: np.zeros_like(poisoned(nbytes))
        execute(run)


def _arrays(loaded: LoadedKernel) -> Iterator[tuple[str, Array]]:
    return ((name, each.array) for name, each in loaded.buffers.items() if isinstance(each, EmulatedBuffer))


def _may_overflow(loaded: LoadedKernel) -> Flags:
    """Return the elements of C whose sums of magnitudes exceed the range of the sums or of C: inf − inf is NaN."""
    problem, sums = loaded.plan.problem, loaded.plan.kernel.accumulator
    magnitudes = []
    for matrix in "AB":
        dtype = problem.dtype_of(matrix)
        flat = np.empty(problem.span(matrix), dtype.storage)
        loaded.buffers[matrix].download(flat)
        elements = widen(rows_of(loaded.plan, matrix, flat), dtype.name)
        magnitudes.append(np.abs(elements.astype(np.float64)))
    largest = min(dtype_named(problem.output).exponents[1], accumulator_named(sums or problem.output).exponents[1])
    return np.asarray(abs(problem.alpha) * (magnitudes[0] @ magnitudes[1]) >= 2.0**largest)

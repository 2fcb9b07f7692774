"""The errors of random products of proved kernels, beside the bounds of their proofs."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.studies.proof.inputs import KINDS, drawn
from bench.studies.proof.kernels import Row, proved
from mmcore.cell import Cell
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import MmcoreError
from mmcore.executor.choose_device import open_device
from mmcore.kernel.problem import Problem, dtype_named
from mmcore.planning.plan import plan_cell
from mmcore.registry import referenced_kernel
from mmcore.verify.elements import widen
from mmcore.verify.inputs import Matrices
from mmcore.verify.verify_launches import rows_of, upload_inputs
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.proof import PROVED
from mmcore_emulator.adapter.rounding_reason import MOST_TOLERANCES


@dataclass(frozen=True)
class Subject:
    """A kernel whose products are compared with the bound of its proof.

    Attributes:
        kernel: its name, as a cell gives it.
        proof: the row of its proof; None to make one.
        device: the name of the device that computes the products.
        products: the number of products.
        seed: of the first product.
    """

    kernel: str
    proof: Row | None
    device: str
    products: int
    seed: int


def subjects(names: Iterable[str], proofs: Iterable[Row], device: str, products: int, seed: int) -> Iterator[Subject]:
    """Yield the kernels of these names that are proved, or that have no row among the proofs yet."""
    by_kernel = {row["kernel"]: row for row in proofs}
    for name in names:
        row = by_kernel.get(name.rpartition(":")[2])
        if row is None or row["outcome"] == PROVED:
            yield Subject(name, row, device, products, seed)


def observed(subject: Subject) -> Row:
    """Return the largest error of a kernel's products, relative to |A|·|B|, beside the bound of its proof."""
    proof = subject.proof or proved(subject.kernel)
    row: Row = {name: proof.get(name) for name in ("kernel", "sizes", "outcome", "bound", "tolerances")}
    if proof["outcome"] != PROVED:
        return row
    kernel, begin = referenced_kernel(subject.kernel), time.perf_counter()
    m, n, k = proof["sizes"]
    cell = Cell(subject.kernel, m, n, k)
    cell = replace(cell, config=plan_cell(cell, Emulator().properties, kernel).config.to_json())
    row["types"] = f"{kernel.dtype}→{kernel.output}, sums in {kernel.accumulator}"
    try:
        device = open_device(subject.device)
        planned = plan_cell(cell, device.properties, kernel)
        with LoadedKernel(planned, device) as loaded:
            errors = [_errors(loaded, kind, subject) for kind in KINDS]
    except MmcoreError as error:
        return row | {"refused": str(error).splitlines()[0]}
    kind, largest = max(zip(KINDS, errors, strict=True), key=lambda each: each[1])
    within = largest <= proof["bound"] + reference_error(planned.problem)
    return row | {
        "device": device.description,
        "products": subject.products,
        "observed": largest if math.isfinite(largest) else None,
        "kind": kind,
        "within": within and proof["tolerances"] <= MOST_TOLERANCES,
        "seconds": round(time.perf_counter() - begin, 2),
    }


def _errors(loaded: LoadedKernel, kind: str, subject: Subject) -> float:
    """Return the largest error of the products of one kind of inputs, infinite if an element is not finite."""
    problem, largest = loaded.plan.problem, 0.0
    for number in range(KINDS.index(kind), subject.products, len(KINDS)):
        matrices = drawn(kind, problem, loaded.plan.kernel.accumulator, loaded.compiled.ptx, subject.seed + number)
        upload_inputs(loaded, matrices)
        if violations := loaded.module.run(loaded.calls):
            raise MmcoreError(violations[0].message)
        c = np.empty(problem.span("C"), dtype_named(problem.output).storage)
        loaded.buffers["C"].download(c)
        largest = max(largest, relative_error(problem, matrices, rows_of(loaded.plan, "C", c)))
    return largest


def relative_error(problem: Problem, matrices: Matrices, c: NDArray[np.generic]) -> float:
    """Return the largest error of an element of C relative to |A|·|B|, infinite where that is 0 and C is not."""
    sums: type[np.floating[Any]] = np.longdouble if problem.dtype == "float64" else np.float64
    a, b, before = (
        np.asarray(factor * widen(matrix, of).astype(sums))
        for factor, matrix, of in (
            (problem.alpha, matrices.a, problem.dtype),
            (1, matrices.b, problem.dtype),
            (problem.beta, matrices.c if problem.beta else np.zeros_like(c), problem.output),
        )
    )
    right, magnitude = a @ b + before, np.abs(a) @ np.abs(b) + np.abs(before)
    error = np.abs(widen(c, problem.output) - right)
    relative = np.divide(error, magnitude, where=magnitude > 0, out=np.where(error > 0, math.inf, 0).astype(sums))
    return float(np.where(np.isfinite(relative), relative, math.inf).max())


def reference_error(problem: Problem) -> float:
    """Return a bound of the error of the reference, relative to |A|·|B|: whole numbers are summed exactly.

    Products of float64 numbers are summed in numpy's longest type, which has 64 bits on x86.
    """
    if dtype_named(problem.dtype).is_integer:
        return 0.0
    unit = np.finfo(np.longdouble).eps if problem.dtype == "float64" else np.finfo(np.float64).eps
    return float(problem.k + 4) * float(unit) / 2

"""The proof of a kernel: each element of C is the exact sum of products, up to rounding, whatever the values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.measure import Phases, prepared_cell
from mmcore_emulator.adapter.conversions import execute
from mmcore_emulator.adapter.device import EmulatedBuffer, check_emulates, emulated_runs
from mmcore_emulator.adapter.launch_facts import Launched
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.numerics.types import Integers
from mmcore_emulator.proof import field
from mmcore_emulator.proof.domain import FieldDomain
from mmcore_emulator.proof.field import Residues
from mmcore_emulator.proof.values import Elements, Reason

KINDS = {
    "float64": "f64", "float32": "f32", "tf32": "tf32", "float16": "f16", "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "int8": "s8", "uint8": "u8", "int32": "s32",
}  # fmt: skip
"""The PTX type of each element type."""
PROVED, NOT_PROVED, WRONG = "proved", "not proved", "wrong"


@dataclass(frozen=True)
class Proof:
    """The outcome of a proof.

    Attributes:
        launched: the launches.
        outcome: "proved", "not proved" or "wrong".
        reasons: the reasons why it is not proved.
        bound: a bound of |C − A·B| relative to |A|·|B|; None if it is unknown.
        wrong: the number of elements that are another polynomial, and the first of them.
    """

    launched: Launched
    outcome: str
    reasons: tuple[Reason, ...] = ()
    bound: float | None = None
    wrong: int = 0
    first: tuple[int, int] = (0, 0)


def prove_loaded(loaded: LoadedKernel, device: Device, seed: int = 0) -> Proof:
    """Prove the launches of a loaded kernel; ``seed`` draws the elements of the field."""
    problem = loaded.plan.problem
    domain = FieldDomain(device.properties.compute_capability)
    rng = np.random.default_rng(seed)
    given = {}
    for matrix in "ABC" if problem.beta else "AB":
        given[matrix] = field.random_residues(problem.shape(matrix), rng)
        kind = KINDS[problem.dtype_of(matrix).name]
        tokens = domain.table.bytes_of(Elements(given[matrix], np.zeros(()), kind))
        domain.memory.upload(_array(loaded, matrix), _places(problem, matrix), tokens)
    for launch in emulated_runs(loaded, lambda translation: Observer(), domain):
        launch.write = len
        launch.observers = ()
        execute(launch)
    kind = KINDS[problem.output]
    itemsize = problem.dtype_of("C").itemsize
    places = _places(problem, "C")
    array = _array(loaded, "C")
    tokens = domain.memory.download(array, places, itemsize)
    values = array.content[: len(array.content) // itemsize * itemsize].view(f"u{itemsize}")[places // itemsize]
    made = domain.table.resolved(tokens, values, kind)
    wanted = _product(problem, given)
    opaque = np.zeros(wanted[0].shape, np.int32) if made.reason is None else made.reason
    wrong = ~field.equal(made.residues, wanted) & (opaque == 0)
    launched = Launched.of(loaded, device)
    reasons = [domain.table.reasons[number] for number in domain.paths]
    reasons += [domain.table.reasons[number] for number in np.unique(opaque[opaque != 0]).tolist()]
    if wrong.any():
        row, column = (int(each) for each in np.argwhere(wrong)[0])
        return Proof(launched, WRONG, tuple(reasons), None, int(wrong.sum()), (row, column))
    magnitude = _product(replace(problem, alpha=abs(problem.alpha), beta=abs(problem.beta)), given)
    same = field.equal(made.magnitudes, magnitude).all()
    bound = float(np.max(made.error)) if same else None
    return Proof(launched, NOT_PROVED if reasons else PROVED, tuple(reasons), bound)


def _array(loaded: LoadedKernel, matrix: str) -> Any:
    buffer = loaded.buffers[matrix]
    assert isinstance(buffer, EmulatedBuffer)
    return buffer.array


def _places(problem: Problem, matrix: str) -> Integers:
    rows, columns = problem.shape(matrix)
    down, along = problem.strides(matrix)
    places = np.arange(rows)[:, np.newaxis] * down + np.arange(columns) * along
    return places * problem.dtype_of(matrix).itemsize


def _product(problem: Problem, given: Mapping[str, Residues]) -> Residues:
    product = field.matrix_product(given["A"], given["B"])
    alpha, beta = (field.of_numbers(np.array([[factor]])) for factor in (problem.alpha, problem.beta))
    product = field.multiply(product, alpha)
    return field.multiply_add(given["C"], beta, product) if problem.beta else product


def prove_cell(cell: Cell, device: Device, kernel: Kernel | None = None, phases: Phases | None = None) -> Proof:
    """Prove a kernel at one size."""
    check_emulates(device, "prove a kernel")
    phases = phases or Phases()
    with prepared_cell(cell, device, kernel, phases, mixed=True) as loaded, phases("prove"):
        return prove_loaded(loaded, device)

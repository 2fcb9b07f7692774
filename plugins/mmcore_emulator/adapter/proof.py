"""The proof of a kernel: each element of C is the exact sum of products, up to rounding, for all values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import MmcoreError, TimeLimit
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.measure import Phases, prepared_cell
from mmcore.verdict import missing_lines
from mmcore.verify.inputs import fresh_seed
from mmcore.verify.tolerance import tolerance
from mmcore_emulator.adapter.conversions import execute, mmcore_violations
from mmcore_emulator.adapter.device import EmulatedBuffer, EmulatedModule, check_emulates, emulated_runs
from mmcore_emulator.adapter.launch_facts import Launched
from mmcore_emulator.adapter.rounding_reason import rounding_reason
from mmcore_emulator.adapter.views import proof_view
from mmcore_emulator.adapter.wrong_sum import WrongSum
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.numerics.types import Integers, Values
from mmcore_emulator.proof import field
from mmcore_emulator.proof.domain import FieldDomain
from mmcore_emulator.proof.field import Residues
from mmcore_emulator.proof.splits import Symbols, bounds
from mmcore_emulator.proof.table import TooManyElements
from mmcore_emulator.proof.tokens import MOST_ELEMENTS
from mmcore_emulator.proof.values import Elements, Reason

KINDS = {
    "float64": "f64", "float32": "f32", "tf32": "tf32", "float16": "f16", "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "int8": "s8", "uint8": "u8", "int32": "s32",
}  # fmt: skip
"""The PTX type of each element type."""
PROVED, NOT_PROVED, WRONG = "proved", "not proved", "wrong"

_ROUNDED = ("tf32",)  # types whose matrices are arrays of a wider type
_PLAIN = ("outcome", "bound", "tolerance", "wrong", "difference", "rounded")  # attributes that are JSON already


@dataclass(frozen=True)
class Proof:
    """The outcome of a proof.

    Attributes:
        launched: the launches.
        outcome: "proved", "not proved" or "wrong".
        reasons: the reasons why it is not proved, or the hazards of a wrong kernel, each with its line.
        bound: a bound of |C − A·B| relative to |A|·|B|, for the path taken; None if it is unknown.
        tolerance: the error that verification allows, relative to |A|·|B|.
        wrong: the number of elements that are another polynomial.
        first: row and column of the first of them.
        difference: a sentence on the products that it lacks or has too often; "" if they are unknown.
        rounded: the type that A and B are rounded to before the bound holds, such as "tf32"; "" if they are exact.
        not_executed: the lines that this size does not execute, as :class:`mmcore.verdict.Findings` has them.
    """

    launched: Launched
    outcome: str
    reasons: tuple[Violation, ...] = ()
    bound: float | None = None
    tolerance: float = 0.0
    wrong: int = 0
    first: tuple[int, int] = (0, 0)
    difference: str = ""
    rounded: str = ""
    not_executed: tuple[Mapping[str, Any], ...] = ()

    @property
    def sentences(self) -> list[str]:
        """The first wrong element, and the number of wrong ones."""
        if self.outcome != WRONG:
            return []
        row, column = self.first
        text = self.difference or f"C[{row}][{column}] is another polynomial of the elements of A and B"
        return [
            text,
            f"{self.wrong:,} of {self.launched.problem['m'] * self.launched.problem['n']:,} elements are wrong",
        ]

    @property
    def verdict(self) -> str:
        """The outcome; that of a proof with its size, for which alone it holds, and the lines that it leaves out."""
        if self.outcome != PROVED:
            return self.outcome.upper()
        lines = missing_lines(self.not_executed)
        at = "×".join(map(str, self.launched.problem.values()))
        return f"{self.outcome.upper()} at {at}{lines and f'; not executed there: {lines}'}"

    @property
    def error(self) -> str:
        """The bound of the rounding error as an inequality; "" if it is unknown."""
        rounded = f", for A and B rounded to {self.rounded}" if self.rounded else ""
        return "" if self.bound is None else f"|C - A·B| <= {self.bound:.3g}·|A|·|B|{rounded}"

    def to_json(self) -> dict[str, Any]:
        """Return the proof as JSON-ready values."""
        values = {name: getattr(self, name) for name in _PLAIN}
        lists = {"reasons": [each.to_json() for each in self.reasons], "not_executed": [*self.not_executed]}
        return {**self.launched.to_json(), **values, "first": [*self.first], **lists}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Proof:
        """Return the proof of :meth:`to_json`."""
        plain = {name: values[name] for name in _PLAIN}
        row, column = values["first"]
        reasons = tuple(map(Violation.from_json, values["reasons"]))
        missing = tuple(values["not_executed"])
        return cls(Launched.from_json(values), reasons=reasons, first=(row, column), not_executed=missing, **plain)

    def _repr_html_(self) -> str:
        return proof_view(self)._repr_html_()


def proof_json(device: Device, phases: Phases, cell: Mapping[str, Any], kernel: Kernel | None = None) -> dict[str, Any]:
    """Return the proof of a cell, both as JSON."""
    return prove_cell(Cell.from_json(cell), device, kernel, phases).to_json()


def prove_cell(cell: Cell, device: Device, kernel: Kernel | None = None, phases: Phases | None = None) -> Proof:
    """Prove a kernel at one size; arguments and errors are those of :func:`mmcore.measure.measure`."""
    check_emulates(device, "prove a kernel")
    phases = phases or Phases()
    with prepared_cell(cell, device, kernel, phases, mixed=True) as loaded, phases("prove"):
        return prove_loaded(loaded, fresh_seed() if cell.seed is None else cell.seed)


def prove_loaded(loaded: LoadedKernel, seed: int) -> Proof:
    """Prove the launches of a loaded kernel; ``seed`` draws the elements of the field.

    Raises:
        MmcoreError: the kernel has too many intermediate values for a proof at this size.
    """
    capability, rng = loaded.device.properties.compute_capability, np.random.default_rng([seed, 1])
    domain = FieldDomain(capability)
    made = _proof(loaded, seed, domain)
    if made.outcome == NOT_PROVED and domain.table.narrows:
        made = _proof(loaded, seed, FieldDomain(capability, Symbols(rng)))
    assert isinstance(loaded.module, EmulatedModule)
    missing = loaded.module.coverage.missing(loaded.plan.kernel.source.name)
    return replace(made, not_executed=tuple(missing))


def _proof(loaded: LoadedKernel, seed: int, domain: FieldDomain) -> Proof:
    """Return the proof in a domain."""
    problem, kernel = loaded.plan.problem, loaded.plan.kernel
    rng = np.random.default_rng(seed)
    given = {matrix: field.random_residues(problem.shape(matrix), rng) for matrix in ("ABC" if problem.beta else "AB")}
    try:
        violations = _run(loaded, domain, given)
    except TooManyElements:
        raise MmcoreError(
            f"the proof has more than {MOST_ELEMENTS:,} elements of matrices and intermediate values, its limit; "
            "try a smaller size"
        ) from None
    made = _elements_of_c(loaded, domain)
    opaque = np.broadcast_to(made.opaque, problem.shape("C"))

    def differences(of: Problem) -> Values:
        return np.asarray(~field.equal(made.residues, product_of(of, given)) & (opaque == 0))

    problem = min(_with_rounded_factors(problem), key=lambda each: int(differences(each).sum()))
    wanted, wrong = product_of(problem, given), differences(problem)
    reasons = violations + [_violation(domain.table.reasons[number]) for number in domain.paths]
    rounded = kernel.dtype if kernel.dtype in _ROUNDED else ""
    proof = Proof(Launched.of(loaded), NOT_PROVED, tolerance=_tolerance(loaded), rounded=rounded)
    if wrong.any() and not reasons:
        row, column = (int(each) for each in np.argwhere(wrong)[0])

        def differs(other: Mapping[str, Residues]) -> Residues:
            again = FieldDomain(domain.capability)
            _run(loaded, again, other)
            made = _elements_of_c(loaded, again).residues
            difference = field.subtract(made, product_of(problem, other))
            return difference[0][row, [column]], difference[1][row, [column]]

        residue = made.residues[0][row, [column]], made.residues[1][row, [column]]
        element = WrongSum(problem, given, wanted, residue, row, column, loaded.plan.config.to_json())
        text = ""
        with suppress(TimeLimit):  # the element is wrong, whether or not there is time to find its products
            text = element.explanation(differs)
        return replace(proof, outcome=WRONG, wrong=int(wrong.sum()), first=(row, column), difference=text)
    reasons += _opaque(domain, opaque)
    positive = replace(problem, alpha=abs(problem.alpha), beta=abs(problem.beta))
    magnitudes = product_of(positive, given), product_of(replace(positive, beta=0.0), given)
    largest = math.nan if wrong.any() or opaque.any() else float(np.max(bounds(made, *magnitudes)))
    largest += _difference(problem, loaded.plan.problem) * (1 + largest)
    bound = None if math.isnan(largest) else largest
    if not reasons and (reason := rounding_reason(domain, bound, proof.tolerance, kernel.algorithm)) is not None:
        reasons.append(_violation(reason))
    return replace(proof, outcome=NOT_PROVED if reasons else PROVED, reasons=_by_line(reasons), bound=bound)


def _run(loaded: LoadedKernel, domain: FieldDomain, given: Mapping[str, Residues]) -> list[Violation]:
    """Run the launches on elements of the field, and return the violations."""
    problem = loaded.plan.problem
    for matrix, residues in given.items():
        kind = KINDS[problem.dtype_of(matrix).name]
        tokens = domain.table.bytes_of(Elements(residues, np.zeros(()), kind))
        domain.memory.upload(_array(loaded, matrix), _places(problem, matrix), tokens)
    violations: list[Violation] = []
    for launch in emulated_runs(loaded, lambda translation: Observer(), domain):
        launch.write = None
        launch.observers = ()
        execute(launch)
        violations += mmcore_violations(launch.violations.values())
    return violations


def _elements_of_c(loaded: LoadedKernel, domain: FieldDomain) -> Elements:
    problem = loaded.plan.problem
    itemsize, places, array = problem.dtype_of("C").itemsize, _places(problem, "C"), _array(loaded, "C")
    tokens = domain.memory.download(array, places, itemsize)
    values = array.content[: len(array.content) // itemsize * itemsize].view(f"u{itemsize}")[places // itemsize]
    domain.table.reader = None
    return domain.table.resolved(tokens, values, KINDS[problem.output])


def _opaque(domain: FieldDomain, opaque: Values) -> Iterable[Violation]:
    """Yield the reasons why elements of C are opaque, with the number of the elements."""
    for number in np.unique(opaque[opaque != 0]).tolist():
        count = int((opaque == number).sum())
        yield replace(_violation(domain.table.reasons[number]), array="C", count=count)


def _by_line(reasons: Iterable[Violation]) -> tuple[Violation, ...]:
    """Return one reason for each kind and line, with the number of all its elements."""
    found: dict[Violation, list[Violation]] = {}
    for each in reasons:
        found.setdefault(replace(each, count=None, column=None), []).append(each)
    return tuple(replace(same[0], count=sum(each.count or 0 for each in same) or None) for same in found.values())


def _violation(reason: Reason) -> Violation:
    at = reason.at
    if at is None or not at.line:
        return Violation(reason.kind, reason.text)
    made = Violation(reason.kind, reason.text, source=at.source, line=at.line)
    return replace(made, column=at.column or None, callers=at.callers)


def _tolerance(loaded: LoadedKernel) -> float:
    """Return the error that verification allows, relative to |A|·|B|."""
    kernel = loaded.plan.kernel
    allowed = tolerance(loaded.plan.problem, kernel.accumulator, kernel.algorithm)
    return allowed.summing * (1 + allowed.storing) + allowed.storing


def _with_rounded_factors(problem: Problem) -> Iterator[Problem]:
    """Yield a problem with alpha and beta in each type that a kernel may receive them in, the likeliest first."""
    types = (np.float64, np.float32) if problem.output == "float64" else (np.float32, np.float64)
    for type in (*types, np.float16):
        with np.errstate(over="ignore"):
            alpha, beta = float(type(problem.alpha)), float(type(problem.beta))
        if math.isfinite(alpha + beta):
            yield replace(problem, alpha=alpha, beta=beta)


def _difference(problem: Problem, other: Problem) -> float:
    """Return the largest difference of the factors of two problems, relative to the second."""
    pairs = (problem.alpha, other.alpha), (problem.beta, other.beta)
    return max(abs(one - two) / abs(two) if two else 0.0 for one, two in pairs)


def _array(loaded: LoadedKernel, matrix: str) -> Any:
    buffer = loaded.buffers[matrix]
    assert isinstance(buffer, EmulatedBuffer)
    return buffer.array


def _places(problem: Problem, matrix: str) -> Integers:
    rows, columns = problem.shape(matrix)
    down, along = problem.strides(matrix)
    places = np.arange(rows)[:, np.newaxis] * down + np.arange(columns) * along
    return places * problem.dtype_of(matrix).itemsize


def product_of(problem: Problem, given: Mapping[str, Residues]) -> Residues:
    """Return the residues of alpha·A·B + beta·C."""
    product = field.matrix_product(given["A"], given["B"])
    alpha, beta = (field.of_numbers(np.array([[factor]])) for factor in (problem.alpha, problem.beta))
    product = field.multiply(product, alpha)
    return field.multiply_add(given["C"], beta, product) if problem.beta else product

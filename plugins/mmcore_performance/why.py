"""The answer of ``mmcore why``: what limits a kernel, and the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mmcore.cell import Cell
from mmcore.cli.source_quote import quoted
from mmcore.devices.base import Device
from mmcore.devices.violations import Violation
from mmcore.errors import ConstraintViolation
from mmcore.executor import run
from mmcore.kernel.declaration import Kernel
from mmcore.measure import Phases
from mmcore_performance.cards import Card, cards, emulator_of
from mmcore_performance.counted import ConstantSteps
from mmcore_performance.exchange import with_exchange
from mmcore_performance.gathering import evidence_of
from mmcore_performance.observation import Observation, observe
from mmcore_performance.prediction import WAITS, Interval, predict
from mmcore_performance.reasons.launches import fills_card
from mmcore_performance.reasons.ranking import LEAST_GAIN, inserted, reasons
from mmcore_performance.reasons.reason import NOWHERE, Reason, counted
from mmcore_performance.reasons.uncoalesced import uncoalesced_accesses
from mmcore_performance.reasons.waits import copies_in_turn
from mmcore_performance.stopped import stopped
from mmcore_performance.without_waste import advice

UNITS = {
    "dispatch": "the rate at which instructions are issued",
    "fma": "multiply-adds in float",
    "fp64": "arithmetic in double",
    "alu": "arithmetic of integers",
    "lsu": "accesses to the L1 cache and shared memory",
    "l2": "the L2 cache",
    "dram": "device memory",
    "tensor": "tensor cores",
    WAITS: "waits for loads and barriers that other warps do not hide",
    "start": "the start of a launch",
}
_LISTS = ("reasons", "findings", "violations")
_TIME = ("seconds", "low", "high", "limiter", "share")
_SMALL = 0.3  # the part of the time that the starts of launches take, from which a product is small


@dataclass(frozen=True)
class PredictedTime:
    """The predicted time of a product.

    Attributes:
        seconds: the time.
        low, high: the interval around it.
        limiter: the unit that limits it, in words.
        share: the part of its peak rate that this unit reaches; None of waits and starts.
    """

    seconds: float
    low: float
    high: float
    limiter: str
    share: float | None = None

    @property
    def interval(self) -> Interval:
        """The time, and the ends of its interval."""
        return self.seconds, self.low, self.high


@dataclass(frozen=True)
class Why:
    """The reasons why a kernel is slow in one product on one card.

    Attributes:
        kernel, title: the kernel's.
        problem: m, n and k, by name.
        card: name of the card.
        right: whether the small product was right.
        predicted: the predicted time; None if there is none.
        unpredicted: why there is no predicted time, as a clause.
        reasons: in the order in which to mend them, the largest gain first.
        findings: those that matter whatever their gain: uncoalesced accesses if they are a large part of all, and
            copies that wait for the multiplications, and these for them.
        advice: what to try where there are no reasons, as a noun; "" if nothing is known.
        violations: errors of the launches; there are no reasons then. The command adds hazards of a right product.
        ran: the cell of the small product; None if it is not known.
        not_executed: the lines and branches that the small product left out, such as a remainder's.
    """

    kernel: str
    title: str
    problem: Mapping[str, int]
    card: str
    right: bool
    predicted: PredictedTime | None = None
    unpredicted: str = ""
    reasons: tuple[Reason, ...] = ()
    findings: tuple[Reason, ...] = ()
    advice: str = ""
    violations: tuple[Violation, ...] = ()
    ran: Cell | None = None
    not_executed: tuple[Mapping[str, Any], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values; those of the predicted time are null if there is none."""
        time = vars(self.predicted) if self.predicted else dict.fromkeys(_TIME)
        lists = {name: [each.to_json() for each in getattr(self, name)] for name in _LISTS}
        ran = self.ran and self.ran.to_json()
        values = {name: value for name, value in vars(self).items() if name != "predicted"}
        return {**values, **time, **lists, "ran": ran, "not_executed": [*self.not_executed]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Why:
        """Return the answer of :meth:`to_json`."""
        others = {name: value for name, value in values.items() if name not in _TIME}
        time = None if values["seconds"] is None else PredictedTime(**{name: values[name] for name in _TIME})
        reasons, findings = (tuple(map(Reason.from_json, values[name])) for name in ("reasons", "findings"))
        violations = tuple(map(Violation.from_json, values["violations"]))
        ran = values["ran"] and Cell.from_json(values["ran"])
        known = {"predicted": time, "reasons": reasons, "findings": findings, "violations": violations, "ran": ran}
        return cls(**{**others, **known, "not_executed": tuple(values["not_executed"])})


def explained_time(cell: Cell, card: Card, kernel: Kernel | None = None) -> Why:
    """Return the reasons why a cell's kernel is slow on a card, found on the emulator.

    Raises:
        TimeLimit: the cell's time limit was reached.
        MmcoreError: the launch is refused, or its source does not compile.
    """
    cell = cell.on(emulator_of(card))
    target = f"{__name__}:why_json"
    return Why.from_json(run(cell.device, target, cell.to_json(), card.name, kernel=kernel, timeout=cell.timeout))


def why_json(device: Device, phases: Phases, cell: Any, card: str, kernel: Kernel | None = None) -> dict[str, Any]:
    """Return the reasons of a cell on a card by name, as JSON."""
    requested = Cell.from_json(cell)
    observation = observe(requested, device, kernel, phases, cards()[card])
    problem = observation.problem
    why = Why(
        observation.kernel.name,
        observation.kernel.title,
        {"m": problem.m, "n": problem.n, "k": problem.k},
        card,
        observation.right,
        violations=observation.violations,
        ran=observation.cell,
        not_executed=observation.not_executed,
    )
    evidence = None
    try:
        if end := stopped(observation.cell, observation.violations):
            raise ConstraintViolation(why.kernel, [end])
        evidence = evidence_of(requested, cards()[card], kernel)
        prediction = predict(evidence)
    except ConstraintViolation as error:
        why = replace(why, unpredicted=str(error).removeprefix(f"{why.kernel}: "))
        steps = error.steps if isinstance(error, ConstantSteps) else 0.0
        observation = replace(observation, steps=steps)
        several = with_exchange(reasons(observation), observation, 0.0, requested, device, kernel, phases)
    else:
        limiter = UNITS.get(prediction.limiter, prediction.limiter)
        interval = prediction.seconds, prediction.low, prediction.high
        why = replace(why, predicted=PredictedTime(*interval, limiter, prediction.share))
        several = reasons(observation, evidence, prediction.seconds)
        several = with_exchange(several, observation, prediction.seconds, requested, device, kernel, phases)
        several = _with_starts(observation, several, prediction.units["start"] / prediction.seconds)
        why = replace(why, advice="" if several else advice(evidence, prediction.limiter))
    if not why.violations:
        findings = (*uncoalesced_accesses(observation, evidence), *copies_in_turn(observation))
        why = replace(why, reasons=tuple(several), findings=findings)
    return why.to_json()


def _with_starts(observation: Observation, several: list[Reason], share: float) -> list[Reason]:
    """Return the reasons in the launches and in their number, whose starts take a ``share`` of the time.

    Their number comes first in a product that is too small for the card.
    """
    if share <= _SMALL:
        return several
    sentence = f"starting {counted(len(observation.launches), 'kernel')} takes long beside the product, which is small"
    advice = "multiply larger matrices, or many small ones in one launch (a batch, a CUDA graph)"
    small = Reason("small product", sentence, advice, gain=share, next_gain=share)
    return inserted(small, several) if fills_card(observation) else [small, *several]


def sentence(reason: Reason, kernel: Kernel, where: str = "") -> str:
    """Return a reason in one sentence, with its place and its cost; ``where`` has the product and the card."""
    return ", ".join(filter(None, [_place(reason, kernel), placeless(reason, where)]))


def placeless(reason: Reason, where: str = "") -> str:
    """Return the sentence of a reason without its place."""
    beside = ", beyond the predicted one" * reason.uncounted
    return f"about {100 * reason.gain:.0f} % of the time{where}{beside}: {reason.sentence}"


def next_part(reason: Reason) -> str:
    """Return the part of the time left by the reasons before one, as a clause; "" if it is about its part of all."""
    if abs(reason.next_gain - reason.gain) < LEAST_GAIN:
        return ""
    return f", {100 * reason.next_gain:.0f} % once the reasons before it are mended"


def _place(reason: Reason, kernel: Kernel) -> str:
    """Return the lines of a reason in words; an empty string for one of the whole launch."""
    lines = sorted({reason.line, *reason.other_lines} - {NOWHERE})
    names = [f"{line.source}:" * (line.source != kernel.source.name) + str(line.number) for line in lines]
    if not names:
        return ""
    several = f"–{reason.last_line}" * (reason.last_line > reason.line.number)
    here = reason.line.source == kernel.source.name
    return f"{'lines' if several or len(names) > 1 else 'line'} " * here + ", ".join(names) + several


def source_lines(reason: Reason, kernel: Kernel) -> list[str]:
    """Return the line of a reason with a caret below its column; none for a reason of the whole launch."""
    line = reason.line
    return quoted(
        kernel, Violation(reason.kind, "", source=line.source, line=line.number, column=reason.column or None)
    )

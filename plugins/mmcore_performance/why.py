"""The answer of ``mmcore why``: what limits a kernel, and the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mmcore.cell import Cell
from mmcore.cli.source_quote import quoted
from mmcore.devices.base import Device
from mmcore.devices.violations import Violation
from mmcore.executor import run
from mmcore.kernel.declaration import Kernel
from mmcore.measure import Phases
from mmcore_emulator.isa.architectures import CAPABILITIES
from mmcore_performance.cards import Card, cards
from mmcore_performance.costs import Costs, costs
from mmcore_performance.observation import observe
from mmcore_performance.reasons.ranking import reasons
from mmcore_performance.reasons.reason import Reason

_UNITS = {
    "issue": "the rate at which instructions are issued",
    "fma": "multiply-adds in float",
    "double": "arithmetic in double",
    "memory": "accesses to the L1 cache and shared memory",
    "tensor": "tensor cores",
}


@dataclass(frozen=True)
class Why:
    """The reasons why a kernel is slow in one product on one card.

    Attributes:
        kernel, title: the kernel's.
        problem: m, n and k, by name.
        card: name of the card.
        limiter: the unit that limits it, in words.
        reasons: the largest gain first.
        violations: errors of the launches; there are no reasons then.
    """

    kernel: str
    title: str
    problem: Mapping[str, int]
    card: str
    limiter: str
    reasons: tuple[Reason, ...]
    violations: tuple[Violation, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        lists = {name: [each.to_json() for each in getattr(self, name)] for name in ("reasons", "violations")}
        return {**vars(self), **lists}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Why:
        """Return the answer of :meth:`to_json`."""
        return cls(
            **{name: values[name] for name in ("kernel", "title", "problem", "card", "limiter")},
            reasons=tuple(map(Reason.from_json, values["reasons"])),
            violations=tuple(map(Violation.from_json, values["violations"])),
        )


def explained_time(cell: Cell, card: Card, kernel: Kernel | None = None) -> Why:
    """Return the reasons why a cell's kernel is slow on a card, found on the emulator.

    Raises:
        TimeLimit: the cell's time limit was reached.
        MmcoreError: the launch is refused, or its source does not compile.
    """
    device = next(name for name, capability in CAPABILITIES.items() if capability == card.capability)
    target = f"{__name__}:why_json"
    cell = cell.on(device)
    return Why.from_json(run(device, target, cell.to_json(), card.name, kernel=kernel, timeout=cell.timeout))


def why_json(device: Device, phases: Phases, cell: Any, card: str, kernel: Kernel | None = None) -> dict[str, Any]:
    """Return the reasons of a cell on a card by name, as JSON."""
    observation = observe(Cell.from_json(cell), device, kernel, phases, cards()[card])
    cost = sum((costs(launch, observation.card) for launch in observation.launches), Costs())
    problem = observation.problem
    return Why(
        observation.kernel.name,
        observation.kernel.title,
        {"m": problem.m, "n": problem.n, "k": problem.k},
        card,
        _UNITS[cost.limiter],
        () if observation.violations else tuple(reasons(observation)),
        observation.violations,
    ).to_json()


def sentence(reason: Reason, kernel: Kernel) -> str:
    """Return a reason in one sentence, with its place and its cost."""
    place = ""
    if reason.line.number:
        other = reason.line.source != kernel.source.name
        place = f"{reason.line.source}:{reason.line.number}" if other else f"line {reason.line.number}"
    share = f"about {100 * reason.gain:.0f} % of the time"
    return f"{place}{', ' if place else ''}{share}: {reason.sentence}"


def source_lines(reason: Reason, kernel: Kernel) -> list[str]:
    """Return the line of a reason with a caret below its column; none for a reason of the whole launch."""
    line = reason.line
    return quoted(
        kernel, Violation(reason.kind, "", source=line.source, line=line.number, column=reason.column or None)
    )

"""Predicted times of two kernels, and the reasons for them that a change removed or added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mmcore.cell import Cell
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.sizes import size_text
from mmcore_emulator.adapter.launch_facts import source_line
from mmcore_performance.cards import Card
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.why import PredictedTime, Why, explained_time, sentence


@dataclass(frozen=True)
class Explained:
    """The predicted times of A and B, with their reasons.

    Attributes:
        a, b: the explanations of one product on one card.
        gone: the reasons of A that B does not have, as sentences; the largest gain first.
        new: the reasons of B that A does not have.
    """

    a: Why
    b: Why
    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()

    @classmethod
    def of(cls, a: Why, b: Why, kernel_a: Kernel, kernel_b: Kernel) -> Explained:
        """Return the times and reasons; two reasons are the same if their kinds and the texts of their lines are."""
        of_a, of_b = _by_line(a, kernel_a), _by_line(b, kernel_b)
        gone = (sentence(reason, kernel_a) for key, reason in of_a.items() if key not in of_b)
        new = (sentence(reason, kernel_b) for key, reason in of_b.items() if key not in of_a)
        return cls(a, b, tuple(gone), tuple(new))

    @property
    def problem(self) -> str:
        """The product, as "1024×1024×1024"."""
        return size_text(self.a.problem)

    @property
    def percent(self) -> float | None:
        """The change of the predicted time from A to B in percent; None unless there are both."""
        a, b = self.a.predicted, self.b.predicted
        return None if a is None or b is None else 100 * (b.seconds / a.seconds - 1)

    def lines(self) -> list[str]:
        """Return a line for each reason."""
        return [*(f"gone: {each}" for each in self.gone), *(f"new: {each}" for each in self.new)]

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values, times in ms."""
        times = {name: _times(why.predicted) for name, why in (("a", self.a), ("b", self.b))}
        return {"card": self.a.card, "problem": self.problem, **times, "gone": [*self.gone], "new": [*self.new]}


def explained(cells: Sequence[Cell], kernels: Sequence[Kernel], card: Card) -> Explained:
    """Return the predicted times and the reasons of the cells of A and B on a card. Raises MmcoreError."""
    a, b = (explained_time(cell, card) for cell in cells)
    return Explained.of(a, b, *kernels)


def _times(time: PredictedTime | None) -> dict[str, Any] | None:
    if time is None:
        return None
    return {"ms": time.seconds * 1e3, "low_ms": time.low * 1e3, "high_ms": time.high * 1e3, "limiter": time.limiter}


def _by_line(why: Why, kernel: Kernel) -> dict[tuple[str, str | None], Reason]:
    """Return the first reason of each kind at each text of a line."""
    several: dict[tuple[str, str | None], Reason] = {}
    for reason in why.reasons:
        several.setdefault((reason.kind, source_line(kernel, *reason.line)), reason)
    return several

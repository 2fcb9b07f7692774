"""The reasons for a kernel's time that a change removed or added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mmcore.cell import Cell
from mmcore.kernel.declaration import Kernel
from mmcore_emulator.adapter.launch_facts import source_line
from mmcore_performance.cards import Card
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.why import Why, explained_time, sentence

_Key: TypeAlias = tuple[str, str | None]


@dataclass(frozen=True)
class ReasonChange:
    """The reasons of A that B does not have, and the other way round, as sentences; largest gain first."""

    gone: tuple[str, ...] = ()
    new: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"gone": [*self.gone], "new": [*self.new]}

    def lines(self) -> list[str]:
        """Return a line for each reason."""
        return [*(f"gone: {each}" for each in self.gone), *(f"new: {each}" for each in self.new)]


def changed_reasons(cells: Sequence[Cell], kernels: Sequence[Kernel], card: Card) -> ReasonChange:
    """Return the change of the reasons of the cells of A and B on a card. Raises MmcoreError if one cannot be run."""
    a, b = (explained_time(cell, card) for cell in cells)
    return difference(a, b, *kernels)


def difference(a: Why, b: Why, kernel_a: Kernel, kernel_b: Kernel) -> ReasonChange:
    """Return the reasons that only one of two kernels has; two are the same if their kinds and texts of lines are."""
    if a.violations or b.violations:
        return ReasonChange()
    of_a = {_key(reason, kernel_a): sentence(reason, kernel_a) for reason in reversed(a.reasons)}
    of_b = {_key(reason, kernel_b): sentence(reason, kernel_b) for reason in reversed(b.reasons)}
    gone, new = (
        tuple(reversed([each for key, each in one.items() if key not in other]))
        for one, other in ((of_a, of_b), (of_b, of_a))
    )
    return ReasonChange(gone, new)


def _key(reason: Reason, kernel: Kernel) -> _Key:
    return reason.kind, source_line(kernel, *reason.line)

"""The predicted times of two kernels on a card, for a comparison without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mmcore.cell import Cell
from mmcore.kernel.declaration import Kernel
from mmcore_performance.cards import Card
from mmcore_performance.gathering import evidence_of
from mmcore_performance.prediction import Prediction, predict

_SAME_PERCENT = 1.0


@dataclass(frozen=True)
class Predicted:
    """The predictions for A and B.

    Attributes:
        card: the card's name.
        problem: the product, as "1024×1024×1024".
        a, b: the predictions.
    """

    card: str
    problem: str
    a: Prediction
    b: Prediction

    @property
    def percent(self) -> float:
        """The change of the predicted time from A to B in percent."""
        return 100 * (self.b.seconds / self.a.seconds - 1)

    @property
    def grew(self) -> bool:
        """True if B's predicted time is longer by more than 1 %."""
        return self.percent > _SAME_PERCENT

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values, times in ms."""
        sides = {
            name: {
                "ms": each.seconds * 1e3,
                "low_ms": each.low * 1e3,
                "high_ms": each.high * 1e3,
                "limiter": each.limiter,
            }
            for name, each in (("a", self.a), ("b", self.b))
        }
        return {"card": self.card, "problem": self.problem, **sides}


def predicted(cells: Sequence[Cell], kernels: Sequence[Kernel], card: Card) -> Predicted:
    """Return the predictions for the cells of A and B on a card. Raises MmcoreError if one cannot be predicted."""
    a, b = (predict(evidence_of(cell, card, kernel)) for cell, kernel in zip(cells, kernels, strict=True))
    return Predicted(card.name, str(cells[0].problem(kernels[0])), a, b)

"""The verdict on a product."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mismatch:
    """The first wrong element, rows before columns.

    Attributes:
        row, column: where it is.
        expected: the reference's value.
        got: what the kernel left there; NaN where it wrote nothing, or NaN.
        unwritten: whether the element still holds the poison it was given before the launch.
    """

    row: int
    column: int
    expected: float
    got: float
    unwritten: bool = False

    def __str__(self) -> str:
        """The element as the lecture prints it: "0:640: expected 167.605087 - got 0.000000"."""
        note = " (never written)" if self.unwritten else ""
        return f"{self.row}:{self.column}: expected {self.expected:.6f} - got {_number(self.got)}{note}"

    def to_json(self) -> dict[str, Any]:
        """JSON-ready values; ``got`` is null where it is not a finite number."""
        return {
            "row": self.row,
            "column": self.column,
            "expected": self.expected,
            "got": self.got if math.isfinite(self.got) else None,
            "unwritten": self.unwritten,
        }


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return f"{value:.6f}" if abs(value) < 1e9 else f"{value:.6g}"


@dataclass(frozen=True)
class Verdict:
    """Whether a product is right.

    Attributes:
        verified: every element judged lies within its error bound.
        max_error: largest |C - reference| over the elements compared; None when one of them is not finite.
        mismatch: the first wrong element; None when verified.
        method: how it was judged, in a few words.
        wrong: how many of the elements compared are wrong.
        compared: how many elements were compared one by one.
    """

    verified: bool
    max_error: float | None
    mismatch: Mismatch | None
    method: str
    wrong: int
    compared: int

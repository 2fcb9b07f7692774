"""The outcome of verifying one product."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

_SMALL = 0.01  # an error by no more than this part of the value may be one of precision
LEAST_ORDINARY, MOST_ORDINARY = 1e-3, 1e9  # magnitudes of values that are neither zero nor tiny nor huge


def _differ(form: str, one: float, other: float) -> bool:
    """Return whether two numbers differ in that form, beyond their signs."""
    return format(abs(one), form) != format(abs(other), form) or (one * other < 0 and float(format(one, form)) != 0)


@dataclass(frozen=True)
class Mismatch:
    """The first wrong element, rows before columns: the first unwritten or ordinary one where there is any.

    Attributes:
        row, column: where it is.
        expected: the reference's value, which may be NaN or infinite.
        got: what the kernel left there; NaN where it wrote nothing, or NaN.
        unwritten: whether the element still holds the poison from before the launch.
        output: element type of C.
        allowed: the tolerance of the element; None where it is not known.
    """

    row: int
    column: int
    expected: float
    got: float
    unwritten: bool = False
    output: str = ""
    allowed: float | None = None

    @property
    def is_ordinary(self) -> bool:
        """True if the element was not written, or its right value is neither zero nor tiny nor a huge number."""
        size = abs(self.expected)
        return self.unwritten or not math.isfinite(size) or LEAST_ORDINARY <= size <= MOST_ORDINARY

    def __str__(self) -> str:
        """Return the element as the lecture prints it: "0:640: expected 167.605087 - got 0.000000".

        With more decimals if it takes them to see the difference, and with the tolerance where it is small.
        """
        error, note = abs(self.got - self.expected), ""
        if self.unwritten:
            # In float64, a sum with the poison keeps its bits.
            note = " (never written, or added to)" if self.output == "float64" else " (never written)"
        elif self.allowed is not None and error <= _SMALL * abs(self.expected):
            note = f" ({error:.2g} off; {self.allowed:.2g} is allowed)"
        return f"{self.row}:{self.column}: expected {self._text(self.expected)} - got {self._text(self.got)}{note}"

    def _text(self, value: float) -> str:
        if math.isnan(value):
            return "NaN"
        if abs(value) >= 1e9:
            return f"{value:.6g}"
        forms = (f"z.{digits}f" for digits in range(6, 17))
        exact = ".17g" if value else "z.6f"
        return format(value, next((form for form in forms if _differ(form, self.expected, self.got)), exact))

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values; ``expected`` and ``got`` are null if they are not finite numbers."""
        numbers = {name: getattr(self, name) for name in ("expected", "got")}
        return {**asdict(self), **{name: each if math.isfinite(each) else None for name, each in numbers.items()}}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Mismatch:
        numbers = {name: math.nan if values[name] is None else values[name] for name in ("expected", "got")}
        return cls(**{**values, **numbers})


@dataclass(frozen=True)
class Verification:
    """The outcome of comparing a product with its reference.

    Attributes:
        verified: every compared element is within its tolerance.
        max_error: largest |C - reference| over the elements compared; None when one of them is not finite.
        mismatch: the first wrong element, an ordinary one if possible; None when verified.
        method: the method of verification, in a few words.
        wrong, compared: how many elements are wrong, of how many that were compared one by one.
        reduced: the least that is wrong, in a sentence: one term of one element, or one kind of numbers; or empty.
    """

    verified: bool
    max_error: float | None
    mismatch: Mismatch | None
    method: str
    wrong: int
    compared: int
    reduced: str = ""

    @property
    def fault(self) -> str:
        """The first wrong element and the number of wrong ones; empty if the product is right."""
        return "" if self.verified else f"{self.mismatch}; {self.extent}"

    @property
    def extent(self) -> str:
        """The number of wrong elements in a sentence, which mentions if ordinary ones are right."""
        unusual = self.mismatch is not None and not self.mismatch.is_ordinary and self.wrong < self.compared
        note = ": those that should be zero, tiny or huge" if unusual else ""
        return f"{self.wrong} of the {self.compared} elements compared are wrong{note}"

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Verification | None:
        """Return the verification in a result's JSON; None if there was no product to verify."""
        if values["verification"] is None:
            return None
        mismatch = values["first_mismatch"]
        return cls(
            verified=mismatch is None,
            max_error=values["max_error"],
            mismatch=mismatch and Mismatch.from_json(mismatch),
            method=values["verification"],
            wrong=values["wrong_elements"],
            compared=values["compared_elements"],
            reduced=values.get("reduced_failure", ""),
        )
